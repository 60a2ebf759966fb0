/** A lead with four workers, each of which pays twice. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'

const amount = z.object({ euros: z.number() })

function payers(world: World<'bank'>): readonly Definition[] {
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

export const effects = simulatedApp('effects', {
  app: payers,
  services: { bank: { latencyMs: [5, 500], loses: 0.1, refuses: 0.05 } },
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein }) => {
    const thread = await skein.threads.create({ agent: 'lead', id: 'a' })
    return thread.send('go', { id: 'm' }).text()
  },
  check: ({ result, quiet, world }) => {
    assert.equal(result, quiet)
    assert.equal(world.ledger('bank').entries.length, 8)
    assert.equal(world.ledger('bank').distinct, 8)
  },
})
