/**
 * How long one turn of the event loop may last before work that can wait lets others go on: timers, sockets, streams.
 *
 * LS1 Who asks whether the turn is spent and then waits goes on in a later turn, in the order in which they waited, and
 *     as many of them in one turn as there is time for.
 * - Measured with the clock of the host: where time stands still (tests, simulations) nobody waits.
 */
import type { Clock } from '../clock.js'

/**
 * What follows from work that was begun in time comes on top: a commit, what its watchers do. What one turn decides is
 * committed together, so shorter turns are more transactions.
 */
const turnMs = 4

export class LoopShare {
  readonly #clock: Pick<Clock, 'now'>
  /** When this turn was first asked about. */
  #began: number | undefined
  #waiting: (() => void)[] = []
  #next = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Whether this turn of the event loop has lasted long enough. */
  get isSpent(): boolean {
    const now = this.#clock.now()
    return now - this.#beganAt(now) >= turnMs
  }

  #beganAt(now: number): number {
    if (this.#began === undefined) setImmediate(this.#turned)
    return (this.#began ??= now)
  }

  readonly #turned = (): void => {
    this.#began = undefined
  }

  /** Resolves at once, or in a later turn if this one is spent. */
  async breathe(): Promise<void> {
    if (this.isSpent) await new Promise<void>((resolve) => this.wait(resolve))
  }

  /** Calls `goOn` in a later turn. */
  wait(goOn: () => void): void {
    if (this.#waiting.push(goOn) === 1) setImmediate(this.#goOn)
  }

  /** One in each turn, however long that has lasted: others who are always at work do not keep it waiting. */
  readonly #goOn = (): void => {
    this.#beganAt(this.#clock.now())
    const goOn = this.#waiting[this.#next++]
    // Before it goes on: whatever it does, the others do.
    if (this.#next < this.#waiting.length) queueMicrotask(this.#whenDone)
    else {
      this.#waiting = []
      this.#next = 0
    }
    goOn?.()
  }

  /** All that has followed from the one before is done in a tick that is set in a microtask. */
  readonly #whenDone = (): void => process.nextTick(this.#goOnSoon)

  readonly #goOnSoon = (): void => {
    if (this.isSpent) setImmediate(this.#goOn)
    else this.#goOn()
  }
}
