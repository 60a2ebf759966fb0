/** A tree that shares one budget, with schedules and variables. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

const secret = 'sk-a-secret-that-nobody-may-see'

const app = (world: World<'meter'>) =>
  team(
    {
      lead: {
        script: ({ messages, step }) =>
          step > 0
            ? { text: resultsOf(messages).join(' | '), usage: { inputTokens: 10, outputTokens: 5 } }
            : {
                calls: [1, 2, 3, 4, 5, 6].map((number) => ({ tool: 'worker', args: { message: `job ${number}` } })),
                usage: { inputTokens: 10, outputTokens: 5 },
              },
        tools: [{ name: 'worker', budget: { tokens: 60 } }],
      },
      worker: {
        script: ({ messages, step }) =>
          step > 0
            ? { text: resultsOf(messages).join(''), usage: { inputTokens: 20, outputTokens: 5 } }
            : {
                calls: [{ tool: 'measure', args: { job: lastSaid(messages) } }],
                usage: { inputTokens: 20, outputTokens: 5 },
              },
        tools: ['measure'],
      },
    },
    [
      defineTool({
        name: 'measure',
        description: 'Measures',
        args: z.object({ job: z.string() }),
        variables: [{ name: 'TOKEN', type: 'secret', required: true }],
        sideEffect: true,
        idempotent: true,
        retry: { maxRetries: 8, backoffMs: 20 },
        execute: async (state, { job }) => {
          const token = await state.env('TOKEN')
          await world.meter({ job }, { key: state.idempotencyKey })
          return `${job} by ${token}`
        },
      }),
    ],
  )

export const budgets = simulatedApp('budgets', {
  app,
  services: { meter: { loses: 0.1, refuses: 0.05 } },
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  secrets: [secret],
  scenario: async ({ skein }) => {
    const lead = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      budget: { tokens: 1_000 },
      env: { TOKEN: secret },
    })
    const text = await lead.send('go', { id: 'm' }).text()
    await lead.settled({ tree: true })
    return { text, usage: await lead.usage() }
  },
  check: ({ result, quiet, world }) => {
    assert.deepEqual(result, quiet)
    assert.deepEqual(result.usage.budget, { left: { tokens: 670 }, reserved: { tokens: 0 } })
    assert.equal(world.ledger('meter').entries.length, 6)
  },
})
