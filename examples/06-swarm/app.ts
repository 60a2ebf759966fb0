/**
 * A lead who has rivers surveyed by researchers, and a report made of it by a writer. All three are agents; the
 * researchers and the writer are its children: threads of their own that answer a call of the lead
 * (docs/subagents.md).
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

/** Rivers and their lengths in km. */
const table = `
  Amur 2824, Congo 4700, Danube 2850, Douro 897, Ebro 930, Elbe 1094, Ganges 2525, Indus 3180, Jordan 251,
  Lena 4294, Loire 1012, Mekong 4350, Niger 4180, Nile 6650, Ob 3650, Oder 866, Po 652, Rhine 1233, Rhone 813,
  Seine 777, Tagus 1007, Thames 346, Tiber 405, Volga 3530
`
const lengths: Readonly<Record<string, string>> = Object.fromEntries(
  table.split(',').map((river) => river.trim().split(' ')),
)
const args = z.object({ river: z.string() })
const booked = (ledger: string, river: string): boolean =>
  existsSync(ledger) && readFileSync(ledger, 'utf8').split('\n').includes(river)

export const search = defineTool({
  name: 'search',
  description: 'Finds out the length of a river',
  args,
  sideEffect: false,
  execute: (_state, { river }) => sleep(150 + 20 * river.length, `${river}: ${lengths[river]} km`),
})

/** The effect that must not happen twice. After a crash in the middle of it the world is asked whether it did. */
export const book = defineTool({
  name: 'book',
  description: 'Books the survey of a river',
  args,
  variables: [{ name: 'LEDGER', type: 'text' }],
  sideEffect: true,
  probe: async (state, { river }) => (booked(await state.env('LEDGER'), river) ? 'booked' : null),
  async execute(state, { river }) {
    appendFileSync(await state.env('LEDGER'), `${river}\n`)
    return sleep(200, 'booked')
  },
})

const call = (tool: string, given: object) => ({ tool, args: { ...given } })
const results = (messages: readonly { role: string; text: string }[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

const lead = scriptedModel(({ messages, step }) => {
  if (step === 0) return { calls: Object.keys(lengths).map((river) => call('researcher', { message: river })) }
  // The writer is called when the file is there: calls before it are settled first.
  if (step === 1)
    return {
      calls: [
        call('write', { path: '/facts.txt', content: results(messages).join('\n') }),
        call('writer', { message: 'Make /report.md of /facts.txt.' }),
      ],
    }
  return results(messages).at(-1) ?? ''
})
const researcher = scriptedModel(({ messages, step }) => {
  const river = messages[0]?.text
  return sleep(
    100,
    [{ calls: [call('search', { river })] }, { calls: [call('book', { river })] }][step] ?? results(messages)[0] ?? '',
  )
})
const writer = scriptedModel(({ messages, step }) => {
  const facts = results(messages)[0]?.split('\n') ?? []
  const report = `# ${facts.length} rivers\n\n${facts.map((fact) => `- ${fact}\n`).join('')}`
  return (
    [
      { calls: [call('read', { path: '/facts.txt' })] },
      { calls: [call('write', { path: '/report.md', content: report })] },
    ][step] ?? 'The report is in /report.md.'
  )
})

const prompts = {
  lead: ['write', { name: 'researcher' }, { name: 'writer', files: 'fork' as const }],
  researcher: ['search', 'book'],
  writer: ['read', 'write'],
}
export const models = Object.entries({ lead, researcher, writer }).map(([name, model]) => defineModel({ name, model }))
export const asked = Object.entries(prompts).map(([name, tools]) =>
  definePrompt({ name, model: name, prompt: `You are the ${name}.`, tools }),
)
export const agents = Object.keys(prompts).map((name) =>
  defineAgent({
    name,
    type: 'ai_human',
    sideA: { prompt: name },
    exposeAsTool: name !== 'lead',
    toolDescription: `The ${name}.`,
  }),
)
