/**
 * States of threads that were let go, folded as they were, as far as there is room: waking one of them folds nothing
 * again. Without it a host with more threads at work than it keeps awake would fold the whole history of each, turn
 * for turn. Owns no thread.
 *
 * - A state belongs to one at a time: what is taken is not here any more. Nothing here is changed.
 * - All of them together take about `mostBytes`, the one that was let go first goes first; one that is larger than
 *   a sixteenth of it is not kept.
 * - It is a cache: whoever takes a state compares it with the journal before it is used.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import { treeUsage } from '../../core/tree.js'
import type { Woken } from '../journal/wake.js'

const mostBytes = 64 * 1024 * 1024
const largestShare = 16

export class RetainedStates {
  readonly #states = new Map<string, { readonly woken: Woken; readonly bytes: number }>()
  readonly #most: number
  #bytes = 0

  constructor(most = mostBytes) {
    this.#most = most
  }

  keep(woken: Woken): void {
    const { id } = woken.state
    this.take(id)
    const bytes = weightOf(woken.state)
    if (bytes > this.#most / largestShare) return
    this.#states.set(id, { woken, bytes })
    this.#bytes += bytes
    for (const oldest of this.#states.keys()) {
      if (this.#bytes <= this.#most) return
      this.take(oldest)
    }
  }

  take(id: string): Woken | undefined {
    const kept = this.#states.get(id)
    if (!kept) return undefined
    this.#states.delete(id)
    this.#bytes -= kept.bytes
    return kept.woken
  }

  /** The tree is gone. */
  forget(root: string): void {
    for (const [id, { woken }] of this.#states) if (woken.state.path[0] === root) this.take(id)
  }
}

const each = { state: 4_000, message: 250, call: 1_000, name: 200, child: 400, value: 1_000, accepted: 200 }

/** About what it takes in memory. */
function weightOf({ transcript, files, children, values, accepted }: ThreadState): number {
  let bytes =
    each.state +
    treeUsage(files).names * each.name +
    children.size * each.child +
    accepted.size * each.accepted +
    Object.keys(values).length * each.value
  for (const { text, reasoning, calls } of transcript.items)
    bytes += each.message + text.length + (reasoning?.length ?? 0) + (calls?.length ?? 0) * each.call
  return bytes
}
