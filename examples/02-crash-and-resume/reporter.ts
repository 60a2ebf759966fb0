/**
 * One life of the process that writes the report. It does not know whether it is the first: it opens the store,
 * creates the thread `report` (a second time: gets it), sends the order (a second time: nothing) and waits.
 * There is no code for resuming.
 */
import { appendFileSync } from 'node:fs'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, local } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

const [store = '', ledger = '', sections = ''] = process.argv.slice(2)

/** One section per step, until all of them are in the transcript. */
const script = scriptedModel(({ messages }) => {
  const written = messages.filter(({ role }) => role === 'tool').length
  if (written === Number(sections)) return `The report is complete: ${sections} sections.`
  return { calls: [{ tool: 'write_section', args: { section: written + 1 } }] }
})

const app = [
  defineModel({ name: 'script', model: script }),
  definePrompt({ name: 'report', model: 'script', prompt: 'You write reports.', tools: ['write_section'] }),
  defineAgent({ name: 'reporter', type: 'ai_human', sideA: { prompt: 'report' } }),
  defineTool({
    name: 'write_section',
    description: 'Writes one section of the report',
    args: z.object({ section: z.number() }),
    sideEffect: true, // it begins only when its intent is on disk
    idempotent: true, // writing a section again is harmless; without this, one that was cut off would not run again
    async execute(_state, { section }) {
      appendFileSync(ledger, `${section}\n`) // the witness: what really ran, outside of Skein
      process.send?.(section)
      await new Promise((resolve) => setTimeout(resolve, 250))
      return { section, words: 400 }
    },
  }),
]

const skein = await createSkein({ app, backend: local(store) })
const thread = await skein.threads.create({ agent: 'reporter', id: 'report' })
const run = thread.send('Write the report.', { id: 'order' })
await run.result()
await skein.close()
