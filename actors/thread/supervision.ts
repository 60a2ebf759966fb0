/**
 * Supervision (B5): a child that failed is called again, as another thread, and whoever waits for it goes on waiting. A crash
 * of the process is no failure: that is what journals are for.
 *
 * UV1 Only a turn that failed is tried again; one that was ended by someone, or by its limits, is not.
 * UV2 A child is tried again `maxRestarts` times within `withinMs`; then its failure is the answer, and it is kept as a dead letter.
 * UV3 It is not tried again when that would pass over something that it, or anyone below it, has done to the world or may
 *     have done, and that cannot be done twice.
 * UV4 Another try is another thread: `<first id>_<attempt>`, with the same message, attachments and files.
 */
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import type { ChildCall, ChildReported, ChildRestarted, Fact } from '../../src/core/record.js'
import type { FrozenTree } from '../../src/core/tree.js'
import { grantFor, reserve } from './purse.js'
import type { Child, ThreadState } from './state.js'

/** What a supervised child was asked, while that is not answered. */
export interface Charge {
  readonly call: ChildCall
  readonly step: number
  readonly index: number
  readonly attachments?: FrozenTree
  readonly base?: FrozenTree
  readonly attempt: number
  /** When it failed. */
  readonly failures: readonly number[]
}

/** A child that failed for good. */
export interface DeadLetter {
  readonly charge: Charge
  readonly failure: Failure
  readonly at: number
}

/** Whether this thread is the child, in its present attempt or an earlier one. */
export function isAttempt({ id, first }: Child, thread: string): boolean {
  return id === thread || (first !== undefined && (thread === first || thread.startsWith(`${first}_`)))
}

/** UV1–UV3: whether it is called again; else what its answer is. */
export function supervise(state: ThreadState, child: Child, report: ChildReported & { readonly at: number }): 'again' | Outcome {
  const { outcome, failed, spent, reference, at } = report
  const { charge } = child
  if (!charge) return outcome
  delete child.charge
  if (outcome.ok || !failed) return outcome
  const { maxRestarts = 0, withinMs = Infinity } = charge.call.supervision ?? {}
  const failures = [...charge.failures, at].filter((when) => at - when < withinMs)
  if (failures.length <= maxRestarts && !spent?.effects) {
    child.charge = { ...charge, failures }
    state.retries.push(reference)
    return 'again'
  }
  const why = spent?.effects ? 'it is not tried again, because it has done something that cannot be done twice' : `it was tried ${charge.attempt} times`
  return bury(state, { charge, failure: { ...outcome.failure, message: `${outcome.failure.message}; ${why}` }, at })
}

function bury({ dead }: ThreadState, letter: DeadLetter): Outcome {
  dead[letter.charge.call.reference] = letter
  return { ok: false, failure: letter.failure }
}

/** The next one that is called again, when there is a place and something left for it. */
export function dueRestart(state: ThreadState): Fact | undefined {
  const { retries, children, working } = state
  const [reference] = retries
  const charge = reference === undefined ? undefined : children.get(reference)?.charge
  if (reference === undefined || !charge || state.place.gate !== 'open' || working >= charge.call.maxParallel) return undefined
  const grant = grantFor(state, charge.call)
  if (grant === 'wait') return undefined
  const attempt = charge.attempt + 1
  const restarted = { type: 'child.restarted', reference, child: `${charge.call.thread}_${attempt}`, attempt } as const
  if (grant === 'spent') return { ...restarted, refused: failure('BUDGET_SPENT', `${reference} was not tried again: nothing is left in the budget for it`) }
  return { ...restarted, ...(grant && { grant }) }
}

/** Gives the outcome of one that is not called again after all. */
export function childRestarted(state: ThreadState, { reference, child: id, attempt, grant, refused, at }: ChildRestarted & { readonly at: number }): Outcome | undefined {
  const child = state.children.get(reference)
  const charge = child?.charge
  state.retries = state.retries.filter((each) => each !== reference)
  if (!child || !charge) return undefined
  if (refused) {
    delete child.charge
    return bury(state, { charge, failure: refused, at })
  }
  if (grant) reserve(state, grant)
  child.first = charge.call.thread
  child.id = id
  child.charge = { ...charge, attempt }
  child.busy = 1
  state.working++
  if (child.over) state.living++
  delete child.over
  delete child.heard
  return undefined
}

/** Nobody waits for these any more. */
export function giveUp(state: ThreadState, isMeant: (charge: Charge) => boolean): void {
  state.retries = state.retries.filter((reference) => {
    const child = state.children.get(reference)
    if (!child?.charge || !isMeant(child.charge)) return true
    delete child.charge
    return false
  })
}

/** A dead letter is tried again: its answer comes as a message, the call that asked for it was answered long ago. */
export function requeued(state: ThreadState, reference: string): boolean {
  const letter = state.dead[reference]
  const child = state.children.get(reference)
  if (!letter || !child) return false
  delete state.dead[reference]
  child.charge = { ...letter.charge, call: { ...letter.charge.call, blocking: false, reports: 'implicit' }, failures: [] }
  state.retries.push(reference)
  return true
}
