/**
 * Calls that wait for their turn: they go on when every call before them is settled.
 */
import type { Slots } from '../../actors/thread/slots.js'
import type { ThreadState } from '../../actors/thread/state.js'

interface Waiting {
  readonly slots: Slots
  readonly index: number
  readonly goOn: () => void
}

export interface Turns {
  /** Whether its turn has come already. A call that is ended while it waits is never told. */
  hasCome(index: number): boolean
  wait(index: number, goOn: () => void): void
  /** To be asked after every record. */
  advance(): void
  /** Indexes of the calls that wait. */
  readonly waiting: readonly number[]
}

export function createTurns(state: ThreadState): Turns {
  let waiting: Waiting[] = []
  return {
    hasCome: (index) => state.slots.drained >= index,
    wait: (index, goOn) => void waiting.push({ slots: state.slots, index, goOn }),
    advance() {
      if (waiting.length === 0) return
      const before = waiting
      waiting = []
      for (const each of before) {
        // Its step is over, or it was answered without it: nobody wants it to go on.
        if (each.slots !== state.slots || !state.turn || each.slots.items[each.index]?.outcome) continue
        if (each.slots.drained >= each.index) each.goOn()
        else waiting.push(each)
      }
    },
    get waiting() {
      return waiting.filter(({ slots }) => slots === state.slots).map(({ index }) => index)
    },
  }
}
