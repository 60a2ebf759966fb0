/**
 * Call order: calls of a step that wait for their turn continue when every call before them is settled.
 */
import type { Slots } from '../../../actors/thread/calls/slots.js'
import type { ThreadState } from '../../../actors/thread/state.js'

interface WaitingCall {
  readonly slots: Slots
  readonly index: number
  readonly resume: () => void
}

/** Shared and never changed: in most threads no call waits. */
const none: WaitingCall[] = []

export class CallOrder {
  readonly #state: ThreadState
  #waiting = none

  constructor(state: ThreadState) {
    this.#state = state
  }

  /** Whether every call before this one is settled. */
  hasCome(index: number): boolean {
    return this.#state.slots.drained >= index
  }

  /** A call that ends while it waits is never resumed. */
  wait(index: number, resume: () => void): void {
    const call = { slots: this.#state.slots, index, resume }
    if (this.#waiting === none) this.#waiting = [call]
    else this.#waiting.push(call)
  }

  /** To be called after every record. */
  advance(): void {
    const before = this.#waiting
    if (before.length === 0) return
    this.#waiting = none
    const { slots, turn } = this.#state
    const still: WaitingCall[] = []
    for (const call of before) {
      // Its step has ended, or it was answered without its body: nobody waits for it any more.
      if (call.slots !== slots || !turn || call.slots.items[call.index]?.outcome) continue
      if (call.slots.drained >= call.index) call.resume()
      else still.push(call)
    }
    if (still.length > 0) this.#waiting = this.#waiting === none ? still : [...still, ...this.#waiting]
  }

  /** Indexes of the calls that wait. */
  get waiting(): readonly number[] {
    if (this.#waiting.length === 0) return []
    const { slots } = this.#state
    return this.#waiting.filter((call) => call.slots === slots).map(({ index }) => index)
  }
}
