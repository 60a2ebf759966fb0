/** A clerk whose refunds are guarded, whose results are redacted, and who may not stop half-way. */
import { defineAgent, defineHook, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

export const customer = defineTool({
  name: 'customer',
  description: 'Looks a customer up',
  args: z.object({ name: z.string() }),
  sideEffect: false,
  execute: (_, { name }) => ({ name, card: '4111111111111111' }),
})

export const refund = defineTool({
  name: 'refund',
  description: 'Pays money back',
  args: z.object({ to: z.string(), euros: z.number() }),
  sideEffect: true,
  idempotent: true,
  execute: (_, { to, euros }) => `${euros} euros to ${to}`,
})

/** No refund is higher than 50 euros, whatever the model wants; one for the boss is none at all. */
export const guard = defineHook({
  name: 'guard',
  on: 'before_call',
  tools: [refund],
  onError: 'block',
  run: ({ args: { to, euros } }) => {
    if (to === 'boss') return { refuse: 'the boss pays for himself' }
    return euros > 50 ? { args: { to, euros: 50 } } : undefined
  },
})

/** Card numbers never reach the model. */
export const redact = defineHook({
  name: 'redact',
  on: 'after_call',
  tools: [customer],
  onError: 'block',
  run: ({ outcome }) =>
    outcome.ok ? { result: JSON.parse(JSON.stringify(outcome.value).replace(/\d{16}/, '****')) } : undefined,
})

/** The turn ends when the customer was told. */
export const told = defineHook({
  name: 'told',
  on: 'stop',
  run: ({ text, mayGoOn }) => (mayGoOn && !text.startsWith('Dear') ? { goOn: 'Write to the customer.' } : undefined),
})

const pay = (to: string, euros: number) => ({ tool: 'refund', args: { to, euros } })
const script = scriptedModel(({ messages, step }) => {
  if (step === 0) return { calls: [{ tool: 'customer', args: { name: 'Ada' } }] }
  if (step === 1) return { calls: [pay('Ada', 500), pay('boss', 20)] }
  const results = messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
  return step === 2 ? results.join('\n') : 'Dear Ada, 50 euros are on their way.'
})

export const model = defineModel({ name: 'script', model: script })
export const prompt = definePrompt({
  name: 'desk',
  model,
  prompt: 'You refund.',
  tools: [customer, refund],
  hooks: [guard, redact, told],
})
export const clerk = defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt } })
