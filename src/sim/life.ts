/**
 * The life of one simulated process: from its start to its death. All that reaches the process goes through here, so
 * that a dead one hears nothing more and a stopped one hears everything later.
 *
 * - Code knows its life by its async context: whatever a process starts carries it.
 * - A promise that a dead process waits for never settles: its code stops where it stands, as after `kill -9`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../core/clock.js'

const context = new AsyncLocalStorage<Life>()

export interface LifeOptions {
  readonly clock: Clock
  /** By how much the process's clock is wrong. */
  readonly skewMs?: number
  /** Told when it dies. */
  readonly died?: () => void
}

export class Life {
  readonly name: string
  readonly clock: Clock
  readonly #time: Clock
  readonly #died: () => void
  #alive = true
  /** What arrived while the process is stopped. */
  #stopped: (() => void)[] | undefined
  #cutUntil = -Infinity
  #fullUntil = -Infinity

  constructor(name: string, { clock, skewMs = 0, died = () => undefined }: LifeOptions) {
    this.name = name
    this.#time = clock
    this.#died = died
    this.clock = {
      now: () => clock.now() + skewMs,
      wakeAt: (at, wake) => clock.wakeAt(at - skewMs, () => this.run(wake)),
    }
  }

  /** Whose code runs now. */
  static current(): Life | undefined {
    return context.getStore()
  }

  get alive(): boolean {
    return this.#alive
  }

  get connected(): boolean {
    return this.#cutUntil <= this.#time.now()
  }

  /** Its disk takes no more. */
  get full(): boolean {
    return this.#fullUntil > this.#time.now()
  }

  get cutUntil(): number {
    return this.#cutUntil
  }

  enter<Result>(act: () => Result): Result {
    return context.run(this, act)
  }

  /** Something reaches the process. */
  run(act: () => void): void {
    if (!this.#alive) return
    if (this.#stopped) this.#stopped.push(act)
    else this.enter(act)
  }

  /** Settles as `promise` does, for as long as the process lives. */
  hear<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.run(() => resolve(value)),
        (thrown: unknown) => this.run(() => reject(thrown)),
      )
    })
  }

  kill(): void {
    if (!this.#alive) return
    this.#alive = false
    this.#died()
  }

  /** As SIGSTOP and SIGCONT: nothing happens in the process, and then everything that came meanwhile. */
  stopFor(ms: number): void {
    if (this.#stopped) return
    this.#stopped = []
    this.#time.wakeAt(this.#time.now() + ms, () => {
      const arrived = this.#stopped ?? []
      this.#stopped = undefined
      for (const act of arrived) this.run(act)
    })
  }

  /** Its connection to the store is down. */
  cutFor(ms: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#time.now() + ms)
  }

  fillDiskFor(ms: number): void {
    this.#fullUntil = Math.max(this.#fullUntil, this.#time.now() + ms)
  }
}
