/**
 * The janitor of a host: collects what removed trees have left, and deletes those that the retention rules have given
 * up.
 *
 * - It works in slices with a turn of the event loop between any two, so that it holds up nobody.
 * JT2 A tree is deleted by the same command that anyone may send: one that is at work again refuses.
 * - No blob goes that was put within the last 24 hours: its record may be on the way (J10).
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { isSkeinError } from '../../core/failure.js'
import { deleteTree } from '../handles/delete-tree.js'

export interface Retention {
  /** Trees whose root is `done` or `terminated` are deleted so long after their last record. Default: never. */
  readonly finishedTreesMs?: number
  /**
   * Trees in which all is at rest, nobody is waited for and nothing is scheduled, so long after their last record.
   * Default: never.
   */
  readonly idleTreesMs?: number
}

export interface JanitorServices {
  readonly backend: Backend
  readonly clock: Clock
  readonly random: Random
  readonly retention: Retention
  readonly warn: (what: string, thrown: unknown) => void
}

const youngestBlobMs = 24 * 60 * 60 * 1000
const shortestRoundMs = 1_000
const longestRoundMs = 60 * 60 * 1000
/** Heads that are looked at in one slice. */
const page = 200

export class Janitor {
  readonly #means: JanitorServices
  readonly #closed = new AbortController()
  #sweeping: Promise<void> | undefined
  #again = false
  #round: Promise<void> | undefined
  #cancel: () => void = () => undefined

  constructor(means: JanitorServices) {
    this.#means = means
  }

  begin(): void {
    this.sweep()
    this.#nextRound()
  }

  /** Collects all there is to collect. */
  sweep(): void {
    this.#again = true
    this.#sweeping ??= this.#sweepAll().finally(() => (this.#sweeping = undefined))
  }

  async #sweepAll(): Promise<void> {
    while (this.#again && !this.#over) {
      this.#again = false
      await this.#quietly('removed trees could not be collected', async () => {
        for (let more = true; more && !this.#over; await turn())
          more = (await this.#means.backend.trees.sweep({ olderThanMs: youngestBlobMs })).more
      })
    }
  }

  get #over(): boolean {
    return this.#closed.signal.aborted
  }

  #nextRound(): void {
    const { clock, retention } = this.#means
    const shortest = Math.min(retention.finishedTreesMs ?? Infinity, retention.idleTreesMs ?? Infinity)
    if (shortest === Infinity || this.#over) return
    const everyMs = Math.min(longestRoundMs, Math.max(shortestRoundMs, shortest / 10))
    this.#cancel = clock.wakeAt(clock.now() + everyMs, () => {
      this.#round = this.#quietly('retention rules could not be applied', () => this.#apply()).finally(() =>
        this.#nextRound(),
      )
    })
  }

  async #apply(): Promise<void> {
    const { heads } = this.#means.backend
    for (let cursor: string | undefined, more = true; more && !this.#over; await turn()) {
      const { heads: some, next } = await heads.list({ limit: page, ...defined({ cursor }) })
      for (const head of some)
        if (head.parent === undefined && this.#isOld(head) && (await this.#wholeIsOld(head)))
          await this.#delete(head.thread)
      cursor = next
      more = next !== undefined
    }
    // Blobs of trees that were removed a day ago are old enough now.
    this.sweep()
  }

  #isOld({ status, rest, wakeAt, pending, updatedAt }: StoredHead): boolean {
    const { clock, retention } = this.#means
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

  /** A child that stays may have been spoken to since. */
  async #wholeIsOld({ thread }: StoredHead): Promise<boolean> {
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const { heads, next } = await this.#means.backend.heads.list({
        root: thread,
        limit: page,
        ...defined({ cursor }),
      })
      if (!heads.every((head) => this.#isOld(head))) return false
      cursor = next
    }
    return true
  }

  async #delete(root: string): Promise<void> {
    try {
      await deleteTree({ ...this.#means, closed: this.#closed.signal }, root)
    } catch (thrown) {
      // JT2: someone was faster, to delete it or to speak to it.
      if (!isSkeinError(thrown) || (thrown.code !== 'COMMAND_REFUSED' && thrown.code !== 'UNKNOWN_THREAD')) throw thrown
    }
  }

  async #quietly(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      if (!this.#over) this.#means.warn(what, thrown)
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#cancel()
    await Promise.all([this.#sweeping, this.#round])
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
