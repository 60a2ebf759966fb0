/** A swarm that books and pays, lived through with everything going wrong. */
import { expect, it } from 'vitest'
import { simulate } from '../../src/sim/open.js'
import { seedsToTry } from './apps/seeds.js'
import { pay, payers } from './apps/payers.js'

it('B8: no payment is made twice or lost, whatever dies', async () => {
  const report = await simulate({
    app: payers,
    services: pay,
    seeds: seedsToTry,
    // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
    skein: { limits: { maxHostDeaths: 10 } },
    scenario: async ({ skein }) => {
      const thread = await skein.threads.create({ agent: 'lead', id: 'a' })
      return thread.send('go', { id: 'm' }).text()
    },
    check: ({ result, quiet, world }) => {
      expect(result).toBe(quiet)
      expect(world.ledger('bank').entries).toHaveLength(8)
      expect(world.ledger('bank').distinct).toBe(8)
    },
  })
  expect(report.interleavings).toBe(report.seeds)
})
