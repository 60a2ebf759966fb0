/**
 * Retained states: states of threads that were let go, as far as there is room, so that waking one of them folds
 * nothing again. Without them a host with more threads at work than it keeps awake would read each of them again, turn
 * for turn. Owns no thread.
 *
 * - A state has one user at a time: `take` removes it. Nothing changes a state while it is here.
 * - All of them together take about `maxBytes`; a state that is larger than a sixteenth of that is not retained. Where
 *   there is no room, every fourth takes the place of the oldest ones and the others are not retained: of more threads
 *   by turns than there is room for, some are found again, and not none.
 * - What leaves is handed to `dropped`, unless its tree was removed.
 * - It is a cache: a state is compared with the journal before it is used (`continueFrom`).
 */
import type { Woken } from '../journal/wake.js'
import { stateBytes } from './state-bytes.js'

const defaultMaxBytes = 32 * 1024 * 1024
const largestShare = 16
const admitted = 4

export class RetainedStates {
  readonly #states = new Map<string, { readonly woken: Woken; readonly bytes: number }>()
  readonly #maxBytes: number
  readonly #dropped: (woken: Woken) => void
  #bytes = 0
  #refused = 0

  constructor(dropped: (woken: Woken) => void = () => undefined, maxBytes = defaultMaxBytes) {
    this.#dropped = dropped
    this.#maxBytes = maxBytes
  }

  keep(woken: Woken): void {
    const { id } = woken.state
    this.take(id)
    const bytes = stateBytes(woken.state)
    if (!this.#admits(bytes)) return this.#dropped(woken)
    this.#states.set(id, { woken, bytes })
    this.#bytes += bytes
    for (const oldest of this.#states.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#drop(oldest)
    }
  }

  #admits(bytes: number): boolean {
    if (bytes > this.#maxBytes / largestShare) return false
    if (this.#bytes + bytes <= this.#maxBytes) return true
    this.#refused = (this.#refused + 1) % admitted
    return this.#refused === 0
  }

  #drop(id: string): void {
    const woken = this.take(id)
    if (woken) this.#dropped(woken)
  }

  /** The host closes. */
  dropAll(): void {
    for (const id of this.#states.keys()) this.#drop(id)
  }

  take(id: string): Woken | undefined {
    const state = this.#states.get(id)
    if (!state) return undefined
    this.#states.delete(id)
    this.#bytes -= state.bytes
    return state.woken
  }

  /** The tree was removed. */
  forget(root: string): void {
    for (const [id, { woken }] of this.#states) if (woken.state.path[0] === root) this.take(id)
  }
}
