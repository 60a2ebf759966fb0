/**
 * Calls that wait for their turn: they go on when every call before them is settled.
 */
import type { Slots } from '../../../actors/thread/calls/slots.js'
import type { ThreadState } from '../../../actors/thread/state.js'

interface Waiting {
  readonly slots: Slots
  readonly index: number
  readonly goOn: () => void
}

/** Never changed: most threads have nobody waiting. */
const nobody: Waiting[] = []

export class CallOrder {
  readonly #state: ThreadState
  #waiting = nobody

  constructor(state: ThreadState) {
    this.#state = state
  }

  /** Whether its turn has come already. */
  hasCome(index: number): boolean {
    return this.#state.slots.drained >= index
  }

  /** A call that is ended while it waits is never told. */
  wait(index: number, goOn: () => void): void {
    const one = { slots: this.#state.slots, index, goOn }
    if (this.#waiting === nobody) this.#waiting = [one]
    else this.#waiting.push(one)
  }

  /** To be asked after every record. */
  advance(): void {
    const before = this.#waiting
    if (before.length === 0) return
    this.#waiting = nobody
    const { slots, turn } = this.#state
    const still: Waiting[] = []
    for (const each of before) {
      // Its step is over, or it was answered without it: nobody wants it to go on.
      if (each.slots !== slots || !turn || each.slots.items[each.index]?.outcome) continue
      if (each.slots.drained >= each.index) each.goOn()
      else still.push(each)
    }
    if (still.length > 0) this.#waiting = this.#waiting === nobody ? still : [...still, ...this.#waiting]
  }

  /** Indexes of the calls that wait. */
  get waiting(): readonly number[] {
    if (this.#waiting.length === 0) return []
    const { slots } = this.#state
    return this.#waiting.filter((each) => each.slots === slots).map(({ index }) => index)
  }
}
