/**
 * The purse of a thread that has a budget (L2): what is left of it, and what is reserved for children. A child's
 * budget is taken out of its parent's purse by the record that calls it, and what is left of it comes back with the
 * record of its report.
 *
 * BG1 What is spent, left, reserved and under way between two threads adds up to what the root was given, at every
 *     record.
 * BG2 Every end gives back: an answer, a failure, an end from outside, a message that was never taken.
 * - A child without a budget of its own gets a share: what is left, divided by the children that may work at once.
 *   With nothing left it waits while something is reserved that may come back; else it is not called.
 */
import { changeAmounts, isNothing, budgetKinds, nanoUsdOf, nothingOf, tokensOf } from '../../../src/core/budget.js'
import type { Amounts } from '../../../src/core/budget.js'
import type { ChildCall, RecordedCall, Spent } from '../../../src/core/records/record.js'
import { noUsage } from '../../../src/core/usage.js'
import type { Usage } from '../../../src/core/usage.js'
import type { ThreadState } from '../state.js'

/** Each names the same kinds. */
export interface BudgetAccount {
  left: Amounts
  reserved: Amounts
  /** By it and all below, and not reported yet. */
  spent: Amounts
}

export function openAccount(left: Amounts): BudgetAccount {
  return { left, reserved: nothingOf(left), spent: nothingOf(left) }
}

/** A message brings what its answer may cost. */
export function isGranted(state: ThreadState, grant: Amounts): void {
  const { budget: purse } = state
  if (!purse) {
    state.budget = openAccount(grant)
    return
  }
  // What it did not name before was not limited; what it does not name now is not either, when all else was given back.
  const names =
    isNothing(purse.left) && isNothing(purse.reserved)
      ? nothingOf(grant)
      : { ...nothingOf(grant), ...nothingOf(purse.left) }
  const zero = (amounts: Amounts): Amounts => changeAmounts(names, amounts)
  state.budget = {
    left: changeAmounts(zero(purse.left), grant),
    reserved: zero(purse.reserved),
    spent: zero(purse.spent),
  }
}

/** Not one that cannot be made, and not the turn's last word. */
export function isCounted({ tool, refused }: RecordedCall): boolean {
  return !refused && tool !== 'response'
}

export function pay({ budget: purse }: ThreadState, calls: readonly RecordedCall[], usage?: Usage): void {
  if (!purse) return
  const cost = usage ?? noUsage
  const amounts = {
    tokens: tokensOf(cost),
    nanoUsd: nanoUsdOf(cost.costUsd),
    toolCalls: calls.filter(isCounted).length,
    steps: usage ? 1 : 0,
  }
  purse.left = changeAmounts(purse.left, amounts, -1)
  purse.spent = changeAmounts(purse.spent, amounts)
}

export function reserve({ budget: purse }: ThreadState, grant: Amounts): void {
  if (!purse) return
  purse.left = changeAmounts(purse.left, grant, -1)
  purse.reserved = changeAmounts(purse.reserved, grant)
}

/** A child has told what it spent, and gives back. */
export function takeBack({ budget: purse }: ThreadState, { amounts = {}, returned = {} }: Spent): void {
  if (!purse) return
  purse.reserved = changeAmounts(changeAmounts(purse.reserved, amounts, -1), returned, -1)
  purse.left = changeAmounts(purse.left, returned)
  purse.spent = changeAmounts(purse.spent, amounts)
}

/** What goes with a report; `all`: nothing is expected of it any more. */
export function reportOf({ budget: purse }: ThreadState, all: boolean): Pick<Spent, 'amounts' | 'returned'> {
  return purse ? { amounts: purse.spent, ...(all && { returned: purse.left }) } : {}
}

export function applyReport({ budget: purse }: ThreadState, { returned = {} }: Spent): void {
  if (!purse) return
  purse.left = changeAmounts(purse.left, returned, -1)
  purse.spent = nothingOf(purse.spent)
}

/** There is something in it that its parent should have. */
export function owesParent({ budget: purse }: ThreadState): boolean {
  return purse !== undefined && !(isNothing(purse.left) && isNothing(purse.spent))
}

/** Without these a model cannot be asked. */
const vital = ['tokens', 'nanoUsd', 'steps'] as const

/** What is used up, if anything is. */
export function exhaustedKinds({ budget: purse }: ThreadState): string | undefined {
  const kind = purse && vital.find((each) => (purse.left[each] ?? 1) <= 0)
  return kind === 'nanoUsd' ? 'costUsd' : kind
}

/** What a child gets; undefined where nothing is limited. */
export function grantFor(
  { budget: purse }: ThreadState,
  { budget: own, maxParallel }: Pick<ChildCall, 'budget' | 'maxParallel'>,
): Amounts | 'wait' | 'spent' | undefined {
  if (!purse && !own) return undefined
  const left = purse?.left ?? {}
  const grant: { -readonly [Kind in keyof Amounts]: number } = { ...own }
  let waits = false
  for (const kind of budgetKinds) {
    const there = left[kind]
    if (there === undefined) continue
    const wanted = own?.[kind] ?? Math.max(1, Math.floor(there / maxParallel))
    if (there < wanted && (purse?.reserved[kind] ?? 0) > 0) waits = true
    grant[kind] = Math.max(0, Math.min(wanted, there))
  }
  if (waits) return 'wait'
  if (vital.some((kind) => grant[kind] === 0)) return 'spent'
  return grant
}
