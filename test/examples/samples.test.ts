/** The code on pages compiles, and the picture of docs/tools.md is what a thread does. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../../src/index.js'
import { scriptedModel } from '../../src/testing.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/tools.md'), 'utf8')

test.each(['tools', 'simulation'])(
  'the code in docs/%s.md compiles, read as one file',
  { timeout: 60_000 },
  async (name) => {
    const text = readFileSync(join(root, `docs/${name}.md`), 'utf8')
    const code = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block).join('\n')
    expect(code).toContain('defineTool(')
    // Inside the project, so that `skein` is this package.
    mkdirSync(join(root, '.cache'), { recursive: true })
    const folder = mkdtempSync(join(root, '.cache/samples-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'sample.ts'), code)
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { rootDir: '.' }, include: ['sample.ts'] }),
    )
    const { stdout } = await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
      (failed: { stdout: string }) => failed,
    )
    expect(stdout).toBe('')
  },
)

test('the picture in docs/tools.md: call 0 lands last, all are settled in order, and the one that saw too little runs again', async () => {
  let release = (): void => undefined
  const othersLanded = new Promise<void>((resolve) => (release = resolve))
  const args = z.object({ text: z.string().default('') })
  const tools = [
    defineTool({
      name: 'append',
      description: 'Appends to /log',
      args,
      sideEffect: false,
      async execute({ files }, { text }) {
        await files.appendFile('/log', text)
        if (text === 'a') await othersLanded
      },
    }),
    defineTool({
      name: 'look',
      description: 'Reads /menu',
      args,
      sideEffect: false,
      execute: ({ files }) => files.readFile('/menu', 'utf8'),
    }),
  ]
  const model = scriptedModel([
    {
      calls: [
        { tool: 'append', args: { text: 'a' } },
        { tool: 'append', args: { text: 'b' } },
        { tool: 'look', args: {} },
      ],
    },
    'done',
  ])
  const app = [
    ...tools,
    defineModel({ name: 'm', model }),
    definePrompt({ name: 'p', prompt: '', model: 'm', tools: ['append', 'look'] }),
    defineAgent({ name: 'a', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  onTestFinished(() => skein.close())
  const thread = await skein.threads.create({ agent: 'a', files: { '/menu': 'soup' } })
  const journal: string[] = []
  for await (const event of thread.send('go').fullStream) {
    if (event.type === 'tool.result') journal.push(`returned ${event.index}${event.again ? ' again' : ''}`)
    if (event.type === 'call.settled') journal.push(`settled ${event.index} ${event.verdict}`)
    if (journal.length === 2) release()
  }
  const [, drawn] = /^The journal: `(.*)`$/m.exec(page) ?? []
  // Which of the two quick ones is first is open; the picture shows one of both.
  const [first = '', second = ''] = journal.splice(0, 2).toSorted()
  expect([first, second, ...journal].join(' · ')).toBe(drawn)
  expect(await thread.files.readFile('/log', 'utf8')).toBe('ab')
})
