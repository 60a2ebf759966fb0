/**
 * Budgets that are raised while a thread lives. What a root is given is added; what a child is given is reserved from
 * its parent, by the parent, and sent to it, as when it was called (BG1).
 *
 * - A kind that a budget does not name is not limited: it cannot be raised, and saying so is better than limiting it.
 * GT2 What a child cannot take any more goes back to its parent (BG2).
 * - A turn that ended because nothing was left goes on where it stood: by `resume`, by the next message, or with
 *   the grant itself.
 */
import { budgetKinds } from '../../../src/core/budget.js'
import type { Amounts } from '../../../src/core/budget.js'
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import type { BudgetGranted, Fact } from '../../../src/core/records/record.js'
import { refuse } from '../decide/decision.js'
import type { Decision } from '../decide/decision.js'
import { addGrant, reserve, exhaustedKinds } from './budget.js'
import { hasEnded, statusOf } from '../state.js'
import type { ThreadState } from '../state.js'

const names = { tokens: 'tokens', nanoUsd: 'costUsd', toolCalls: 'toolCalls', steps: 'steps' } as const

const listed = (all: readonly (keyof typeof names)[]): string => all.map((kind) => names[kind]).join(', ')

/** `again` starts a turn that takes up the one that ended, where it stood. */
export function raiseBudget(state: ThreadState, command: Extract<Command, { kind: 'grant' }>, again: Fact): Decision {
  const { id, budget } = state
  const { amounts, child, from, resume, by } = command
  const inherited = from !== undefined
  if (hasEnded(state))
    return refuse('COMMAND_REFUSED', `thread ${id} is ${statusOf(state)} and spends nothing any more`)
  if (child !== undefined) return toChild(state, { ...command, child })
  if (state.parent !== undefined && !inherited) {
    return refuse(
      'COMMAND_REFUSED',
      `thread ${id} is a child: what it gets is reserved from its parent ${state.parent}, so the grant is sent there`,
    )
  }
  if (!budget) return refuse('COMMAND_REFUSED', `thread ${id} has no budget: nothing limits it`)
  const unlimited = budgetKinds.filter((kind) => amounts[kind] !== undefined && budget.left[kind] === undefined)
  if (unlimited.length > 0 && !inherited) {
    const known = budgetKinds.filter((kind) => budget.left[kind] !== undefined)
    return refuse(
      'COMMAND_REFUSED',
      `the budget of thread ${id} does not limit ${listed(unlimited)}; it limits: ${listed(known)}`,
    )
  }
  const granted: Fact = {
    type: 'budget.granted',
    amounts,
    ...(inherited && { inherited: true as const }),
    ...defined({ grantedBy: by }),
  }
  return { facts: resume && isStoppedByBudget(state) ? [granted, again] : [granted] }
}

type OfChild = Extract<Command, { kind: 'grant' }> & { readonly child: string }

function toChild(state: ThreadState, { amounts, child, resume, by }: OfChild): Decision {
  const known = [...state.children.values()].find(({ id }) => id === child)
  if (!known || known.ended) return refuse('COMMAND_REFUSED', `thread ${state.id} has no child ${child} that lives`)
  const short = budgetKinds.filter((kind) => (amounts[kind] ?? 0) > (state.budget?.left[kind] ?? Infinity))
  if (short.length > 0) {
    const why =
      `it is reserved from the parent ${state.id}, which has not so much left of ${listed(short)}; ` +
      `grant that thread more first`
    return { refused: failure('BUDGET_SPENT', `nothing was granted: ${why}`) }
  }
  return { facts: [{ type: 'budget.granted', amounts, child, ...defined({ resume, grantedBy: by }) }] }
}

export function applyGrant(state: ThreadState, { amounts, child }: BudgetGranted): boolean {
  if (child === undefined) addGrant(state, amounts)
  else reserve(state, amounts)
  return true
}

/** The thread rests because nothing was left for its turn. */
export function isStoppedByBudget({ turn, lastTurn, position }: ThreadState): boolean {
  return !turn && position.work === 'idle' && lastTurn?.reason === 'budget_spent'
}

/** There is a budget again for the turn that ended without one. */
export function mayResume(state: ThreadState): boolean {
  return isStoppedByBudget(state) && exhaustedKinds(state) === undefined
}

/** What it has nothing left of, if it rests for that. */
export function spentBudget(state: ThreadState): string | undefined {
  return isStoppedByBudget(state) ? exhaustedKinds(state) : undefined
}

/** The refusal of a `resume` that comes before a grant. */
export function needsGrant(state: ThreadState): Failure | undefined {
  const what = spentBudget(state)
  if (what === undefined) return undefined
  return failure('BUDGET_SPENT', `thread ${state.id} has nothing left of ${what}: grant it more first, and it goes on`)
}

/** GT2: a grant that a child cannot take goes back to its parent, as part of a report. */
export function returnGrant(amounts: Amounts) {
  return { spent: { byModel: [], returned: amounts }, unasked: true as const }
}
