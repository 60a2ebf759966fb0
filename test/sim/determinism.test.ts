/** One seed is one course of events. */
import { expect, it } from 'vitest'
import { times } from '../helpers/soak.js'
import { apps } from './apps.js'

it.each(apps)('B8: the same seed gives the same commits, byte for byte, however often: $name', async (app) => {
  const simulation = await app.prepare()
  // Two of each of the ten apps.
  for (const seed of [1, 2]) {
    const digests = new Set<string>()
    for (let repeat = 0; repeat < times(4, 200); repeat++) digests.add((await simulation.run(seed)).digest)
    expect(digests.size, `seed ${seed}`).toBe(1)
  }
})
