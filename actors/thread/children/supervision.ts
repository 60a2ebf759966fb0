/**
 * Supervision (B5): a child that failed is restarted, as another thread, and the call that waits for it goes on
 * waiting. A crash of the process is no failure: the journal takes care of that.
 *
 * - Only a turn that failed is tried again; one that was ended from outside, or by its limits, is not.
 * - A child is tried again `maxRestarts` times within `withinMs`; then its failure is the answer, and it is kept as
 *   a dead letter.
 * - A child is not tried again when it, or a thread below it, has done or may have done something to the world that
 *   cannot be done twice.
 * - Another try is another thread: `<first id>_<attempt>`, with the same message, attachments and files.
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import type { Failure } from '../../../src/core/failure.js'
import type { ChildReported, ChildRestarted, Fact } from '../../../src/core/records/record.js'
import { withEntry, withItem } from '../../../src/core/lists.js'
import { startChild, startOf, termsFor } from './start.js'
import type { SupervisedCall } from './start.js'
import type { Child, ThreadState } from '../state.js'

/** A child that failed for good. */
export interface FailedChild {
  readonly charge: SupervisedCall
  readonly failure: Failure
  readonly at: number
}

/** Whether this thread is the child, in its present attempt or an earlier one. */
export function isAttempt({ id, first }: Child, thread: string): boolean {
  return id === thread || (first !== undefined && (thread === first || thread.startsWith(`${first}_`)))
}

/** Whether the child is tried again; else what its answer is. */
export function supervise(
  state: ThreadState,
  child: Child,
  report: ChildReported & { readonly at: number },
): 'again' | Outcome {
  const { outcome, failed, spent, reference, at, again = mayTryAgain(child.supervised, report, at) } = report
  const { supervised } = child
  if (!supervised) return outcome
  delete child.supervised
  if (outcome.ok || !failed) return outcome
  if (again) {
    child.supervised = { ...supervised, failures: recentFailures(supervised, at) }
    state.retries = withItem(state.retries, reference)
    return 'again'
  }
  const why = spent?.effects
    ? 'it is not tried again, because it has done something that cannot be done twice'
    : `it was tried ${supervised.attempt} times`
  const { failure } = outcome
  return keepDeadLetter(state, {
    charge: supervised,
    failure: { ...failure, message: `${failure.message}; ${why}` },
    at,
  })
}

export function mayTryAgain(
  supervised: SupervisedCall | undefined,
  { outcome, failed, spent }: Pick<ChildReported, 'outcome' | 'failed' | 'spent'>,
  at: number,
): boolean {
  if (!supervised || outcome.ok || !failed || spent?.effects) return false
  return recentFailures(supervised, at).length <= (supervised.call.supervision?.maxRestarts ?? 0)
}

/** Failures within the window, the one at this moment included. */
function recentFailures({ failures, call }: SupervisedCall, at: number): readonly number[] {
  const { withinMs = Infinity } = call.supervision ?? {}
  return [...failures, at].filter((when) => at - when < withinMs)
}

function keepDeadLetter(state: ThreadState, letter: FailedChild): Outcome {
  state.dead = withEntry(state.dead, letter.charge.call.reference, letter)
  return { ok: false, failure: letter.failure }
}

/** The next child that is restarted, when there is a place and something left in the budget for it. */
export function dueRestart(state: ThreadState): Fact | undefined {
  const { retries, children, position } = state
  const reference = retries[0]
  const supervised = reference === undefined ? undefined : children.get(reference)?.supervised
  if (reference === undefined || !supervised || position.gate !== 'open') return undefined
  const { call, attachments = [] } = supervised
  const terms = termsFor(state, call, { attachments, verb: 'tried again' })
  if (!terms) return undefined
  const attempt = supervised.attempt + 1
  const restarted = { type: 'child.restarted', reference, child: `${call.thread}_${attempt}`, attempt } as const
  return 'refused' in terms
    ? { ...restarted, refused: terms.refused }
    : { ...restarted, ...defined({ grant: terms.grant }) }
}

/** Undefined: the child was restarted; else its outcome. */
export function restart(state: ThreadState, record: ChildRestarted & { readonly at: number }): Outcome | undefined {
  const { reference, refused, at } = record
  const child = state.children.get(reference)
  const supervised = child?.supervised
  state.retries = state.retries.filter((each) => each !== reference)
  if (!child || !supervised) return undefined
  if (refused) {
    delete child.supervised
    return keepDeadLetter(state, { charge: supervised, failure: refused, at })
  }
  const start = startOf(state, record)
  if (start) startChild(state, start)
  return undefined
}

/** Children that are to be restarted and that nobody waits for any more are not. */
export function giveUp(state: ThreadState, isAbandoned: (supervised: SupervisedCall) => boolean): void {
  state.retries = state.retries.filter((reference) => {
    const child = state.children.get(reference)
    if (!child?.supervised || !isAbandoned(child.supervised)) return true
    delete child.supervised
    return false
  })
}

interface Letter {
  readonly reference: string
}

/** A dead letter is tried again: its answer comes as a message, the call that asked for it was answered long ago. */
export function letterRequeued(state: ThreadState, { reference }: Letter): boolean {
  const letter = state.dead[reference]
  const child = state.children.get(reference)
  if (!letter || !child) return false
  delete state.dead[reference]
  const { waits: _, ...supervised } = letter.charge
  child.supervised = { ...supervised, call: { ...supervised.call, blocking: false, reports: 'implicit' }, failures: [] }
  state.retries = withItem(state.retries, reference)
  return true
}

export function letterDropped(state: ThreadState, { reference }: Letter): boolean {
  delete state.dead[reference]
  return true
}
