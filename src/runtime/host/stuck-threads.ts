/**
 * Threads of a partition that cannot go on, in one of three ways, and for how long that is remembered:
 *
 * - parked: no retry can mend it (a damaged journal, a record from a newer Skein, a secret that cannot be read, a
 *   broken invariant). The thread is not woken again under this lease; its mail is kept, and its senders and whoever
 *   waits for it are told.
 * - without its agent: that is not defined here. The thread is awake and inert, and can be ended (TH6: like any). The
 *   operator is warned once.
 * - retrying: the store has failed or refused a commit. The thread is woken again from its journal, after a pause that
 *   doubles each time, until it comes to rest. Answers that may belong to commits that were applied wait for that.
 */
import type { Failure, FailureCode } from '../../core/failure.js'
import type { Reply } from '../resident/outbox.js'

const beyondRetry: ReadonlySet<FailureCode> = new Set([
  'JOURNAL_CORRUPT',
  'RECORD_FROM_FUTURE',
  'SECRET_UNREADABLE',
  'INVARIANT',
])
const firstRetryMs = 50
const longestRetryMs = 5_000

interface Stuck {
  readonly parked?: Failure
  /** From the root of its tree down to it. */
  readonly path?: readonly string[]
  readonly lacksAgent?: true
  readonly retries?: number
  /** Of commits of which nobody knows whether they were applied. */
  readonly unanswered?: readonly Reply[]
}

export class StuckThreads {
  readonly #threads = new Map<string, Stuck>()

  /** Why the thread is parked, if it is. */
  parked(thread: string): Failure | undefined {
    return this.#threads.get(thread)?.parked
  }

  /** Parks the thread if no retry can mend this failure: says whether it did. */
  park(thread: string, why: Failure): boolean {
    if (!beyondRetry.has(why.code)) return false
    this.#note(thread, { parked: why })
    return true
  }

  /** The paths of parked threads, where they are known, and why they are parked. */
  *parkedIn(root: string): Generator<{ readonly path: readonly string[]; readonly why: Failure }> {
    for (const { path, parked } of this.#threads.values()) if (parked && path?.[0] === root) yield { path, why: parked }
  }

  notePath(thread: string, path: readonly string[]): void {
    this.#note(thread, { path })
  }

  /** Its agent is not defined here: says whether that is news. */
  noteMissingAgent(thread: string): boolean {
    if (this.#threads.get(thread)?.lacksAgent) return false
    this.#note(thread, { lacksAgent: true })
    return true
  }

  isRetrying(thread: string): boolean {
    return this.#threads.get(thread)?.retries !== undefined
  }

  /** The thread is woken again here, and was not cut off by the death of a host. */
  startsOver(thread: string): void {
    this.#note(thread, { retries: this.#threads.get(thread)?.retries ?? 0 })
  }

  /** How long to wait before the next try. */
  nextRetryMs(thread: string): number {
    const before = this.#threads.get(thread)?.retries ?? 0
    this.#note(thread, { retries: before + 1 })
    return Math.min(firstRetryMs * 2 ** before, longestRetryMs)
  }

  unanswered(thread: string): readonly Reply[] {
    return this.#threads.get(thread)?.unanswered ?? []
  }

  noteUnanswered(thread: string, replies: readonly Reply[]): void {
    if (replies.length > 0) this.#note(thread, { unanswered: [...this.unanswered(thread), ...replies] })
  }

  noteAnswered(thread: string): void {
    this.#note(thread, { unanswered: [] })
  }

  /** The thread came to rest: its retries are over. */
  rested(thread: string): void {
    const stuck = this.#threads.get(thread)
    if (stuck?.retries === undefined) return
    const { retries: _, unanswered: __, ...rest } = stuck
    if (Object.keys(rest).length > 0) this.#threads.set(thread, rest)
    else this.#threads.delete(thread)
  }

  #note(thread: string, why: Stuck): void {
    this.#threads.set(thread, { ...this.#threads.get(thread), ...why })
  }
}
