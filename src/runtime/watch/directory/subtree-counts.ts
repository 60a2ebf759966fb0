/**
 * Counts of whole subtrees, kept as heads change: a head is taken out of the counts of all threads above it, and its
 * successor added. A change costs as many additions as the thread is deep. Owns the counts.
 */
import type { StoredHead } from '../../../backend/port.js'

/** What a thread and all below it come to. */
export interface TreeCounts {
  readonly threads: number
  /** Threads that are at work: they do not rest. */
  readonly working: number
  /** Threads that wait for someone. */
  readonly waiting: number
  /** Threads whose last turn failed. */
  readonly failed: number
  /** Calls that may have run already. */
  readonly unknown: number
  /** Children that failed for good. */
  readonly dead: number
  readonly tokens: number
  readonly nanoUsd: number
}

type Sums = { -readonly [Field in keyof TreeCounts]: number }

const nothing: TreeCounts = {
  threads: 0,
  working: 0,
  waiting: 0,
  failed: 0,
  unknown: 0,
  dead: 0,
  tokens: 0,
  nanoUsd: 0,
}

export class SubtreeCounts {
  /** By thread: of all below it, without itself. */
  readonly #below = new Map<string, Sums>()

  replace(before: StoredHead | undefined, now: StoredHead | undefined): void {
    if (before) this.#add(before, -1)
    if (now) this.#add(now, 1)
  }

  /** A removed thread has nothing below it. */
  forget(thread: string): void {
    this.#below.delete(thread)
  }

  of(head: StoredHead): TreeCounts {
    const sums = { ...(this.#below.get(head.thread) ?? nothing) }
    addHead(sums, head, 1)
    return sums
  }

  #add(head: StoredHead, sign: 1 | -1): void {
    for (const above of head.path) {
      if (above === head.thread) continue
      let sums = this.#below.get(above)
      if (!sums) {
        sums = { ...nothing }
        this.#below.set(above, sums)
      }
      addHead(sums, head, sign)
    }
  }
}

function addHead(sums: Sums, head: StoredHead, sign: 1 | -1): void {
  const { rest, pending, status, unknown = 0, dead = 0, usage } = head
  sums.threads += sign
  if (!rest) sums.working += sign
  if (pending) sums.waiting += sign
  if (status === 'failed') sums.failed += sign
  sums.unknown += sign * unknown
  sums.dead += sign * dead
  sums.tokens += sign * (usage?.tokens ?? 0)
  sums.nanoUsd += sign * (usage?.nanoUsd ?? 0)
}
