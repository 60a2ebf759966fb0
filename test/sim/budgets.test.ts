/** A tree that shares one budget, with schedules and variables. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/agent/define.js'
import { simulate } from '../../src/sim/open.js'
import type { World } from '../../src/sim/world.js'
import { seedsToTry } from './apps/seeds.js'
import { lastSaid, resultsOf, team } from './apps/team.js'

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

it('B8, L2, F3: budgets add up, secrets stay sealed and nothing is measured twice, whatever dies', async () => {
  await simulate({
    app,
    services: { meter: { loses: 0.1, refuses: 0.05 } },
    seeds: seedsToTry,
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
      expect(result).toEqual(quiet)
      expect(result.usage.budget).toEqual({ left: { tokens: 670 }, reserved: { tokens: 0 } })
      expect(world.ledger('meter').entries).toHaveLength(6)
    },
  })
})
