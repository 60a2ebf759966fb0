/** Lives of a swarm with everything going wrong, each thread of them recorded and asked again on its own definitions. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/agent/define.js'
import type { ThreadExport } from '../../src/runtime/handles/thread-export.js'
import { simulate } from '../../src/sim/open.js'
import { replay } from '../../src/testing.js'
import { seedsOf } from './seeds.js'
import { lastSaid, resultsOf, team } from './team.js'

const order = z.object({ what: z.string() })

const app = team(
  {
    lead: {
      script: ({ messages, step }) =>
        step > 0
          ? resultsOf(messages).join(' | ')
          : { calls: ['red', 'bad', 'blue'].map((message) => ({ tool: 'clerk', args: { message } })) },
      tools: [{ name: 'clerk', supervision: { strategy: 'one_for_one', maxRestarts: 1 } }],
    },
    clerk: {
      script: ({ messages, step, thread }) => {
        const topic = lastSaid(messages)
        if (topic === 'bad' && !thread.endsWith('_2')) throw new Error('no')
        if (step > 2) return resultsOf(messages).join(', ')
        if (step === 2) return { calls: [{ tool: 'nothing', args: {} }] }
        return {
          calls: [
            { tool: 'ship', args: JSON.stringify({ what: topic }) },
            { tool: 'look', args: { what: topic } },
            { tool: 'look', args: { what: 7 } },
          ],
        }
      },
      tools: ['ship', 'look'],
    },
  },
  [
    defineTool({
      name: 'ship',
      description: 'Ships',
      args: order,
      sideEffect: true,
      idempotent: true,
      needsApproval: ({ what }) => what === 'blue',
      approvalDeadline: { afterMs: 2_000, decision: 'approve' },
      execute: (_state, { what }) => `shipped ${what}`,
    }),
    defineTool({
      name: 'look',
      description: 'Looks',
      args: order,
      cache: true,
      sideEffect: false,
      execute: () => 'seen',
    }),
  ],
)

it('B10: any recorded thread is the same on its own definitions, whatever went wrong while it lived', async () => {
  const recorded: ThreadExport[] = []
  await simulate({
    app,
    seeds: seedsOf('replay', 15),
    skein: { limits: { maxHostDeaths: 10 } },
    scenario: async ({ skein }) => {
      const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
      const first = await lead.send('go', { id: 'one' }).text()
      return [first, await lead.send('again', { id: 'two' }).text()]
    },
    check: async ({ skein }) => {
      recorded.push(await (await skein.threads.get('lead')).export({ tree: true }))
    },
  })
  for (const exported of recorded) {
    for (const { thread } of exported.threads)
      expect(await replay(exported, { app, thread })).toMatchObject({ same: true })
    expect(exported.threads.length).toBeGreaterThanOrEqual(8)
  }
  expect(recorded.length).toBeGreaterThan(0)
})
