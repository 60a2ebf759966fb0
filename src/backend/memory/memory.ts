/**
 * The backend for tests and simulation: everything in the closure of `memory()`, so that opening it again
 * after a close (a crash, in tests) sees the same data. Several opens at once share it: a host and clients,
 * or hosts that contend for the one lease. What is stored and how it is compared is in memory-store.ts;
 * this file owns the opens: their group flush, their lease and their end.
 *
 * - Writes that are handed over together are applied and acknowledged together, in order.
 * - A lease belongs to one open instance and ends with it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { systemClock } from '../../core/clock.js'
import { broken } from '../../core/failure.js'
import { encodeHost, anonymousHost } from '../host-info.js'
import type { HostInfo, HostSelf } from '../host-info.js'
import { blobMissing, checkCommit, clientMayNot, mailText, oneLease, storeClosed } from '../checks.js'
import { MemoryStore } from './store.js'
import type {
  Backend,
  Store,
  Blobs,
  Heads,
  Journal,
  KeyCheck,
  Lease,
  Leases,
  Mailbox,
  StoreRole,
  Trees,
} from '../port.js'
import { createTopics, tell } from '../topics.js'
import type { Topics } from '../topics.js'

interface Blob {
  readonly bytes: Uint8Array
  /** When it was put last. */
  readonly at: number
}

interface Shared {
  readonly store: MemoryStore
  readonly topics: Topics
  readonly blobs: Map<string, Blob>
  readonly watchers: Set<(thread: string) => void>
  /** For secrets: as lasting as the data. */
  readonly key: { readonly text: string }
  /** Those that are open, in the order in which they began. */
  readonly hosts: Set<() => HostInfo>
  epoch: number
  keyCheck: string | undefined
  holder: Lease | undefined
}

export function memory(): Store {
  const shared: Shared = {
    store: new MemoryStore(),
    topics: createTopics(),
    blobs: new Map(),
    watchers: new Set(),
    key: { text: randomBytes(32).toString('hex') },
    hosts: new Set(),
    epoch: 0,
    keyCheck: undefined,
    holder: undefined,
  }
  return { open: async (role, self = anonymousHost) => openMemory(shared, role, self) }
}

/** The writes of one instance that wait for the end of this turn. */
class Turn {
  private waiting: (() => void)[] = []
  private readonly watchers: Set<(thread: string) => void>

  constructor(watchers: Set<(thread: string) => void>) {
    this.watchers = watchers
  }

  add<T>(write: (arrived: Set<string>) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) queueMicrotask(() => this.flush())
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

/** One open instance: whether it still is, and what ends with it. */
class Life {
  private open = true
  private readonly stops = new Set<() => void>()
  private readonly role: StoreRole

  constructor(role: StoreRole) {
    this.role = role
  }

  readonly live = (): void => {
    if (!this.open) throw storeClosed('memory')
  }

  readonly hostOnly = (what: string): void => {
    this.live()
    if (this.role === 'client') throw clientMayNot(what)
  }

  stoppable(stop: () => void): () => void {
    this.stops.add(stop)
    return () => {
      this.stops.delete(stop)
      stop()
    }
  }

