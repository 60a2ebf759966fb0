/**
 * Tools of a bakery. The app is a module, so their bodies run on worker threads; what they do to the thread's files and
 * contexts counts when their turn has come, in the order of the calls (docs/tools.md).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

export const note = defineTool({
  name: 'note',
  description: 'Appends a line to the notes',
  args: z.object({ line: z.string(), afterMs: z.number().default(0) }),
  contextSchema: z.object({ count: z.number().default(0) }),
  sideEffect: false, // it may run ahead of the calls before it, and once more if they changed what it saw
  async execute(state, { line, afterMs }) {
    const count = state.local.count + 1
    await state.files.appendFile('/notes.md', `${count}. ${line}\n`)
    state.setContext({ count })
    await sleep(afterMs)
    return `this is note ${count}`
  },
})

export const bake = defineTool({
  name: 'bake',
  description: 'Bakes, and tells of every tray',
  args: z.object({ trays: z.number().int().positive() }),
  eventSchema: z.object({ tray: z.number() }),
  async *execute(_state, { trays }) {
    for (let tray = 1; tray <= trays; tray++) yield sleep(50, { tray }) // told at once
    return { trays } // the result
  },
})

export const calculate = defineTool({
  name: 'calculate',
  description:
    'Runs JavaScript in a sandbox. `import { read } from "host"` reads a file; the default export is the result',
  args: z.object({ source: z.string() }),
  async execute({ files, runCode }, { source }) {
    const { status, result, error } = await runCode(source, {
      imports: { read: (path) => files.readFile(String(path), 'utf8') },
    })
    return status === 'success' ? result : { status: 'error', error: `${status}: ${error?.message}` }
  },
})

const sum =
  `import { read } from 'host'; export default (await read('/totals.txt')).match(/\\d+/g).reduce((a, b) ` +
  `=> a + Number(b), 0)`
const script = scriptedModel([
  {
    calls: [
      { tool: 'note', args: { line: 'Ito wants rye', afterMs: 300 } },
      { tool: 'note', args: { line: 'Diaz wants rolls' } },
    ],
  },
  { calls: [{ tool: 'write', args: { path: '/orders.csv', content: 'rye,3\nrolls,12\nrye,2\n' } }] },
  {
    calls: [
      {
        tool: 'bash',
        args: {
          cmd: 'sh',
          args: [
            '-lc',
            "sort /orders.csv | awk -F, '{ n[$1] += $2 } END { for (k in n) print k, n[k] }' | sort | tee /totals.txt",
          ],
        },
      },
    ],
  },
  { calls: [{ tool: 'grep', args: { pattern: 'wants r[oy]', path: '/notes.md' } }] },
  { calls: [{ tool: 'bake', args: { trays: 3 } }] },
  { calls: [{ tool: 'calculate', args: { source: sum } }] },
  'Everything is noted, baked and counted.',
])
export const model = defineModel({ name: 'script', model: script })
export const prompt = definePrompt({
  name: 'bakery',
  model: 'script',
  prompt: 'You run a bakery.',
  tools: ['note', 'bake', 'calculate', 'write', 'bash', 'grep'],
})
export const baker = defineAgent({ name: 'baker', type: 'ai_human', sideA: { prompt: 'bakery' } })
