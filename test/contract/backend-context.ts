/** What the parts of the backend suite share: a fresh store for each test, and the host on it. */
import { afterEach, beforeEach, expect } from 'vitest'
import type { HostSelf } from '../../src/backend/host-info.js'
import type { Backend, Store, StoredEntry } from '../../src/backend/port.js'

export interface FreshStore {
  readonly source: Store
  readonly remove?: () => Promise<void>
}

export interface Context {
  /** The host of this test. */
  readonly backend: () => Backend
  /** Another host or a client on the same store; closed after the test. */
  readonly open: (role: 'host' | 'client') => Promise<Backend>
  /** Closes the host and opens another one. */
  readonly reopen: () => Promise<Backend>
}

/** What the hosts of this suite say of themselves. */
export const self: HostSelf = {
  profile: { name: 'pear/1', since: 5, skein: '1.2.3', records: 7, app: 'shop', appVersion: '4.0.0' },
  work: () => ({ awake: 3, busy: 2, load: 0.25 }),
  warn: (what) => process.emitWarning(what),
  reach: () => undefined,
}

/** To be called within `describe`. */
export function useBackend(makeStore: () => Promise<FreshStore>): Context {
  let fresh: FreshStore
  let backend: Backend
  const opened: Backend[] = []
  const open = async (role: 'host' | 'client'): Promise<Backend> => {
    const made = await fresh.source.open(role, role === 'host' ? self : undefined)
    opened.push(made)
    return made
  }
  beforeEach(async () => {
    fresh = await makeStore()
    backend = await open('host')
  })
  afterEach(async () => {
    for (const made of opened.splice(0).reverse()) await made.close()
    await fresh.remove?.()
  })
  return {
    backend: () => backend,
    open,
    async reopen() {
      await backend.close()
      backend = await open('host')
      return backend
    },
  }
}

export const bodies = (entries: readonly StoredEntry[]): string[] => entries.map((entry) => entry.body)

/** Every partition, for a host that is alone. */
export async function acquireAll({ leases }: Backend): Promise<void> {
  for (let partition = 0; partition < leases.partitions; partition += 1)
    expect(await leases.acquire(partition)).toBeDefined()
}
