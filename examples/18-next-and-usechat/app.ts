/** A clerk who looks for parcels, which takes a moment, and must be allowed to send a new one. */
import { setTimeout as pause } from 'node:timers/promises'
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

export const track = defineTool({
  name: 'track',
  description: 'Where a parcel is',
  args: z.object({ order: z.number() }),
  sideEffect: false,
  async execute(_state, { order }) {
    await pause(300)
    return `order ${order} was lost in Porto`
  },
})

export const resend = defineTool({
  name: 'resend',
  description: 'Sends the same goods again',
  args: z.object({ order: z.number() }),
  needsApproval: true,
  sideEffect: true,
  idempotent: true,
  execute: (_state, { order }) => `order ${order} leaves today`,
})

/** In place of a model; with a real one: `model: anthropic('claude-sonnet-5')`. */
const script = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `${last.text}.`
  if (last?.text.includes('again')) return { calls: [{ tool: 'resend', args: { order: 17 } }] }
  return { text: 'Let me see.', calls: [{ tool: 'track', args: { order: 17 } }] }
})

export const model = defineModel({ name: 'script', model: script })
export const prompt = definePrompt({
  name: 'service',
  model: 'script',
  prompt: 'You help customers of a shop.',
  tools: ['track', 'resend'],
})
export const clerk = defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'service' } })
