/** An app for pictures and measurements of the page: a team that surveys rivers, buys maps and asks people. */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/index.js'
import type { Definition } from '../../src/index.js'
import { scriptedModel } from '../../src/testing.js'

const rivers = ['Danube', 'Ebro', 'Elbe', 'Loire', 'Oder', 'Po', 'Rhine', 'Rhone', 'Seine', 'Tagus', 'Thames', 'Tiber']

const search = defineTool({
  name: 'search',
  description: 'Finds out the length of a river',
  args: z.object({ river: z.string() }),
  sideEffect: false,
  async execute(state, { river }) {
    await sleep(180 + 130 * (river.length % 5))
    const found = `${river}: ${river.length * 211} km`
    await state.files.writeFile('/notes.md', `# ${river}\n\n- ${found}\n- source: the atlas, page ${river.length}\n`)
    return found
  },
})

const gauge = defineTool({
  name: 'read_gauge',
  description: 'Reads the level of a river',
  args: z.object({ river: z.string() }),
  sideEffect: false,
  async execute(state, { river }) {
    await sleep(350)
    const notes = await state.files.readFile('/notes.md', 'utf8').catch(() => `# ${river}\n`)
    await state.files.writeFile('/notes.md', notes.replace('atlas', 'old atlas') + `- gauge: ${river.length * 41} cm\n`)
    if (river === 'Oder') throw new Error('the gauge at Hohensaaten does not answer')
    return { river, cm: river.length * 41 }
  },
})

const order = defineTool({
  name: 'order_map',
  description: 'Orders a printed map',
  args: z.object({ region: z.string(), sheets: z.number().int(), express: z.boolean() }),
  needsApproval: ({ sheets }) => sheets > 10,
  approvalPrompt: 'More than ten sheets: is this right?',
  sideEffect: true,
  idempotent: true,
  execute: (_state, { region, sheets }) => sleep(200, { ordered: sheets, region }),
})

const usage = (inputTokens: number) => ({
  inputTokens,
  outputTokens: Math.round(inputTokens / 7),
  costUsd: inputTokens / 400_000,
})
const call = (tool: string, args: object) => ({ tool, args: { ...args } })
const results = (messages: readonly { role: string; text: string }[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

const report = `Twelve rivers are surveyed; **eleven gauges** answered.

| river | length |
|---|---|
| Danube | 1,266 km |
| Rhine | 1,055 km |

1. The gauge at *Hohensaaten* was silent: the value is of last week.
2. Maps of the south are ordered, see \`order_map\`.
`

const lead = scriptedModel(async ({ messages, step }) => {
  await sleep(420)
  if (step === 0)
    return {
      usage: usage(2_410),
      text: 'I split the survey by river, and have the maps bought meanwhile.',
      calls: [
        ...rivers.map((river) => call('researcher', { message: river })),
        call('planner', { message: 'Maps for the south' }),
      ],
    }
  return { text: results(messages).length > 0 ? report : 'Nothing came back.', usage: usage(9_120) }
})

const researcher = scriptedModel(async ({ messages, step }) => {
  const river = messages[0]?.text ?? ''
  await sleep(260 + 40 * river.length)
  if (step === 0) return { usage: usage(1_240), calls: [call('search', { river }), call('read_gauge', { river })] }
  return { text: results(messages).join('\n'), usage: usage(1_620) }
})

/** Hands on what it was told, one level further down. */
const through = (next: string) =>
  scriptedModel(async ({ messages, step }) => {
    await sleep(200)
    return step === 0
      ? { usage: usage(880), calls: [call(next, { message: messages[0]?.text ?? '' })] }
      : (results(messages)[0] ?? '')
  })

const clerk = scriptedModel(async ({ messages, step }) => {
  await sleep(240)
  if (step === 0) return { calls: [call('order_map', { region: 'south', sheets: 24, express: true })] }
  return results(messages)[0] ?? ''
})

const models = { lead, researcher, planner: through('buyer'), buyer: through('clerk'), clerk }
const tools: Readonly<Record<keyof typeof models, readonly string[]>> = {
  lead: ['researcher', 'planner'],
  researcher: ['search', 'read_gauge'],
  planner: ['buyer'],
  buyer: ['clerk'],
  clerk: ['order_map', 'ask_user_question'],
}

export const demoApp: readonly Definition[] = [
  search,
  gauge,
  order,
  ...Object.entries(models).map(([name, model]) => defineModel({ name, model })),
  ...Object.entries(tools).map(([name, list]) =>
    definePrompt({
      name,
      model: name,
      prompt: `You are the ${name}.`,
      tools: list.map((tool) => (tool in models ? { name: tool } : tool)),
    }),
  ),
  ...Object.keys(models).map((name) =>
    defineAgent({
      name,
      type: 'ai_human',
      toolDescription: `The ${name} of the survey`,
      exposeAsTool: name !== 'lead',
      sideA: { prompt: name },
    }),
  ),
]
