/**
 * A clerk who gives money back for broken orders, three at once. Its `refund` tool looks right, and is right as long as
 * every answer of the bank arrives. `mended` differs in three lines.
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import type { Definition } from 'skein'
import { scriptedModel } from 'skein/testing'
import type { Service } from 'skein/testing'
import { z } from 'zod'

export const orders = ['kettle', 'lamp', 'radio']

const refund = {
  name: 'refund',
  description: 'Gives the money for an order back',
  args: z.object({ order: z.string() }),
  sideEffect: true,
  retry: { maxRetries: 5, backoffMs: 50 },
} as const

/** The bank does what it is asked, and the connection breaks before it says so: the next attempt pays once more. */
export const careless = (bank: Service): Definition =>
  defineTool({
    ...refund,
    async execute(_state, { order }) {
      await bank({ order })
      return `refunded ${order}`
    },
  })

export const mended = (bank: Service): Definition =>
  defineTool({
    ...refund,
    idempotent: true, // doing it twice is doing it once:
    async execute({ idempotencyKey: key }, { order }) {
      await bank({ order }, { key }) // the bank knows the call again by its key
      return `refunded ${order}`
    },
  })

const script = scriptedModel(
  ({ messages, step }) =>
    step === 0
      ? { calls: orders.map((order) => ({ tool: 'refund', args: { order } })) }
      : messages.flatMap(({ role, text }) => (role === 'tool' ? [text] : [])).join(', '),
  { record: false },
)

/** The same agent with either tool. In production `bank` is a request to the bank. */
export const desk = (tool: Definition): readonly Definition[] => [
  tool,
  defineModel({ name: 'script', model: script }),
  definePrompt({ name: 'desk', model: 'script', prompt: 'You refund broken orders.', tools: ['refund'] }),
  defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'desk' } }),
]
