/** A tree that is forked in the middle of its life, and a thread that goes back and undoes what it did. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import { isSkeinError } from '../../../src/core/failure.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

const app = (world: World<'bank'>) =>
  team(
    {
      lead: {
        script: ({ messages }) => {
          const results = resultsOf(messages)
          if (results.length > 0) return results.join(' | ')
          return lastSaid(messages) === 'go'
            ? { calls: ['one', 'two', 'three'].map((job) => ({ tool: 'worker', args: { message: job } })) }
            : {
                calls: [
                  { tool: 'pay', args: { for: 'a' } },
                  { tool: 'pay', args: { for: 'b' } },
                ],
              }
        },
        tools: [{ name: 'worker' }, 'pay'],
      },
      worker: {
        script: ({ messages }) => {
          const results = resultsOf(messages)
          return results.length > 0
            ? `${lastSaid(messages)}: ${results.length}`
            : { calls: [{ tool: 'pay', args: { for: lastSaid(messages) } }] }
        },
        tools: ['pay'],
      },
    },
    [
      defineTool({
        name: 'pay',
        description: 'Pays',
        args: z.object({ for: z.string() }),
        sideEffect: true,
        idempotent: true,
        retry: { maxRetries: 8, backoffMs: 20 },
        execute: async (state, { for: what }) => {
          await world.bank({ what }, { key: state.idempotencyKey })
          return 'paid'
        },
        revert: async (state, { for: what }) => {
          await world.bank({ undo: what }, { key: `undo ${state.idempotencyKey}` })
          return 'undone'
        },
      }),
    ],
  )

/** A command may go unanswered while hosts change: its id makes it the same command. */
async function again<Value>(attempt: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await attempt()
    } catch (thrown) {
      if (!isSkeinError(thrown) || !thrown.retry) throw thrown
    }
  }
}

export const travel = simulatedApp('travel', {
  app,
  services: { bank: { loses: 0.1, refuses: 0.05 } },
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein }) => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const text = await lead.send('go', { id: 'm' }).text()
    await lead.settled({ tree: true })
    const { threads } = await skein.threads.list({ root: 'lead' })
    const child = threads.find(({ thread }) => thread !== 'lead')
    const [, step] = await (await skein.threads.get(child?.thread ?? '')).timeline()
    const at = { cursor: `${step?.position ?? 0}.${step?.seq ?? 0}` }
    const fork = await again(() => lead.fork({ tree: true, at, effects: 'run', go: true, id: 'fork' }))
    await fork.settled({ tree: true })
    await lead.send('pay', { id: 'm2' }).result()
    await again(() => lead.rewind({ to: { turn: 'm2' }, revert: true }))
    await lead.settled()
    const texts = async (thread: typeof lead): Promise<readonly string[]> =>
      (await thread.messages()).map((message) => message.text)
    return { text, lead: await texts(lead), fork: (await texts(fork)).at(-1) }
  },
  check: ({ result, quiet, world }) => {
    assert.deepEqual(result, quiet)
    assert.equal(result.fork, result.text)
    assert.equal(result.lead.at(-1), result.text)
    const undone = world.ledger('bank').entries.filter(({ key }) => key?.startsWith('undo '))
    assert.equal(undone.length, 2)
  },
})
