/** A lead with four workers, each of which pays twice. */
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { World } from '../../../src/sim/world.js'

export const pay = { bank: { latencyMs: [5, 500], loses: 0.1, refuses: 0.05 } } as const

const amount = z.object({ euros: z.number() })

export function payers(world: World<'bank'>): readonly Definition[] {
  const lead = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? messages
          .filter(({ role }) => role === 'tool')
          .map(({ text }) => text)
          .join(' | ')
      : { calls: [1, 2, 3, 4].map((number) => ({ tool: 'worker', args: { message: `job ${number}` } })) },
  )
  const worker = scriptedModel(({ messages, thread }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    if (results.length > 0) return results.map(({ text }) => text).join(' and ')
    const number = Number(/job (\d)/.exec(messages[0]?.text ?? '')?.[1] ?? thread.length)
    return { calls: [1, 2].map((nth) => ({ tool: 'pay', args: { euros: number * 10 + nth } })) }
  })
  return [
    defineModel({ name: 'lead', model: lead }),
    defineModel({ name: 'worker', model: worker }),
    definePrompt({ name: 'lead', prompt: 'You lead.', model: 'lead', tools: [{ name: 'worker' }] }),
    definePrompt({ name: 'worker', prompt: 'You work.', model: 'worker', tools: ['pay'] }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead' } }),
    defineAgent({
      name: 'worker',
      type: 'ai_human',
      exposeAsTool: true,
      toolDescription: 'Works',
      sideA: { prompt: 'worker' },
    }),
    defineTool({
      name: 'pay',
      description: 'Pays',
      args: amount,
      sideEffect: true,
      idempotent: true,
      retry: { maxRetries: 5, backoffMs: 10 },
      execute: async (state, { euros }) => {
        await world.bank({ euros }, { key: state.idempotencyKey })
        return `paid ${euros}`
      },
    }),
  ]
}
