/**
 * What one turn of the event loop may begin before timers, sockets and streams have theirs: without it a thousand calls
 * of a reply, each of which ends at once, would be one turn.
 *
 * LS1 Who finds no place and waits is called in a later turn, in the order in which they waited; whoever has taken the
 *     last places of a turn and waits again is behind them.
 * - The first few of each thread need no place: what a short reply leads to is committed together, however many threads
 *   there are.
 * - Counted, not timed: the same in a simulation, on any machine and under any load.
 */
const placesOfATurn = 32
const freeOfATurn = 8

/** Whoever begins things: how many in which turn. */
export interface Beginner {
  loopTurn: number
  begun: number
}

export class LoopShare {
  #turns = 0
  #places = placesOfATurn
  #waiting: (() => void)[] = []
  #turning = false

  /** Whether one more may begin in this turn of the event loop. */
  take(beginner: Beginner): boolean {
    this.#turnLater()
    if (beginner.loopTurn !== this.#turns) {
      beginner.loopTurn = this.#turns
      beginner.begun = 0
    }
    if (beginner.begun++ < freeOfATurn) return true
    if (this.#places === 0) return false
    this.#places--
    return true
  }

  /** Calls `goOn` in a later turn, when there are places. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn)
    this.#turnLater()
  }

  #turnLater(): void {
    if (this.#turning) return
    this.#turning = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#turning = false
    this.#turns++
    this.#places = placesOfATurn
    const waiting = this.#waiting
    // Who waits again meanwhile waits for another turn.
    this.#waiting = []
    let called = 0
    try {
      while (this.#places > 0 && called < waiting.length) waiting[called++]?.()
    } finally {
      // Also where one of them throws: the others are called.
      this.#waiting = [...waiting.slice(called), ...this.#waiting]
      if (this.#waiting.length > 0) this.#turnLater()
    }
  }
}
