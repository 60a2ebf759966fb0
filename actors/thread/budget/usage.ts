/**
 * What a thread and all below it have spent (O2). A child tells its parent with every report what was spent since the
 * one before; the parent adds that to its own, so nobody ever has to ask a whole tree.
 *
 * - What a reply cost is in one place at every instant: with the thread that spent it until that is reported, then
 *   in the report's record, then with the parent. Nothing is counted twice, nothing is lost.
 */
import type { Outcome } from '../../../src/core/effect.js'
import type { FailureCode } from '../../../src/core/failure.js'
import type { Fact, ModelReplied, ReportSent, Spent } from '../../../src/core/records/record.js'
import { addByModel, addUsage, sumUsage } from '../../../src/core/usage.js'
import type { ModelUsage } from '../../../src/core/usage.js'
import { noItems } from '../../../src/core/lists.js'
import type { Slot } from '../calls/slots.js'
import { reportOf, applyReport, owesParent, pay, takeBack } from './budget.js'
import { hasEnded } from '../state.js'
import type { ThreadState } from '../state.js'

/** A reply was paid for. */
export function spend(
  state: ThreadState,
  { model, usage, calls }: Pick<ModelReplied, 'model' | 'usage' | 'calls'>,
): void {
  state.usage = addUsage(state.usage, usage)
  note(state, [{ model, ...usage }])
  pay(state, calls, usage)
}

/** A child reports what it and all below it have spent. */
export function addUsageBelow(state: ThreadState, spent: Spent | undefined): void {
  if (!spent) return
  const sum = sumUsage(spent.byModel)
  state.usageBelow = addUsage(state.usageBelow, sum)
  if (state.turn) state.turn.below = addUsage(state.turn.below, sum)
  note(state, spent.byModel)
  takeBack(state, spent)
  if (state.child) state.effects += spent.effects ?? 0
}

function note(state: ThreadState, usage: readonly ModelUsage[]): void {
  for (const each of usage) {
    if (each.inputTokens === 0 && each.outputTokens === 0 && each.costUsd === 0) continue
    state.byModel = addByModel(state.byModel, each)
    // A root reports to nobody.
    if (state.child) state.unreported = addByModel(state.unreported, each)
  }
}

/** A body that is known to have failed has done nothing; any other outcome has happened, or may have. */
const harmless: ReadonlySet<FailureCode> = new Set(['TOOL_THREW', 'TOOL_FAILED'])

/** Counts a call that has, or may have, done something to the world that cannot be done twice. */
export function noteEffect(state: ThreadState, { call, began }: Slot, outcome: Outcome): void {
  if (!state.child || !began || !call.sideEffect || call.idempotent) return
  if (outcome.ok || !harmless.has(outcome.failure.code)) state.effects++
}

/** What goes with a report; `all`: no further answer is expected, so what is left is returned. */
export function unreported(state: ThreadState, all: boolean): { readonly spent?: Spent } {
  const { unreported: byModel, budget, effects } = state
  return byModel.length === 0 && !budget && effects === 0
    ? {}
    : { spent: { byModel: [...byModel], ...reportOf(state, all), ...(effects > 0 && { effects }) } }
}

/** What the report says is no longer unreported. */
export function noteReport(state: ThreadState, { spent, over, to }: ReportSent): void {
  state.mailsToParent += to.length
  state.unreported = noItems
  state.effects = 0
  if (over) state.parentKnowsEnd = true
  applyReport(state, spent ?? { byModel: [] })
}

/**
 * A child at rest that has something to report although nobody waits: usage that came late from below, turns that
 * others began, its end.
 */
export function owesUsageReport(state: ThreadState): boolean {
  const { parent, child, turn, pendingReplies } = state
  if (!child || parent === undefined || turn || pendingReplies.length > 0) return false
  return state.unreported.length > 0 || owesParent(state) || (hasEnded(state) && !state.parentKnowsEnd)
}

export function dueUsageReport(state: ThreadState): Fact | undefined {
  if (!owesUsageReport(state)) return undefined
  const to = [{ thread: state.parent ?? '', quiet: true as const, unasked: true as const }]
  return {
    type: 'report.sent',
    run: '',
    to,
    outcome: { ok: true, value: null },
    ...(hasEnded(state) && { over: true }),
    ...unreported(state, true),
  }
}
