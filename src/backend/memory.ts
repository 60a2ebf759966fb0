/**
 * The backend for tests and simulation: everything in the closure of `memory()`, so that opening it again
 * after a close (a crash, in tests) sees the same data. Several opens at once share it: a host and clients,
 * or hosts that contend for the one lease. What is stored and how it is compared is in memory-store.ts;
 * this file owns the opens: their group flush, their lease and their end.
 *
 * M1  Writes of a turn of the event loop are applied and acknowledged together, in order, by one setImmediate.
 * M2  A lease belongs to one open instance and ends with it.
 */
import { createHash } from 'node:crypto'
import { broken } from '../core/failure.js'
import { blobMissing, checkCommit, clientMayNot, mailText, storeClosed } from './checks.js'
import { createMemoryStore } from './memory-store.js'
import type { MemoryStore } from './memory-store.js'
import type { Backend, BackendSource, Blobs, Lease, Leases, Role } from './port.js'
import { createTopics, tell } from './topics.js'
import type { Topics } from './topics.js'

interface Shared {
  readonly store: MemoryStore
  readonly topics: Topics
  readonly blobs: Map<string, Uint8Array>
  readonly watchers: Set<(thread: string) => void>
  hosts: number
  epoch: number
  holder: Lease | undefined
}

export function memory(): BackendSource {
  const shared: Shared = {
    store: createMemoryStore(),
    topics: createTopics(),
    blobs: new Map(),
    watchers: new Set(),
    hosts: 0,
    epoch: 0,
    holder: undefined,
  }
  return { open: async (role) => openMemory(shared, role) }
}

/** M1: the writes of one instance that wait for the end of this turn. */
class Turn {
  private waiting: (() => void)[] = []
  private readonly watchers: Set<(thread: string) => void>

  constructor(watchers: Set<(thread: string) => void>) {
    this.watchers = watchers
  }

  add<T>(write: (arrived: Set<string>) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setImmediate(() => this.flush())
      this.waiting.push(() => {
        const arrived = new Set<string>()
        try {
          resolve(write(arrived))
        } catch (error) {
          reject(error)
        }
        for (const thread of arrived) for (const watcher of [...this.watchers]) tell(() => watcher(thread))
      })
    })
  }

  flush(): void {
    const writes = this.waiting
    this.waiting = []
    for (const write of writes) write()
  }
}

function openMemory(shared: Shared, role: Role): Backend {
  const { store, topics, watchers } = shared
  const turn = new Turn(watchers)
  const stops = new Set<() => void>()
  let open = true
  const live = (): void => {
    if (!open) throw storeClosed('memory')
  }
  const hostOnly = (what: string): void => {
    live()
    if (role === 'client') throw clientMayNot(what)
  }
  const stoppable = (stop: () => void): (() => void) => {
    stops.add(stop)
    return () => {
      stops.delete(stop)
      stop()
    }
  }
  const { leases, release } = leasesOf(shared, hostOnly)
  if (role === 'host') shared.hosts += 1

  return {
    name: 'memory',
    role,
    hosted: async () => {
      live()
      return shared.hosts > 0
    },
    commit: async (commit) => {
      hostOnly('commit')
      checkCommit(commit)
      const bodies = commit.sends.map(mailText)
      return turn.add((arrived) => store.commit(commit, bodies, arrived))
    },
    journal: {
      read: async (thread, range) => (live(), store.read(thread, range)),
      readTree: async (root, range) => (live(), store.readTree(root, range)),
    },
    heads: {
      get: async (thread) => (live(), store.head(thread)),
      list: async (filter) => (live(), store.list(filter)),
      restless: async () => (live(), store.restless()),
    },
    mailbox: {
      put: async (send) => {
        live()
        const body = mailText(send)
        return turn.add((arrived) => store.putMail(send, body, arrived))
      },
      read: async (thread, after) => (live(), store.readMail(thread, after)),
      waiting: async () => (live(), store.waiting()),
      watch: (arrived) => {
        live()
        const watcher = (thread: string): void => arrived(thread)
        watchers.add(watcher)
        return stoppable(() => watchers.delete(watcher))
      },
    },
    snapshots: {
      get: async (thread) => (live(), store.snapshots.get(thread)),
      put: async (thread, snapshot) => {
        hostOnly('put a snapshot')
        store.snapshots.set(thread, Uint8Array.from(snapshot))
      },
    },
    signals: {
      publish: (topic, value) => (live(), topics.publish(topic, value)),
      subscribe: (topic, heard) => (live(), stoppable(topics.subscribe(topic, heard))),
      heard: (topic) => topics.heard(topic),
    },
    blobs: blobsOf(shared.blobs, live),
    leases,
    close: async () => {
      if (!open) return
      turn.flush()
      open = false
      if (role === 'host') shared.hosts -= 1
      release()
      for (const stop of stops) stop()
    },
  }
}

function leasesOf(shared: Shared, hostOnly: (what: string) => void): { leases: Leases; release: () => void } {
  let mine: Lease | undefined
  let lost = new AbortController()
  const release = (): void => {
    if (mine && shared.holder === mine) shared.holder = undefined
    mine = undefined
    lost.abort()
  }
  const leases: Leases = {
    partitions: 1,
    acquire: async (partition) => {
      hostOnly('acquire a lease')
      if (partition !== 0) throw broken('M2', `there is no partition ${partition}; memory has one`)
      if (shared.holder) return undefined
      lost = new AbortController()
      shared.epoch += 1
      const lease: Lease = {
        partition,
        epoch: shared.epoch,
        lost: lost.signal,
        release: async () => {
          if (mine === lease) release()
        },
      }
      mine = lease
      shared.holder = lease
      return lease
    },
  }
  return { leases, release }
}

function blobsOf(blobs: Map<string, Uint8Array>, live: () => void): Blobs {
  return {
    put: async (bytes) => {
      live()
      const parts: Uint8Array[] = []
      if (bytes instanceof Uint8Array) parts.push(bytes)
      else for await (const part of bytes) parts.push(Uint8Array.from(part))
      // concat copies: what the caller does with its bytes later changes nothing here (J8).
      const whole = new Uint8Array(Buffer.concat(parts))
      const hash = createHash('sha256').update(whole).digest('hex')
      blobs.set(hash, whole)
      return { hash, size: whole.length }
    },
    async *get(hash) {
      live()
      const bytes = blobs.get(hash)
      if (!bytes) throw blobMissing(hash, 'is not in the memory store')
      if (bytes.length > 0) yield Uint8Array.from(bytes)
    },
    has: async (hash) => (live(), blobs.has(hash)),
  }
}
