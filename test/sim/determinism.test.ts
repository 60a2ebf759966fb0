/** One seed is one course of events. */
import { expect, it } from 'vitest'
import { SimulationRun } from '../../src/sim/run.js'
import type { SimContext } from '../../src/sim/run.js'
import { times } from '../helpers/soak.js'
import { payers, pay } from './apps/payers.js'

it('B8: the same seed gives the same commits, byte for byte, however often', async () => {
  const options = {
    define: payers,
    models: {},
    services: pay,
    hosts: 3,
    partitions: 6,
    leaseMs: 3_000,
    modelMs: [1, 400] as const,
    faults: { crash: 2, pause: 1, cut: 1, stores: 0.02, signals: 0.2, mail: 0.1, models: 0.05, skewMs: 200 },
    extent: { commits: 28, requests: 300 },
    maxVirtualMs: 3_600_000,
    skein: {},
    secrets: [],
    check: () => undefined,
    scenario: async ({ skein }: SimContext<'bank'>) =>
      (await skein.threads.create({ agent: 'lead', id: 'a' })).send('go', { id: 'm' }).text(),
  }
  for (const seed of [2, 3, 4, 5]) {
    const digests = new Set<string>()
    for (let repeat = 0; repeat < times(5, 200); repeat++) {
      const { digest } = await new SimulationRun({ ...options, seed }).run()
      digests.add(digest)
    }
    expect(digests.size, `seed ${seed}`).toBe(1)
  }
})
