/** Approvals, questions and values for variables, answered by a person who looks at one inbox. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

const app = (world: World<'post'>) =>
  team(
    {
      lead: {
        script: ({ messages, step }) =>
          step > 0
            ? resultsOf(messages).join(' | ')
            : { calls: ['red', 'blue', 'black'].map((message) => ({ tool: 'clerk', args: { message } })) },
        tools: [{ name: 'clerk' }],
      },
      clerk: {
        script: ({ messages, step }) => {
          if (step === 0)
            return {
              calls: [
                { tool: 'ship', args: { what: lastSaid(messages) } },
                { tool: 'ask', args: { about: lastSaid(messages) } },
              ],
            }
          return resultsOf(messages).join(', ')
        },
        tools: ['ship', 'ask'],
      },
    },
    [
      defineTool({
        name: 'ship',
        description: 'Ships',
        args: z.object({ what: z.string() }),
        sideEffect: true,
        idempotent: true,
        needsApproval: ({ what }) => what !== 'blue',
        retry: { maxRetries: 8, backoffMs: 20 },
        execute: async (state, { what }) => {
          await world.post({ what }, { key: state.idempotencyKey })
          return `shipped ${what}`
        },
      }),
      defineTool({ name: 'ask', description: 'Asks', args: z.object({ about: z.string() }), execute: false }),
    ],
  )

export const people = simulatedApp('people', {
  app,
  services: { post: { loses: 0.1, refuses: 0.1 } },
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein, world }) => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go', { id: 'm' })
    const answered: string[] = []
    let text: string | undefined
    run.text().then((said) => (text = said))
    while (text === undefined) {
      for (const { id, tool, args, why } of await skein.inbox.list({ root: 'lead' })) {
        const about = JSON.stringify(args)
        const decide = (): Promise<void> => {
          if (why === 'person') return skein.inbox.answer(id, `yes to ${about}`)
          return about.includes('black') ? skein.inbox.reject(id, { comment: 'no' }) : skein.inbox.approve(id)
        }
        // This person may have answered already, before a host died.
        await decide().then(
          () => answered.push(`${tool} ${about}`),
          () => undefined,
        )
      }
      await world.sleep(300)
    }
    return text
  },
  check: ({ result, quiet, world }) => {
    assert.equal(result, quiet)
    assert.equal(world.ledger('post').entries.length, 2)
  },
})
