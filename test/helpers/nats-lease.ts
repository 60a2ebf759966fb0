/** Leases for tests of the NATS backend with one partition. */
import type { Backend, Commit, Lease } from '../../src/backend/port.js'
import { commit } from '../contract/entries.js'
import { deferred } from './deferred.js'

/** Waits for the lease of the one partition. */
export async function lease({ leases }: Backend): Promise<Lease> {
  for (;;) {
    const got = await leases.acquire(0)
    if (got) return got
    const free = deferred()
    const stop = leases.watch(() => free.resolve())
    await free.promise
    stop()
  }
}

/** A commit to `[thread, expected]` by the holder of a lease. */
export const by = (
  { epoch }: Lease,
  [thread, expected]: readonly [string, number],
  more: Partial<Commit> = {},
): Commit => commit(thread, expected, { epoch, ...more })
