/**
 * The budget of a thread (L2): what is left of it, and what is reserved for children. A child's budget is taken out of
 * its parent's by the record that calls it, and what is left of it comes back with the record of its report.
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

/** The three name the same kinds; a kind that they do not name is not limited. */
export interface BudgetAccount {
  left: Amounts
  reserved: Amounts
  /** By the thread and all below it, not reported yet. */
  spent: Amounts
}

export function openAccount(left: Amounts): BudgetAccount {
  return { left, reserved: nothingOf(left), spent: nothingOf(left) }
}

/** A message brings what its answer may cost. */
export function addGrant(state: ThreadState, grant: Amounts): void {
  const { budget } = state
  if (!budget) {
    state.budget = openAccount(grant)
    return
  }
  // A kind without a limit stays without one; once all is given back, only what the new grant names is limited.
  const names =
    isNothing(budget.left) && isNothing(budget.reserved)
      ? nothingOf(grant)
      : { ...nothingOf(grant), ...nothingOf(budget.left) }
  const zero = (amounts: Amounts): Amounts => changeAmounts(names, amounts)
  state.budget = {
    left: changeAmounts(zero(budget.left), grant),
    reserved: zero(budget.reserved),
    spent: zero(budget.spent),
  }
}

/** Not a call that is refused, and not the output of the turn. */
export function isCounted({ tool, refused }: RecordedCall): boolean {
  return !refused && tool !== 'response'
}

export function pay({ budget }: ThreadState, calls: readonly RecordedCall[], usage?: Usage): void {
  if (!budget) return
  const cost = usage ?? noUsage
  const amounts = {
    tokens: tokensOf(cost),
    nanoUsd: nanoUsdOf(cost.costUsd),
    toolCalls: calls.filter(isCounted).length,
    steps: usage ? 1 : 0,
  }
  budget.left = changeAmounts(budget.left, amounts, -1)
  budget.spent = changeAmounts(budget.spent, amounts)
}

export function reserve({ budget }: ThreadState, grant: Amounts): void {
  if (!budget) return
  budget.left = changeAmounts(budget.left, grant, -1)
  budget.reserved = changeAmounts(budget.reserved, grant)
}

/** A child reports what it spent and returns. */
export function takeBack({ budget }: ThreadState, { amounts = {}, returned = {} }: Spent): void {
  if (!budget) return
  budget.reserved = changeAmounts(changeAmounts(budget.reserved, amounts, -1), returned, -1)
  budget.left = changeAmounts(budget.left, returned)
  budget.spent = changeAmounts(budget.spent, amounts)
}

/** What goes with a report; `all`: no further answer is expected, so what is left is returned. */
export function reportOf({ budget }: ThreadState, all: boolean): Pick<Spent, 'amounts' | 'returned'> {
  return budget ? { amounts: budget.spent, ...(all && { returned: budget.left }) } : {}
}

export function applyReport({ budget }: ThreadState, { returned = {} }: Spent): void {
  if (!budget) return
  budget.left = changeAmounts(budget.left, returned, -1)
  budget.spent = nothingOf(budget.spent)
}

/** Something is left, or was spent and not reported. */
export function owesParent({ budget }: ThreadState): boolean {
  return budget !== undefined && !(isNothing(budget.left) && isNothing(budget.spent))
}

/** Without these a model cannot be asked. */
const vital = ['tokens', 'nanoUsd', 'steps'] as const

/** The first kind that is used up, by its public name. */
export function exhaustedKinds({ budget }: ThreadState): string | undefined {
  const kind = budget && vital.find((each) => (budget.left[each] ?? 1) <= 0)
  return kind === 'nanoUsd' ? 'costUsd' : kind
}

/** What a child gets: its own budget or a share; undefined where nothing is limited. */
export function grantFor(
  { budget }: ThreadState,
  { budget: own, maxParallel }: Pick<ChildCall, 'budget' | 'maxParallel'>,
): Amounts | 'wait' | 'spent' | undefined {
  if (!budget && !own) return undefined
  const left = budget?.left ?? {}
  const grant: { -readonly [Kind in keyof Amounts]: number } = { ...own }
  let waits = false
  for (const kind of budgetKinds) {
    const available = left[kind]
    if (available === undefined) continue
    const amount = own?.[kind] ?? Math.max(1, Math.floor(available / maxParallel))
    if (available < amount && (budget?.reserved[kind] ?? 0) > 0) waits = true
    grant[kind] = Math.max(0, Math.min(amount, available))
  }
  if (waits) return 'wait'
  if (vital.some((kind) => grant[kind] === 0)) return 'spent'
  return grant
}
