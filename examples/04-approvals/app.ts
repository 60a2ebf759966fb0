/**
 * A bookkeeper who may look at the balance, must be allowed to pay more than 100 euros, and may ask a person.
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

export const pay = defineTool({
  name: 'pay',
  description: 'Transfers money',
  args: z.object({ to: z.string(), euros: z.number().positive() }),
  needsApproval: ({ euros }) => euros > 100,
  approvalPrompt: 'More than 100 euros: is this right?',
  // approvalDeadline: { afterMs: 86_400_000, decision: 'reject' }, for when nobody looks
  sideEffect: true,
  idempotent: true, // the bank takes the same key for the same transfer
  execute: (state, { to, euros }) => ({ paid: euros, to, transfer: state.idempotencyKey.slice(0, 6) }),
})

export const balance = defineTool({
  name: 'balance',
  description: 'What the account holds',
  args: z.object({}),
  sideEffect: false,
  execute: () => ({ euros: 3_100 }),
})

const days = [{ label: 'today' }, { label: 'Friday' }]
const bills = [
  { tool: 'pay', args: { to: 'printer', euros: 2_000 } },
  { tool: 'pay', args: { to: 'casino', euros: 900 } },
  {
    tool: 'ask_user_question',
    args: { questions: [{ header: 'Rent', question: 'When shall I pay the rent?', options: days }] },
  },
  { tool: 'balance', args: {} },
]
/** Everything at once; when all of it is answered, one more payment and a summary. */
const script = scriptedModel(({ messages, step }) => {
  if (step === 0) return { calls: bills }
  if (step === 1) return { calls: [{ tool: 'pay', args: { to: 'cleaner', euros: 80 } }] }
  return messages
    .filter(({ role }) => role === 'tool')
    .map(({ tool, text }) => `${tool}: ${text.replace('\n', ' ')}`)
    .join('\n')
})

export const model = defineModel({ name: 'script', model: script })
export const prompt = definePrompt({
  name: 'books',
  model: 'script',
  prompt: 'You pay bills.',
  tools: ['pay', 'balance', 'ask_user_question'],
})
export const bookkeeper = defineAgent({ name: 'bookkeeper', type: 'ai_human', sideA: { prompt: 'books' } })
