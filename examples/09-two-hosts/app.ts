/** A lead who has rivers surveyed, and its surveyors. Nothing here knows how many hosts there are (docs/nats.md). */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

const rivers = [
  ...'Amur Congo Danube Douro Ebro Elbe Ganges Indus Jordan Lena Loire Mekong Niger'.split(' '),
  ...'Nile Ob Oder Po Rhine Rhone Seine Tagus Thames Tiber Volga'.split(' '),
]
const args = z.object({ river: z.string() })

export const measure = defineTool({
  name: 'measure',
  description: 'Measures a river',
  args,
  sideEffect: false,
  execute: (_state, { river }) => sleep(150, `${river} is measured`),
})

/** The effect that must not happen twice, wherever it begins: after a crash the ledger is asked whether it did. */
export const book = defineTool({
  name: 'book',
  description: 'Books a river in the ledger',
  args,
  variables: [
    { name: 'LEDGER', type: 'text' },
    { name: 'HOST', type: 'text' },
  ],
  sideEffect: true,
  async probe(state, { river }) {
    const ledger = await state.env('LEDGER')
    return existsSync(ledger)
      ? (readFileSync(ledger, 'utf8')
          .split('\n')
          .find((line) => line.startsWith(`${river} `)) ?? null)
      : null
  },
  async execute(state, { river }) {
    const line = `${river} by ${await state.env('HOST')}`
    appendFileSync(await state.env('LEDGER'), `${line}\n`)
    return sleep(100, line)
  },
})

const call = (tool: string, given: object) => ({ tool, args: { ...given } })
const results = (messages: readonly { role: string; text: string }[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
const lead = scriptedModel(({ messages, step }) =>
  step === 0
    ? { calls: rivers.map((river) => call('surveyor', { message: river })) }
    : `${results(messages).length} rivers are surveyed.`,
)
const surveyor = scriptedModel(({ messages, step }) => {
  const river = messages[0]?.text
  return sleep(
    100,
    [{ calls: [call('measure', { river })] }, { calls: [call('book', { river })] }][step] ??
      results(messages).at(-1) ??
      '',
  )
})

export const models = [defineModel({ name: 'lead', model: lead }), defineModel({ name: 'surveyor', model: surveyor })]
export const prompts = [
  definePrompt({ name: 'lead', model: 'lead', prompt: 'You are the lead.', tools: [{ name: 'surveyor' }] }),
  definePrompt({ name: 'surveyor', model: 'surveyor', prompt: 'You survey a river.', tools: ['measure', 'book'] }),
]
export const agents = [
  defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead' } }),
  defineAgent({
    name: 'surveyor',
    type: 'ai_human',
    sideA: { prompt: 'surveyor' },
    exposeAsTool: true,
    toolDescription: 'Surveys a river.',
  }),
]
