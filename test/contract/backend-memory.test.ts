/** The memory backend passes the suite of all backends; and what only it allows: several hosts on one store. */
import { expect, it } from 'vitest'
import { memory } from '../../src/backend/memory/memory.js'
import { backendContract } from './backend.js'
import { commit } from './entries.js'

backendContract('memory', async () => ({ source: memory() }))

it('of two hosts on one store one holds the lease, and the other gets it when the first closes', async () => {
  const source = memory()
  const [one, two] = [await source.open('host'), await source.open('host')]
  const lease = await one.leases.acquire(0)
  expect(await two.leases.acquire(0)).toBeUndefined()
  await one.close()
  expect(lease?.lost.aborted).toBe(true)
  const next = await two.leases.acquire(0)
  expect(next?.epoch).toBeGreaterThan(lease?.epoch ?? Infinity)
  expect(await two.hosted()).toBe(true)
  await two.close()
})

it('commits of one turn are acknowledged together', async () => {
  const backend = await memory().open('host')
  const order: string[] = []
  const all = ['a', 'b'].map((thread) => backend.commit(commit(thread, 0)).then(() => order.push(thread)))
  await Promise.all(all)
  expect(order).toEqual(['a', 'b'])
  await backend.close()
})
