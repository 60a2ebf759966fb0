/**
 * One turn of a thread: what the projection of the thread says between its first record and its result.
 *
 * - A view holds what the turn needs and not its history: messages and calls that were told are let go.
 * - What a turn came to does not depend on what was before it, so the result needs no state to begin with.
 */
import { isAttempt } from '../../../actors/thread/children/supervision.js'
import { positionAt } from '../../../actors/thread/position.js'
import { createState } from '../../../actors/thread/state.js'
import type { Child, ThreadState } from '../../../actors/thread/state.js'
import { withKey } from '../../core/lists.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { noUsage } from '../../core/usage.js'
import { Projector, noChanges } from './projection.js'
import type { ProjectionChanges, RunResult } from './projection.js'

export class TurnView {
  readonly #begins: (record: ThreadRecord) => boolean
  #projector: Projector | undefined
  /** The state from before the turn is there. */
  readonly #whole: boolean
  #begun = false

  /**
   * `begins`: whether a record is the first of the turn. `before`: the state before the first record that is taken.
   * Without one only the result is right.
   */
  constructor(begins: (record: ThreadRecord) => boolean, before?: ThreadState) {
    this.#begins = begins
    this.#whole = before !== undefined
    if (before) this.#projector = new Projector(before, { keepMessages: false })
  }

  take(record: ThreadRecord): ProjectionChanges {
    if (this.#begins(record)) {
      this.#begun = true
      this.#projector ??= new Projector(emptyBefore(record), { keepMessages: false, resultOnly: true })
    }
    if (this.#projector && !this.#whole) fillIn(this.#projector.state, record)
    const changes = this.#projector?.take(record)
    if (changes && this.#begun) return changes
    return endsThread(record) ? { ...noChanges, result: neverBegun } : noChanges
  }
}

/** The message was never read: the thread has ended. */
export const neverBegun: RunResult = {
  text: '',
  stopReason: 'terminated',
  usage: noUsage,
  subtreeUsage: noUsage,
  steps: 0,
}

export function endsThread({ type }: { readonly type: string }): boolean {
  return type === 'thread.terminated' || type === 'thread.ended'
}

function emptyBefore({ seq }: ThreadRecord): ThreadState {
  return { ...createState(''), seq: seq - 1, position: positionAt('open', 'idle') }
}

/** What the state would have known from before: the number of the step, and who its children are. */
function fillIn(state: ThreadState, record: ThreadRecord): void {
  const isOfStep = record.type === 'model.replied' || record.type === 'calls.made' || record.type === 'context.reduced'
  if (isOfStep && state.step === 0) state.step = record.step - 1
  if (record.type !== 'child.reported') return
  const known = state.children.get(record.reference)
  // Of a child that was called before the turn it is not known that it is tried again, under another id.
  if (known && isAttempt(known, record.child)) return
  const child: Child = { id: record.child, agent: '', lasting: true, busy: 0 }
  state.children = withKey(state.children, record.reference, child)
  if (!known) state.living++
}
