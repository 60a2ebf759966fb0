/**
 * The calls that wait at the gate of a model, in the order of their tickets.
 *
 * - Waiters are notified only when their position is a power of two: a queue of 1,000 that advances by one sends 10
 *   notifications. A position that is read later is always current.
 */
import type { ModelWait } from '../port.js'

export interface Waiter {
  readonly thread: string
  readonly ticket: number
  readonly notify: (wait: ModelWait) => void
  go(): void
  giveUp(error: Error): void
}

export class WaitingQueue {
  readonly #model: string
  readonly #until: () => number
  #waiting: Waiter[] = []

  constructor(model: string, until: () => number) {
    this.#model = model
    this.#until = until
  }

  get length(): number {
    return this.#waiting.length
  }

  join(waiter: Waiter): void {
    let at = this.#waiting.length
    while (at > 0 && (this.#waiting[at - 1]?.ticket ?? 0) > waiter.ticket) at--
    this.#waiting.splice(at, 0, waiter)
    this.#notify(waiter)
  }

  leave(waiter: Waiter): void {
    const at = this.#waiting.indexOf(waiter)
    if (at < 0) return
    this.#waiting.splice(at, 1)
    this.moved(at)
  }

  next(): void {
    const waiter = this.#waiting.shift()
    if (!waiter) return
    this.#notify(waiter)
    waiter.go()
  }

  giveUp(error: Error): void {
    const all = this.#waiting
    this.#waiting = []
    for (const waiter of all) waiter.giveUp(error)
  }

  /** Positions behind `from` have changed, or the time at which the gate opens. */
  moved(from = 0): void {
    for (let position = 1; position <= this.#waiting.length; position *= 2) {
      const waiter = position > from ? this.#waiting[position - 1] : undefined
      if (waiter) this.#notify(waiter)
    }
  }

  /** The first `most` waiters. */
  list(most: number): readonly (ModelWait & { readonly thread: string })[] {
    return this.#waiting
      .slice(0, most)
      .map(({ thread }, ahead) => ({ thread, model: this.#model, place: ahead + 1, until: this.#until() }))
  }

  #notify(waiter: Waiter): void {
    waiter.notify(new Wait(this.#model, this.#until, () => this.#waiting.indexOf(waiter) + 1))
  }
}

class Wait implements ModelWait {
  readonly model: string
  readonly #until: () => number
  readonly #position: () => number

  constructor(model: string, until: () => number, position: () => number) {
    this.model = model
    this.#until = until
    this.#position = position
  }

  get place(): number {
    return this.#position()
  }

  get until(): number {
    return this.#until()
  }
}