  /** False when it had ended before. */
  end(): boolean {
    if (!this.open) return false
    this.open = false
    for (const stop of this.stops) stop()
    return true
  }
}

function openMemory(shared: Shared, role: StoreRole, self: HostSelf): Backend {
  const { store, topics, watchers } = shared
  const turn = new Turn(watchers)
  const life = new Life(role)
  const { live, hostOnly } = life
  const { leases, holds, release } = leasesOf(shared, hostOnly)
  const info = (): HostInfo => ({ id: self.profile.name, ...encodeHost(self), partitions: holds() ? [0] : [] })
  if (role === 'host') shared.hosts.add(info)

  return {
    name: 'memory',
    key: shared.key,
    keyCheck: keyCheckOf(shared, life),
    role,
    hosted: async () => (live(), shared.hosts.size > 0),
    hosts: async () => (live(), [...shared.hosts].map((host) => host())),
    // Not an async function: that would be a promise around a promise, for every commit.
    commit: (commit) => {
      try {
        hostOnly('commit')
        checkCommit(commit)
        const bodies = commit.sends.map(mailText)
        return turn.add((arrived) => store.commit(commit, bodies, arrived))
      } catch (thrown) {
        return Promise.reject(thrown)
      }
    },
    ...readsOf(store, live),
    mailbox: {
      ...mailOf(store, turn, live),
      watch: (arrived) => {
        live()
        const watcher = (thread: string): void => arrived(thread)
        watchers.add(watcher)
        return life.stoppable(() => watchers.delete(watcher))
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
      publish: (topic, value, unheard) => (live(), topics.publish(topic, value, unheard)),
      subscribe: (topic, heard) => (live(), life.stoppable(topics.subscribe(topic, heard))),
      heard: (topic) => topics.heard(topic),
    },
    blobs: blobsOf(shared.blobs, live),
    trees: treesOf(shared, turn, hostOnly),
    leases,
    close: async () => {
      turn.flush()
      if (!life.end()) return
      shared.hosts.delete(info)
      release()
    },
  }
}

function keyCheckOf(shared: Shared, { live, hostOnly }: Life): KeyCheck {
  return {
    read: async () => (live(), shared.keyCheck),
    keep: async (text) => (hostOnly('keep a check of the key'), (shared.keyCheck ??= text)),
  }
}

function readsOf(store: MemoryStore, live: () => void): { journal: Journal; heads: Heads } {
  return {
    journal: {
      read: async (thread, range) => (live(), store.read(thread, range)),
      readTree: async (root, range) => (live(), store.readTree(root, range)),
    },
    heads: {
      get: async (thread) => (live(), store.head(thread)),
      list: async (filter) => (live(), store.list(filter)),
      restless: async () => (live(), store.restless()),
    },
  }
}

function mailOf(store: MemoryStore, turn: Turn, live: () => void): Omit<Mailbox, 'watch'> {
  return {
    put: async (send) => {
      live()
      const body = mailText(send)
      return turn.add((arrived) => store.putMail(send, body, arrived))
    },
    read: async (thread, after) => (live(), store.readMail(thread, after)),
    waiting: async () => (live(), store.waiting()),
  }
}

function leasesOf(
  shared: Shared,
  hostOnly: (what: string) => void,
): { leases: Leases; holds: () => boolean; release: () => void } {
  let mine: Lease | undefined
  let lost = new AbortController()
  const release = (): void => {
    if (mine && shared.holder === mine) shared.holder = undefined
    mine = undefined
    lost.abort()
  }
  const leases: Leases = {
    ...oneLease,
    survey: async () => ({ share: 1, free: shared.holder ? [] : [0], barred: 0 }),
    acquire: async (partition) => {
      hostOnly('acquire a lease')
      if (partition !== 0) throw broken('ME2', `there is no partition ${partition}; memory has one`)
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
  return { leases, holds: () => mine !== undefined, release }
}

function treesOf({ store, blobs }: Shared, turn: Turn, hostOnly: (what: string) => void): Trees {
  return {
    remove: async (removal) => {
      hostOnly('remove a tree')
      return turn.add(() => store.remove(removal))
    },
    sweep: async ({ olderThanMs }) => {
      hostOnly('sweep')
      const named = store.named()
      const before = systemClock.now() - olderThanMs
      for (const [hash, { at }] of blobs) if (at < before && !named.has(hash)) blobs.delete(hash)
      return { more: false }
    },
  }
}

function blobsOf(blobs: Map<string, Blob>, live: () => void): Blobs {
  return {
    put: async (bytes) => {
      live()
      const parts: Uint8Array[] = []
      if (bytes instanceof Uint8Array) parts.push(bytes)
      else for await (const part of bytes) parts.push(Uint8Array.from(part))
      // concat copies: what the caller does with its bytes later changes nothing here (J8).
      const whole = new Uint8Array(Buffer.concat(parts))
      const hash = createHash('sha256').update(whole).digest('hex')
      blobs.set(hash, { bytes: whole, at: systemClock.now() })
      return { hash, size: whole.length }
    },
    async *get(hash) {
      live()
      const bytes = blobs.get(hash)?.bytes
      if (!bytes) throw blobMissing(hash, 'is not in the memory store')
      if (bytes.length > 0) yield Uint8Array.from(bytes)
    },
    has: async (hash) => (live(), blobs.has(hash)),
  }
}
