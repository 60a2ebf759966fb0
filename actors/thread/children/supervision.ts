/**
 * Supervision (B5): a child that failed is called again, as another thread, and whoever waits for it goes on waiting.
 * A crash of the process is no failure: that is what journals are for.
 *
 * - Only a turn that failed is tried again; one that was ended by someone, or by its limits, is not.
 * - A child is tried again `maxRestarts` times within `withinMs`; then its failure is the answer, and it is kept as
 *   a dead letter.
 * - It is not tried again when that would pass over something that it, or anyone below it, has done to the world or
 *   may have done, and that cannot be done twice.
 * - Another try is another thread: `<first id>_<attempt>`, with the same message, attachments and files.
 */
import type { Outcome } from '../../../src/core/effect.js'
import type { Failure } from '../../../src/core/failure.js'
import type { ChildReported, ChildRestarted, Fact } from '../../../src/core/records/record.js'
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

/** UV1–UV3: whether it is called again; else what its answer is. */
export function supervise(
  state: ThreadState,
  child: Child,
  report: ChildReported & { readonly at: number },
): 'again' | Outcome {
  const { outcome, failed, spent, reference, at, again = mayTryAgain(child.supervised, report, at) } = report
  const { supervised: charge } = child
  if (!charge) return outcome
  delete child.supervised
  if (outcome.ok || !failed) return outcome
  if (again) {
    child.supervised = { ...charge, failures: recent(charge, at) }
    state.retries.push(reference)
    return 'again'
  }
  const why = spent?.effects
    ? 'it is not tried again, because it has done something that cannot be done twice'
    : `it was tried ${charge.attempt} times`
  return bury(state, { charge, failure: { ...outcome.failure, message: `${outcome.failure.message}; ${why}` }, at })
}

export function mayTryAgain(
  charge: SupervisedCall | undefined,
  { outcome, failed, spent }: Pick<ChildReported, 'outcome' | 'failed' | 'spent'>,
  at: number,
) {
  if (!charge || outcome.ok || !failed || spent?.effects) return false
  return recent(charge, at).length <= (charge.call.supervision?.maxRestarts ?? 0)
}

/** Its failures that count, with the one at this moment. */
function recent({ failures, call }: SupervisedCall, at: number): readonly number[] {
  const { withinMs = Infinity } = call.supervision ?? {}
  return [...failures, at].filter((when) => at - when < withinMs)
}

function bury({ dead }: ThreadState, letter: FailedChild): Outcome {
  dead[letter.charge.call.reference] = letter
  return { ok: false, failure: letter.failure }
}

/** The next one that is called again, when there is a place and something left for it. */
export function dueRestart(state: ThreadState): Fact | undefined {
  const { retries, children, position: place } = state
  const [reference] = retries
  const charge = reference === undefined ? undefined : children.get(reference)?.supervised
  if (reference === undefined || !charge || place.gate !== 'open') return undefined
  const terms = termsFor(state, charge.call, { kept: charge.attachments ?? [], verb: 'tried again' })
  if (!terms) return undefined
  const attempt = charge.attempt + 1
  const again = { type: 'child.restarted', reference, child: `${charge.call.thread}_${attempt}`, attempt } as const
  return 'refused' in terms
    ? { ...again, refused: terms.refused }
    : { ...again, ...(terms.grant && { grant: terms.grant }) }
}

/** Gives the outcome of one that is not called again after all. */
export function childRestarted(
  state: ThreadState,
  record: ChildRestarted & { readonly at: number },
): Outcome | undefined {
  const { reference, refused, at } = record
  const child = state.children.get(reference)
  const charge = child?.supervised
  state.retries = state.retries.filter((each) => each !== reference)
  if (!child || !charge) return undefined
  if (refused) {
    delete child.supervised
    return bury(state, { charge, failure: refused, at })
  }
  const begun = startOf(state, record)
  if (begun) startChild(state, begun)
  return undefined
}

/** Nobody waits for these any more. */
export function giveUp(state: ThreadState, isMeant: (charge: SupervisedCall) => boolean): void {
  state.retries = state.retries.filter((reference) => {
    const child = state.children.get(reference)
    if (!child?.supervised || !isMeant(child.supervised)) return true
    delete child.supervised
    return false
  })
}

/** A dead letter is tried again: its answer comes as a message, the call that asked for it was answered long ago. */
export function requeued(state: ThreadState, reference: string): boolean {
  const letter = state.dead[reference]
  const child = state.children.get(reference)
  if (!letter || !child) return false
  delete state.dead[reference]
  const { waits: _, ...charge } = letter.charge
  child.supervised = { ...charge, call: { ...charge.call, blocking: false, reports: 'implicit' }, failures: [] }
  state.retries.push(reference)
  return true
}
