/**
 * A store in memory that several hosts share, as on NATS: partitions, leases that expire by a clock, take-over, and
 * commits of an expired holder that are refused. For simulations; passes the contract suite of all backends.
 *
 * SV2 A host keeps its leases by renewing its presence. One that cannot (dead, stopped, cut off) loses them when its
 *     lease time has passed: the store gives them to others, and its own clock tells it.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../core/clock.js'
import { broken } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { blobMissing, checkCommit, clientMayNot, storeClosed } from '../backend/checks.js'
import { anonymousHost, encodeHost } from '../backend/host-info.js'
import type { HostInfo, HostSelf } from '../backend/host-info.js'
import type { MemoryStore } from '../backend/memory/store.js'
import type { Backend, Blobs, Heads, Leases, Store, StoreRole, Survey } from '../backend/port.js'
import { SharedStore } from './shared-store.js'
import type { HostPresence, SimStoreOptions } from './shared-store.js'

/** How one process reaches the store. */
export interface Reach {
  /** The clock of the process. */
  readonly clock: Clock
  /** False while the process is cut off. */
  connected(): boolean
}

export interface SimStore extends Store {
  open(role: StoreRole, self?: HostSelf, reach?: Reach): Promise<Backend>
  /** How often a partition was taken from a host whose lease had expired. */
  readonly takeOvers: number
  /** Outcomes of calls that hosts sent to threads which had left them. */
  readonly receipts: number
}

/** How often a host renews its presence and looks at its share, per lease time. */
const beatsPerLease = 4
/** How often listeners are told that signals may have been lost. */
const remindMs = 5_000

export function simStore(options: SimStoreOptions = {}): SimStore {
  const shared = new SharedStore(options)
  const near: Reach = { clock: shared.clock, connected: () => true }
  return {
    open: async (role, self = anonymousHost, reach = near) => new OpenStore(shared, { role, self, reach }).backend(),
    get takeOvers() {
      return shared.takeOvers
    },
    get receipts() {
      return shared.receipts.size
    },
  }
}

/** One open instance: the presence of a host, and what ends with it. */
class OpenStore {
  readonly #shared: SharedStore
  readonly #role: StoreRole
  readonly #reach: Reach
  readonly #stops = new Set<() => void>()
  readonly #surveyed = new Set<(survey: Survey) => void>()
  readonly #presence: HostPresence
  #open = true

  constructor(shared: SharedStore, { role, self, reach }: { role: StoreRole; self: HostSelf; reach: Reach }) {
    this.#shared = shared
    this.#role = role
    this.#reach = reach
    const info = (): HostInfo => ({
      id: self.profile.name,
      ...encodeHost(self),
      partitions: [...this.#presence.held.keys()],
    })
    this.#presence = { info, until: shared.clock.now() + shared.leaseMs, held: new Map() }
    if (role === 'host') {
      shared.hosts.add(this.#presence)
      this.#beat()
    }
  }

  /** SV2: only a host that is alive and connected renews. */
  #beat(): void {
    const { clock, leaseMs } = this.#shared
    const own = this.#reach.clock
    const cancel = own.wakeAt(own.now() + leaseMs / beatsPerLease, () => {
      if (!this.#open) return
      if (this.#presence.until <= clock.now()) this.#expire()
      if (this.#reach.connected()) {
        this.#presence.until = clock.now() + leaseMs
        const survey = this.#shared.survey(this.#presence)
        const held = this.#presence.held.size
        const wrong = held > survey.share || (held < survey.share && survey.free.length > 0)
        if (wrong) for (const heard of [...this.#surveyed]) heard(survey)
      }
      this.#beat()
    })
    this.#stops.add(cancel)
  }

  #expire(): void {
    for (const [partition, holder] of [...this.#presence.held]) this.#shared.release(partition, holder)
  }

  readonly #live = (): void => {
    if (!this.#open) throw storeClosed('simulated')
  }

  readonly #hostOnly = (what: string): void => {
    this.#live()
    if (this.#role === 'client') throw clientMayNot(what)
  }

  #stoppable(stop: () => void): () => void {
    this.#stops.add(stop)
    return () => {
      this.#stops.delete(stop)
      stop()
    }
  }

  backend(): Backend {
    const shared = this.#shared
    const { data, topics } = shared
    const within = (partition: number | undefined, thread: string): boolean =>
      partition === undefined || shared.partitionOf(thread) === partition
    return {
      name: 'simulated',
      key: { text: simulatedKey },
      keyCheck: {
        read: async () => this.#when(() => shared.keyCheck),
        keep: async (text) => this.#asHost('keep a check of the key', () => (shared.keyCheck ??= text)),
      },
      role: this.#role,
      hosted: async () => this.#when(() => this.#living().length > 0),
      hosts: async () => this.#when(() => this.#living().map(({ info }) => info())),
      commit: async (commit) =>
        this.#asHost('commit', () => {
          checkCommit(commit)
          return shared.commit(commit, this.#presence)
        }),
      together: true,
      journal: {
        read: async (thread, range) => this.#when(() => data.read(thread, range)),
        readTree: async (root, range) => this.#when(() => data.readTree(root, range)),
      },
      heads: this.#heads(within),
      mailbox: {
        put: async (send) => this.#when(() => shared.putMail(send)),
        read: async (thread, after) => this.#when(() => data.readMail(thread, after)),
        waiting: async (partition) => this.#when(() => data.waiting().filter((thread) => within(partition, thread))),
        watch: (arrived) => this.#watchMail(arrived),
      },
      snapshots: {
        get: async (thread) => this.#when(() => data.snapshots.get(thread)),
        put: async (thread, snapshot) =>
          this.#asHost('put a snapshot', () => void data.snapshots.set(thread, Uint8Array.from(snapshot))),
      },
      signals: {
        publish: (topic, value, unheard) => this.#when(() => topics.publish(topic, value, unheard)),
        subscribe: (topic, heard, missed) => this.#when(() => this.#listen(topic, heard, missed)),
        heard: (topic) => topics.heard(topic),
      },
      blobs: this.#blobs(),
      trees: {
        remove: async (removal) => this.#asHost('remove a tree', () => this.#removeTree(removal)),
        sweep: async ({ olderThanMs }) => this.#asHost('sweep', () => this.#sweep(olderThanMs)),
      },
      leases: this.#leases(),
      close: async () => this.#close(),
    }
  }

  #heads(within: (partition: number | undefined, thread: string) => boolean): Heads {
    const { data } = this.#shared
    return {
      get: async (thread) => this.#when(() => data.head(thread)),
      list: async (filter, partition) =>
        this.#when(() => {
          const { heads, ...rest } = data.list(filter)
          return { heads: heads.filter(({ thread }) => within(partition, thread)), ...rest }
        }),
      restless: async (partition) =>
        this.#when(() => data.restless().filter(({ thread }) => within(partition, thread))),
      follow: (told) =>
        this.#when(() => {
          const { stop, ...follower } = data.follow(told)
          return { ...follower, stop: this.#stoppable(stop) }
        }),
    }
  }

