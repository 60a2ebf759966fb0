/**
 * The backend for tests and simulation: everything is in the closure of `memory()`, so that opening it again after a
 * close (a crash, in tests) sees the same data. Several instances may be open at once: a host and clients, or hosts
 * that contend for the one lease. Owns these instances: their group commit, their lease and their end. What is stored
 * and how it is compared is in store.ts.
 *
 * - Writes that are handed over together are applied and acknowledged together, in order.
 * - A lease belongs to one open instance and ends with it.
 */
import { createHash, randomBytes } from 'node:crypto'
import { systemClock } from '../../core/clock.js'
import { encodeHost, anonymousHost } from '../host-info.js'
import type { HostInfo, HostSelf } from '../host-info.js'
import {
  blobMissing,
  checkCommit,
  checkPartition,
  clientMayNot,
  mailText,
  mailTexts,
  oneLease,
  storeClosed,
} from '../checks.js'
import { MemoryStore } from './store.js'
import type {
  Backend,
  Blobs,
  Heads,
  Journal,
  KeyCheck,
  Lease,
  Leases,
  Mailbox,
  Signals,
  Snapshots,
  Store,
  StoreRole,
  Trees,
} from '../port.js'
import { noItems, withItem } from '../../core/lists.js'
import { createTopics, tell } from '../topics.js'
import type { Topics } from '../topics.js'

interface Blob {
  readonly bytes: Uint8Array
  /** When it was last put. */
  readonly at: number
}

interface SharedData {
  readonly store: MemoryStore
  readonly topics: Topics
  readonly blobs: Map<string, Blob>
  readonly watchers: Set<(thread: string) => void>
  /** The master key for secrets: lasts as long as the data. */
  readonly key: { readonly text: string }
  /** The open hosts, in the order in which they began. */
  readonly hosts: Set<() => HostInfo>
  epoch: number
  keyCheck: string | undefined
  holder: Lease | undefined
}

export function memory(): Store {
  const data: SharedData = {
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
  return { open: async (role, self = anonymousHost) => openMemory(data, role, self) }
}

/** The group commit of one instance: writes wait for the end of the current turn of the event loop. */
class GroupCommit {
  private waiting: (() => void)[] = noItems
  private readonly arrived = new Set<string>()
  private readonly watchers: Set<(thread: string) => void>

  constructor(watchers: Set<(thread: string) => void>) {
    this.watchers = watchers
  }

  add<T>(write: (arrived: Set<string>) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) queueMicrotask(this.flush)
      this.waiting = withItem(this.waiting, () => {
        try {
          resolve(write(this.arrived))
        } catch (error) {
          reject(error)
        }
        if (this.arrived.size > 0) this.tellArrived()
      })
    })
  }

  readonly flush = (): void => {
    const waiting = this.waiting
    this.waiting = noItems
    for (const write of waiting) write()
  }

  private tellArrived(): void {
    const threads = [...this.arrived]
    this.arrived.clear()
    for (const thread of threads) for (const watcher of [...this.watchers]) tell(watcher, thread)
  }
}

/** One open instance: its role, whether it is still open, and what stops with it. */
class Instance {
  readonly data: SharedData
  readonly role: StoreRole
  readonly writes: GroupCommit
  private open = true
  private readonly stops = new Set<() => void>()

  constructor(data: SharedData, role: StoreRole) {
    this.data = data
    this.role = role
    this.writes = new GroupCommit(data.watchers)
  }

  assertOpen(): void {
    if (!this.open) throw storeClosed('memory')
  }

  assertHost(action: string): void {
    this.assertOpen()
    if (this.role === 'client') throw clientMayNot(action)
  }

  /** Stopped at the latest when the instance is closed. */
  stoppable(stop: () => void): () => void {
    this.stops.add(stop)
    return () => {
      this.stops.delete(stop)
      stop()
    }
  }

  /** False when it was closed before. */
  close(): boolean {
    if (!this.open) return false
    this.open = false
    for (const stop of this.stops) stop()
    return true
  }
}

function openMemory(data: SharedData, role: StoreRole, self: HostSelf): Backend {
  const instance = new Instance(data, role)
  const { leases, holds, release } = createLeases(instance)
  const info = (): HostInfo => ({ id: self.profile.name, ...encodeHost(self), partitions: holds() ? [0] : [] })
  if (role === 'host') data.hosts.add(info)

  return {
    name: 'memory',
    key: data.key,
    keyCheck: createKeyCheck(instance),
    role,
    async hosted() {
      instance.assertOpen()
      return data.hosts.size > 0
    },
    async hosts() {
      instance.assertOpen()
      return [...data.hosts].map((host) => host())
    },
    commit: createCommit(instance),
    together: true,
    journal: createJournal(instance),
    heads: createHeads(instance),
    mailbox: createMailbox(instance),
    snapshots: createSnapshots(instance),
    signals: createSignals(instance),
    blobs: createBlobs(instance),
    trees: createTrees(instance),
    leases,
    async close() {
      instance.writes.flush()
      if (!instance.close()) return
      data.hosts.delete(info)
      release()
    },
  }
}

function createKeyCheck(instance: Instance): KeyCheck {
  return {
    async read() {
      instance.assertOpen()
      return instance.data.keyCheck
    },
    async keep(text) {
      instance.assertHost('keep a check of the key')
      return (instance.data.keyCheck ??= text)
    },
  }
}

