/** Many small threads over four hosts, of which some leave in good order, and others join. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

const app = (world: World<'desk'>) =>
  team(
    {
      clerk: {
        script: ({ messages, step }) => {
          if (step === 0) return { calls: [{ tool: 'look', args: { at: lastSaid(messages) } }] }
          if (step === 1) return { calls: [{ tool: 'stamp', args: { what: lastSaid(messages) } }] }
          return resultsOf(messages).join(', ')
        },
        tools: ['look', 'stamp'],
      },
    },
    [
      defineTool({
        name: 'look',
        description: 'Looks',
        args: z.object({ at: z.string() }),
        sideEffect: false,
        execute: async ({ kv }, { at }) => {
          const seen = Number((await kv.get('seen')) ?? 0) + 1
          await world.sleep(at.length * 30)
          await kv.set('seen', seen)
          return `saw ${at} as number ${seen}`
        },
      }),
      defineTool({
        name: 'stamp',
        description: 'Stamps',
        args: z.object({ what: z.string() }),
        sideEffect: true,
        idempotent: true,
        retry: { maxRetries: 8, backoffMs: 20 },
        execute: async ({ idempotencyKey }, { what }) => {
          await world.desk({ what }, { key: idempotencyKey })
          return `stamped ${what}`
        },
      }),
    ],
  )

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']

export const hosts = simulatedApp('hosts', {
  app,
  services: { desk: { latencyMs: [5, 200], loses: 0.05, refuses: 0.05 } },
  hosts: 4,
  faults: { leave: 4, crash: 1, cut: 1, disk: 1, stores: 0.02, signals: 0.1, mail: 0.1, models: 0.05, skewMs: 200 },
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein }) =>
    Promise.all(
      letters.map(async (id) => {
        const thread = await skein.threads.create({ agent: 'clerk', id })
        const first = await thread.send(`letter ${id}`, { id: 'one' }).text()
        return [first, await thread.send(`answer to ${id}`, { id: 'two' }).text()]
      }),
    ),
  check: ({ result, quiet, world }) => {
    assert.deepEqual(result, quiet)
    assert.equal(world.ledger('desk').entries.length, letters.length * 2)
    assert.equal(world.ledger('desk').distinct, letters.length * 2)
  },
})