  /** Signals of a host that died are lost unseen: listeners are told now and then that they may have missed some. */
  #listen(topic: string, heard: (value: Json) => void, missed?: () => void): () => void {
    const stop = this.#shared.topics.subscribe(topic, heard)
    if (!missed) return this.#stoppable(stop)
    const { clock } = this.#reach
    let cancel = (): void => undefined
    const remind = (): void => {
      cancel = clock.wakeAt(clock.now() + remindMs, () => {
        missed()
        remind()
      })
    }
    remind()
    return this.#stoppable(() => {
      stop()
      cancel()
    })
  }

  #when<Result>(act: () => Result): Result {
    this.#live()
    return act()
  }

  #asHost<Result>(what: string, act: () => Result): Result {
    this.#hostOnly(what)
    return act()
  }

  #living(): HostPresence[] {
    const now = this.#shared.clock.now()
    return [...this.#shared.hosts].filter(({ until }) => until > now)
  }

  #watchMail(arrived: (thread: string) => void): () => void {
    this.#live()
    const { watchers } = this.#shared
    const watcher = (thread: string): void => arrived(thread)
    watchers.add(watcher)
    return this.#stoppable(() => void watchers.delete(watcher))
  }

  #leases(): Leases {
    const shared = this.#shared
    return {
      partitions: shared.partitions,
      shared: true,
      leaseMs: shared.leaseMs,
      partitionOf: (thread) => shared.partitionOf(thread),
      acquire: async (partition) =>
        this.#asHost('acquire a lease', () => {
          if (partition >= 0 && partition < shared.partitions) return shared.acquire(partition, this.#presence)
          throw broken('SV1', `there is no partition ${partition}; the store has ${shared.partitions}`)
        }),
      survey: async () => this.#when(() => shared.survey(this.#presence)),
      watch: (heard) => {
        this.#surveyed.add(heard)
        return () => void this.#surveyed.delete(heard)
      },
    }
  }

  #removeTree(removal: Parameters<MemoryStore['remove']>[0]): ReturnType<MemoryStore['remove']> {
    const refused = this.#shared.refusal(removal.root, removal.epoch, this.#presence)
    return refused ?? this.#shared.data.remove(removal)
  }

  #sweep(olderThanMs: number): { more: boolean } {
    const { data, blobs, clock } = this.#shared
    const named = data.namedBlobs()
    const before = clock.now() - olderThanMs
    for (const [hash, { at }] of blobs) if (at < before && !named.has(hash)) blobs.delete(hash)
    return { more: false }
  }

  #blobs(): Blobs {
    const { blobs, clock } = this.#shared
    const live = this.#live
    return {
      put: async (bytes) => {
        live()
        const whole = await joined(bytes)
        const hash = createHash('sha256').update(whole).digest('hex')
        blobs.set(hash, { bytes: whole, at: clock.now() })
        return { hash, size: whole.length }
      },
      async *get(hash) {
        live()
        const bytes = blobs.get(hash)?.bytes
        if (!bytes) throw blobMissing(hash, 'is not in the simulated store')
        if (bytes.length > 0) yield Uint8Array.from(bytes)
      },
      has: async (hash) => this.#when(() => blobs.has(hash)),
    }
  }

  #close(): void {
    if (!this.#open) return
    this.#open = false
    this.#expire()
    this.#shared.hosts.delete(this.#presence)
    for (const stop of this.#stops) stop()
  }
}

// Not a secret: a simulation keeps nothing.
const simulatedKey = 'e9daf86701cf99ad97c3d66bdf2332f02608d9b4283745affa700552a2e06d16'

async function joined(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  if (bytes instanceof Uint8Array) return Uint8Array.from(bytes)
  const parts: Uint8Array[] = []
  for await (const part of bytes) parts.push(Uint8Array.from(part))
  return new Uint8Array(Buffer.concat(parts))
}
