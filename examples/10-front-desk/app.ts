/**
 * A front desk that has letters sorted by a prompt, and hands the customer over to whoever can help. The prompt is a
 * tool: one request with a model of its own, whose messages never reach the desk. The agents share one thread and its
 * history (docs/subagents.md).
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import type { InferPromptOutput } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

export const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back',
  args: z.object({ order: z.number() }),
  sideEffect: true,
  idempotent: true, // the bank knows the key
  execute: (state, { order }) => ({ order, refunded: true, key: state.idempotencyKey.slice(0, 6) }),
})

/** A small model sorts; it gives a value, not prose. */
export const sort = definePrompt({
  name: 'sort',
  model: 'small',
  prompt: 'Sort the letter.',
  exposeAsTool: true,
  toolDescription: 'Says what a letter is about',
  requiredSchema: z.object({ letter: z.string() }),
  outputSchema: z.object({ about: z.enum(['returns', 'sales']), order: z.number().optional() }),
})
type Sorted = InferPromptOutput<typeof sort>

const rules = definePrompt({ name: 'rules', model: 'small', prompt: 'Be kind and short.' })
const desk = definePrompt({
  name: 'desk',
  model: 'desk',
  prompt: [
    { type: 'text', content: 'You greet customers. ' },
    { type: 'include', prompt: 'rules' },
  ],
  // A prompt that is called, and two agents that take over.
  tools: [{ name: 'sort', initUserMessageProperty: 'letter' }, 'returns', 'sales'],
})
const back = definePrompt({ name: 'back', model: 'back', prompt: 'You take things back.', tools: ['refund', 'sales'] })
const shop = definePrompt({
  name: 'shop',
  model: 'shop',
  prompt: 'You sell things.',
  includePastTools: false,
  tools: ['returns'],
})
export const prompts = [rules, desk, back, shop]

const resultOf = (messages: readonly { tool?: string; text: string }[], of: string): string =>
  messages.findLast(({ tool }) => tool === of)?.text ?? '{}'
const small = scriptedModel(({ messages }) => {
  const order = Number(/\d+/.exec(messages[0]?.text ?? '')?.[0])
  const sorted: Sorted = order ? { about: 'returns', order } : { about: 'sales' }
  return { calls: [{ tool: 'response', args: sorted }] }
})
const front = scriptedModel(({ messages, step }) => {
  if (step === 0) return { text: 'Welcome!', calls: [{ tool: 'sort', args: { letter: messages[0]?.text } }] }
  return { calls: [{ tool: JSON.parse(resultOf(messages, 'sort')).about, args: {} }] }
})
const taker = scriptedModel(({ messages }) => {
  if (messages.at(-1)?.role === 'user')
    return { text: 'I ask my colleague.', calls: [{ tool: 'sales', args: { message: 'wants another lamp' } }] }
  if (resultOf(messages, 'refund') === '{}')
    return { calls: [{ tool: 'refund', args: { order: JSON.parse(resultOf(messages, 'sort')).order } }] }
  return `Your money for order ${JSON.parse(resultOf(messages, 'refund')).order} is on its way.`
})
const seller = scriptedModel(({ messages }) => `We have a red lamp. (I read ${messages.length} messages.)`)
export const models = Object.entries({ small, desk: front, back: taker, shop: seller }).map(([name, model]) =>
  defineModel({ name, model }),
)
export const agents = Object.entries({ desk: 'desk', returns: 'back', sales: 'shop' }).map(([name, prompt]) =>
  defineAgent({ name, type: 'ai_human', sideA: { prompt }, exposeAsTool: name !== 'desk' }),
)
