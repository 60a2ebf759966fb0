/**
 * The janitor of a host: collects what removed trees have left, and deletes trees that the retention rules no longer
 * keep.
 *
 * - It works in slices with a turn of the event loop between any two, so that threads are not held up.
 * JT2 A tree is deleted by the same command that anyone may send: one that is at work again refuses.
 * - A blob that was put within the last 24 hours stays: the record that names it may be on the way (J10: only a blob
 *   that no text names is collected).
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { isSkeinError } from '../../core/failure.js'
import { deleteTree } from '../handles/delete-tree.js'
import type { Warn } from '../services.js'

export interface Retention {
  /** Trees whose root is `done` or `terminated` are deleted this long after their last record. Default: never. */
  readonly finishedTreesMs?: number
  /**
   * Trees in which every thread rests, nobody is waited for and nothing is scheduled are deleted this long after their
   * last record. Default: never.
   */
  readonly idleTreesMs?: number
}

export interface JanitorServices {
  readonly backend: Backend
  readonly clock: Clock
  readonly random: Random
  readonly retention: Retention
  readonly warn: Warn
}

const youngestBlobMs = 24 * 60 * 60 * 1000
const shortestRoundMs = 1_000
const longestRoundMs = 60 * 60 * 1000
/** Heads that are read in one slice. */
const pageSize = 200

export class Janitor {
  readonly #services: JanitorServices
  readonly #closed = new AbortController()
  #sweeping: Promise<void> | undefined
  /** There may be something to collect. */
  #sweepAgain = false
  /** The retention rules are being applied. */
  #round: Promise<void> | undefined
  #cancelNextRound: () => void = () => undefined

  constructor(services: JanitorServices) {
    this.#services = services
  }

  begin(): void {
    this.sweep()
    this.#nextRound()
  }

  /** Collects what removed trees have left. */
  sweep(): void {
    this.#sweepAgain = true
    this.#sweeping ??= this.#sweepAll().finally(() => (this.#sweeping = undefined))
  }

  async #sweepAll(): Promise<void> {
    while (this.#sweepAgain && !this.#isClosed) {
      this.#sweepAgain = false
      await this.#quietly('removed trees could not be collected', async () => {
        for (let more = true; more && !this.#isClosed; await yieldToEventLoop())
          more = (await this.#services.backend.trees.sweep({ olderThanMs: youngestBlobMs })).more
      })
    }
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted
  }

  #nextRound(): void {
    const { clock, retention } = this.#services
    const shortest = Math.min(retention.finishedTreesMs ?? Infinity, retention.idleTreesMs ?? Infinity)
    if (shortest === Infinity || this.#isClosed) return
    const everyMs = Math.min(longestRoundMs, Math.max(shortestRoundMs, shortest / 10))
    this.#cancelNextRound = clock.wakeAt(clock.now() + everyMs, () => {
      this.#round = this.#quietly('retention rules could not be applied', () => this.#applyRetention()).finally(() =>
        this.#nextRound(),
      )
    })
  }

  async #applyRetention(): Promise<void> {
    const { heads } = this.#services.backend
    for (let cursor: string | undefined, more = true; more && !this.#isClosed; await yieldToEventLoop()) {
      const page = await heads.list({ limit: pageSize, ...defined({ cursor }) })
      for (const head of page.heads)
        if (head.parent === undefined && this.#isOld(head) && (await this.#treeIsOld(head)))
          await this.#delete(head.thread)
      cursor = page.next
      more = cursor !== undefined
    }
    // Blobs of trees that were removed a day ago are old enough now.
    this.sweep()
  }

  #isOld({ status, rest, wakeAt, pending, updatedAt }: StoredHead): boolean {
    const { clock, retention } = this.#services
    if (!rest) return false
    const finished = status === 'done' || status === 'terminated'
    const idle =
      finished || ((status === 'idle' || status === 'failed') && wakeAt === undefined && pending === undefined)
    const lastMs = Math.min(
      finished ? (retention.finishedTreesMs ?? Infinity) : Infinity,
      idle ? (retention.idleTreesMs ?? Infinity) : Infinity,
    )
    return clock.now() - updatedAt >= lastMs
  }

  /** A message to a lasting child may be younger than the last record of the root. */
  async #treeIsOld({ thread }: StoredHead): Promise<boolean> {
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const { heads, next } = await this.#services.backend.heads.list({
        root: thread,
        limit: pageSize,
        ...defined({ cursor }),
      })
      if (!heads.every((head) => this.#isOld(head))) return false
      cursor = next
    }
    return true
  }

  async #delete(root: string): Promise<void> {
    try {
      await deleteTree({ ...this.#services, closed: this.#closed.signal }, root)
    } catch (thrown) {
      // JT2: it is at work again, or was deleted by someone else.
      if (!isSkeinError(thrown) || (thrown.code !== 'COMMAND_REFUSED' && thrown.code !== 'UNKNOWN_THREAD')) throw thrown
    }
  }

  async #quietly(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      if (!this.#isClosed) this.#services.warn(what, thrown)
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#cancelNextRound()
    await Promise.all([this.#sweeping, this.#round])
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
