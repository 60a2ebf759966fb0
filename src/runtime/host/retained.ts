/**
 * Retained states: states of threads that were let go, as far as there is room, so that waking one of them folds
 * nothing again. Without them a host with more threads at work than it keeps awake would fold the whole history of
 * each, turn for turn. Owns no thread.
 *
 * - A state has one user at a time: `take` removes it. Nothing changes a state while it is here.
 * - All of them together take about `maxBytes`, and the oldest is dropped first; a state that is larger than a
 *   sixteenth of that is not retained.
 * - It is a cache: a state is compared with the journal before it is used (`continueFrom`).
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import { treeUsage } from '../../core/tree.js'
import type { Woken } from '../journal/wake.js'

const defaultMaxBytes = 64 * 1024 * 1024
const largestShare = 16

export class RetainedStates {
  readonly #states = new Map<string, { readonly woken: Woken; readonly bytes: number }>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  keep(woken: Woken): void {
    const { id } = woken.state
    this.take(id)
    const bytes = sizeOf(woken.state)
    if (bytes > this.#maxBytes / largestShare) return
    this.#states.set(id, { woken, bytes })
    this.#bytes += bytes
    for (const oldest of this.#states.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.take(oldest)
    }
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

/** About what one takes in memory, in bytes. */
const sizes = { state: 4_000, message: 250, call: 1_000, name: 200, child: 400, value: 1_000, accepted: 200 }

function sizeOf({ transcript, files, children, values, accepted }: ThreadState): number {
  let bytes =
    sizes.state +
    treeUsage(files).names * sizes.name +
    children.size * sizes.child +
    accepted.size * sizes.accepted +
    Object.keys(values).length * sizes.value
  for (const { text, reasoning, calls } of transcript.items)
    bytes += sizes.message + text.length + (reasoning?.length ?? 0) + (calls?.length ?? 0) * sizes.call
  return bytes
}
