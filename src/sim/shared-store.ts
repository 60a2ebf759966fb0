/**
 * What the hosts of a simulation share: the data of the memory backend, who is alive, and who holds which partition.
 *
 * SV1 The holder of a partition is the host that acquired it last. A commit with an older epoch of the partition is
 *     refused, whether or not its thread was written since (J2).
 */
import type { Clock } from '../core/clock.js'
import { systemClock } from '../core/clock.js'
import { mailText, mailTexts } from '../backend/checks.js'
import type { HostInfo } from '../backend/host-info.js'
import { MemoryStore } from '../backend/memory/store.js'
import type { Commit, CommitResult, Lease, Send, Survey } from '../backend/port.js'
import { createTopics, tell } from '../backend/topics.js'
import { hashOf } from './seeded-random.js'

export interface SimStoreOptions {
  readonly partitions?: number
  readonly leaseMs?: number
  readonly clock?: Clock
}

export interface Holder {
  readonly host: HostPresence
  readonly epoch: number
  readonly lost: AbortController
}

/** A host that has opened the store, as all others see it. */
export interface HostPresence {
  readonly info: () => HostInfo
  /** When its lease expires unless it renews. */
  until: number
  /** As far as it knows: what was taken from it meanwhile it learns with its next beat (SV2). */
  readonly held: Map<number, Holder>
}

interface Blob {
  readonly bytes: Uint8Array
  readonly at: number
}

export class SharedStore {
  readonly data = new MemoryStore()
  readonly topics = createTopics()
  readonly blobs = new Map<string, Blob>()
  readonly watchers = new Set<(thread: string) => void>()
  readonly hosts = new Set<HostPresence>()
  readonly holders = new Map<number, Holder>()
  /** Who acquired each partition last. */
  readonly #lastHolders = new Map<number, Holder>()
  keyCheck: string | undefined
  takeOvers = 0
  readonly receipts = new Set<string>()
  #epoch = 0

  readonly partitions: number
  readonly leaseMs: number
  readonly clock: Clock

  constructor({ partitions = 4, leaseMs = 3_000, clock = systemClock }: SimStoreOptions) {
    this.partitions = partitions
    this.leaseMs = leaseMs
    this.clock = clock
  }

  partitionOf(thread: string): number {
    return hashOf(thread) % this.partitions
  }

  commit(commit: Commit, host: HostPresence): CommitResult {
    for (const { thread, epoch } of [commit, ...(commit.also ?? [])]) {
      const refused = this.refusal(thread, epoch, host)
      if (refused) return refused
    }
    return this.write((arrived) => this.data.commit(commit, mailTexts(commit), arrived))
  }

  /** SV1: another host has acquired the partition since. */
  refusal(thread: string, epoch: number, host: HostPresence): Extract<CommitResult, { ok: false }> | undefined {
    const last = this.#lastHolders.get(this.partitionOf(thread))
    if (!last || last.host === host || epoch >= last.epoch) return undefined
    return { ok: false, seq: this.data.head(thread)?.seq ?? 0, epoch: last.epoch }
  }

  write<Result>(apply: (arrived: Set<string>) => Result): Result {
    const arrived = new Set<string>()
    const result = apply(arrived)
    for (const thread of arrived) for (const watcher of [...this.watchers]) tell(() => watcher(thread))
    return result
  }

  putMail(send: Send): void {
    if (send.id.startsWith('receipt-')) this.receipts.add(send.id)
    this.write((arrived) => this.data.putMail(send, mailText(send), arrived))
  }

  acquire(partition: number, host: HostPresence): Lease | undefined {
    const holder = this.holders.get(partition)
    if (holder && this.#holds(holder)) return undefined
    if (holder) this.takeOvers++
    this.#epoch += 1
    const lost = new AbortController()
    const taken: Holder = { host, epoch: this.#epoch, lost }
    this.#lastHolders.set(partition, taken)
    this.holders.set(partition, taken)
    host.held.set(partition, taken)
    return { partition, epoch: this.#epoch, lost: lost.signal, release: async () => this.release(partition, taken) }
  }

  release(partition: number, holder: Holder): void {
    if (this.holders.get(partition) === holder) this.holders.delete(partition)
    if (holder.host.held.get(partition) === holder) holder.host.held.delete(partition)
    holder.lost.abort()
  }

  #holds({ host }: Holder): boolean {
    return host.until > this.clock.now()
  }

  survey(host: HostPresence): Survey {
    const now = this.clock.now()
    const living = [...this.hosts].filter(({ until }) => until > now)
    const place = Math.max(0, living.indexOf(host))
    const share = Math.floor(this.partitions / living.length) + (place < this.partitions % living.length ? 1 : 0)
    const free = Array.from({ length: this.partitions }, (_, partition) => partition).filter((partition) => {
      const holder = this.holders.get(partition)
      return !holder || !this.#holds(holder)
    })
    return { share: living.length === 0 ? this.partitions : share, free, barred: 0 }
  }
}
