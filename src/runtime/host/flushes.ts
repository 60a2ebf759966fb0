/**
 * When the outboxes of a host are flushed: all that fill together are committed together. Owns the outboxes that have
 * something to commit.
 *
 * - A few are flushed as soon as nothing else is left to do at once. Many wait for the end of this turn of the event
 *   loop, so that one transaction holds them all.
 * - The event loop goes on after a few flushes, also where threads always have something to commit: timers and
 *   sockets are not held up.
 */
import type { Outbox } from '../resident/outbox.js'

const few = 2
const flushesInOneTurn = 16

export class Flushes {
  #outboxes = new Set<Outbox>()
  #awaited = false
  /** In this turn of the event loop. */
  #count = 0

  add(outbox: Outbox): void {
    this.#outboxes.add(outbox)
    if (this.#awaited) return
    this.#awaited = true
    // Called when all microtasks are done.
    if (this.#count < flushesInOneTurn) process.nextTick(this.#flushFew)
    else setImmediate(this.#flushAll)
  }

  readonly #flushFew = (): void => {
    if (this.#outboxes.size > few) return void setImmediate(this.#flushAll)
    this.#count++
    this.#flush()
  }

  readonly #flushAll = (): void => {
    this.#count = 0
    this.#flush()
  }

  #flush(): void {
    this.#awaited = false
    const outboxes = this.#outboxes
    this.#outboxes = new Set()
    for (const outbox of outboxes) void outbox.flush()
  }
}