/** Not an async function: that would be a promise around a promise, for every commit. */
function createCommit(instance: Instance): Backend['commit'] {
  const { store } = instance.data
  return (commit) => {
    try {
      instance.assertHost('commit')
      checkCommit(commit)
      const texts = mailTexts(commit)
      return instance.writes.add((arrived) => store.commit(commit, texts, arrived))
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }
}

function createJournal(instance: Instance): Journal {
  const { store } = instance.data
  return {
    async read(thread, range) {
      instance.assertOpen()
      return store.read(thread, range)
    },
    async readTree(root, range) {
      instance.assertOpen()
      return store.readTree(root, range)
    },
  }
}

function createHeads(instance: Instance): Heads {
  const { store } = instance.data
  return {
    async get(thread) {
      instance.assertOpen()
      return store.head(thread)
    },
    async list(filter) {
      instance.assertOpen()
      return store.list(filter)
    },
    async restless() {
      instance.assertOpen()
      return store.restless()
    },
    follow(told) {
      instance.assertOpen()
      const { stop, ...follower } = store.follow(told)
      return { ...follower, stop: instance.stoppable(stop) }
    },
  }
}

function createMailbox(instance: Instance): Mailbox {
  const { store, watchers } = instance.data
  return {
    async put(send) {
      instance.assertOpen()
      const body = mailText(send)
      return instance.writes.add((arrived) => store.putMail(send, body, arrived))
    },
    async read(thread, after) {
      instance.assertOpen()
      return store.readMail(thread, after)
    },
    async waiting() {
      instance.assertOpen()
      return store.waiting()
    },
    watch(arrived) {
      instance.assertOpen()
      // A wrapper of its own, so that the same function may watch twice.
      const watcher = (thread: string): void => arrived(thread)
      watchers.add(watcher)
      return instance.stoppable(() => watchers.delete(watcher))
    },
  }
}

function createSnapshots(instance: Instance): Snapshots {
  const { snapshots } = instance.data.store
  return {
    async get(thread) {
      instance.assertOpen()
      return snapshots.get(thread)
    },
    async put(thread, snapshot) {
      instance.assertHost('put a snapshot')
      snapshots.set(thread, Uint8Array.from(snapshot))
    },
  }
}

function createSignals(instance: Instance): Signals {
  const { topics } = instance.data
  return {
    publish(topic, value, unheard) {
      instance.assertOpen()
      topics.publish(topic, value, unheard)
    },
    subscribe(topic, listener) {
      instance.assertOpen()
      return instance.stoppable(topics.subscribe(topic, listener))
    },
    heard: (topic) => topics.heard(topic),
  }
}

function createLeases(instance: Instance): { leases: Leases; holds: () => boolean; release: () => void } {
  const { data } = instance
  let mine: Lease | undefined
  let lost = new AbortController()
  const release = (): void => {
    if (mine && data.holder === mine) data.holder = undefined
    mine = undefined
    lost.abort()
  }
  const leases: Leases = {
    ...oneLease,
    survey: async () => ({ share: 1, free: data.holder ? [] : [0], barred: 0 }),
    async acquire(partition) {
      instance.assertHost('acquire a lease')
      checkPartition(partition, oneLease.partitions)
      if (data.holder) return undefined
      lost = new AbortController()
      data.epoch += 1
      const lease: Lease = {
        partition,
        epoch: data.epoch,
        lost: lost.signal,
        async release() {
          if (mine === lease) release()
        },
      }
      mine = lease
      data.holder = lease
      return lease
    },
  }
  return { leases, holds: () => mine !== undefined, release }
}

function createTrees(instance: Instance): Trees {
  const { store, blobs } = instance.data
  return {
    async remove(removal) {
      instance.assertHost('remove a tree')
      return instance.writes.add(() => store.remove(removal))
    },
    async sweep({ olderThanMs }) {
      instance.assertHost('sweep')
      const named = store.namedBlobs()
      const before = systemClock.now() - olderThanMs
      for (const [hash, { at }] of blobs) if (at < before && !named.has(hash)) blobs.delete(hash)
      return { more: false }
    },
  }
}

function createBlobs(instance: Instance): Blobs {
  const { blobs } = instance.data
  return {
    async put(bytes) {
      instance.assertOpen()
      const parts: Uint8Array[] = []
      if (bytes instanceof Uint8Array) parts.push(bytes)
      else for await (const part of bytes) parts.push(Uint8Array.from(part))
      // J8: concat copies, so that a caller that changes its bytes later changes nothing here.
      const whole = new Uint8Array(Buffer.concat(parts))
      const hash = createHash('sha256').update(whole).digest('hex')
      blobs.set(hash, { bytes: whole, at: systemClock.now() })
      return { hash, size: whole.length }
    },
    async *get(hash) {
      instance.assertOpen()
      const bytes = blobs.get(hash)?.bytes
      if (!bytes) throw blobMissing(hash, 'is not in the memory store')
      if (bytes.length > 0) yield Uint8Array.from(bytes)
    },
    async has(hash) {
      instance.assertOpen()
      return blobs.has(hash)
    },
  }
}
