/**
 * The line before a model's gate: who waits, and who is told of its place.
 *
 * - It is in the order of tickets.
 * - A change tells those whose place is a power of two: whoever waits hears of its way forward, and a line of a
 *   thousand that moves by one costs ten words, not a thousand. What a wait says of itself when it is asked is
 *   always so.
 */
import type { ModelWait } from '../port.js'

export interface Waiter {
  readonly thread: string
  readonly ticket: number
  readonly told: (wait: ModelWait) => void
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
    this.#tell(waiter)
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
    this.#tell(waiter)
    waiter.go()
  }

  giveUp(error: Error): void {
    const all = this.#waiting
    this.#waiting = []
    for (const waiter of all) waiter.giveUp(error)
  }

  /** Places behind `from` are others now, or the time is. */
  moved(from = 0): void {
    for (let place = 1; place <= this.#waiting.length; place *= 2) {
      const waiter = place > from ? this.#waiting[place - 1] : undefined
      if (waiter) this.#tell(waiter)
    }
  }

  /** The first of them. */
  list(most: number): readonly (ModelWait & { readonly thread: string })[] {
    return this.#waiting
      .slice(0, most)
      .map(({ thread }, ahead) => ({ thread, model: this.#model, place: ahead + 1, until: this.#until() }))
  }

  #tell(waiter: Waiter): void {
    waiter.told(new Wait(this.#model, this.#until, () => this.#waiting.indexOf(waiter) + 1))
  }
}

class Wait implements ModelWait {
  readonly model: string
  readonly #until: () => number
  readonly #place: () => number

  constructor(model: string, until: () => number, place: () => number) {
    this.model = model
    this.#until = until
    this.#place = place
  }

  get place(): number {
    return this.#place()
  }

  get until(): number {
    return this.#until()
  }
}
