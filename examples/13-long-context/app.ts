/**
 * A reader of logs whose model takes 2,000 tokens: what it has read is archived behind markers, then summarised, and it
 * fetches one page back when it needs it again (docs/context.md).
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

export const read = defineTool({
  name: 'read',
  description: 'Reads a page of the log',
  args: z.object({ page: z.number() }),
  sideEffect: false,
  execute: (_, { page }) =>
    `page ${page}: ${page === 2 ? 'DISK FULL' : 'all is well'} `.padEnd(page < 10 ? 700 : 450, '.'),
})

const pages = 22
const model = scriptedModel(({ step, messages, summary }) => {
  // Asked with the request of the thread itself and one message more; it is no step.
  if (summary) return `Pages 1 to ${step} are read; page 2 (call_2_0) was odd.`
  if (step < pages) return { calls: [{ tool: 'read', args: { page: step + 1 } }] }
  if (step === pages) return { calls: [{ tool: 'get_tool_response', args: { id: 'call_2_0', limit: 17 } }] }
  return `I read ${pages} pages. What was odd: ${messages.at(-1)?.text.split('\n')[0]}`
})

export const reader = defineModel({ name: 'reader', model, contextTokens: 2_000 })
export const prompt = definePrompt({
  name: 'prompt',
  model: reader,
  prompt: 'You read logs.',
  tools: [read],
  context: { triggerTokens: 1_500, targetTokens: 800 }, // the default: 75 % and 40 % of contextTokens
})
export const agent = defineAgent({ name: 'reader', type: 'ai_human', sideA: { prompt } })
