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
  /** Undefined when its turn has come already. A call that is ended while it waits is never told. */
  wait(index: number): Promise<void> | undefined
  /** To be asked after every record. */
  advance(): void
  /** Indexes of the calls that wait. */
  readonly waiting: readonly number[]
}

export function createTurns(state: ThreadState): Turns {
  let waiting: Waiting[] = []
  return {
    wait(index) {
      const { slots } = state
      if (slots.drained >= index) return undefined
      return new Promise((goOn) => void waiting.push({ slots, index, goOn }))
    },
    advance() {
      if (waiting.length === 0) return
      const before = waiting
      waiting = []
      for (const each of before) {
        if (each.slots !== state.slots) continue
        if (each.slots.drained >= each.index) each.goOn()
        else waiting.push(each)
      }
    },
    get waiting() {
      return waiting.filter(({ slots }) => slots === state.slots).map(({ index }) => index)
    },
  }
}
