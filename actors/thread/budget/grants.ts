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
import { isGranted, reserve, exhaustedKinds } from './budget.js'
import { hasEnded, statusOf } from '../state.js'
import type { ThreadState } from '../state.js'

const names = { tokens: 'tokens', nanoUsd: 'costUsd', toolCalls: 'toolCalls', steps: 'steps' } as const

const listed = (all: readonly (keyof typeof names)[]): string => all.map((kind) => names[kind]).join(', ')

/** `again` goes on with the turn that ended. */
export function raiseBudget(state: ThreadState, command: Extract<Command, { kind: 'grant' }>, again: Fact): Decision {
  const { id, budget: purse } = state
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
  if (!purse) return refuse('COMMAND_REFUSED', `thread ${id} has no budget: nothing limits it`)
  const strange = budgetKinds.filter((kind) => amounts[kind] !== undefined && purse.left[kind] === undefined)
  if (strange.length > 0 && !inherited) {
    const known = budgetKinds.filter((kind) => purse.left[kind] !== undefined)
    return refuse(
      'COMMAND_REFUSED',
      `the budget of thread ${id} does not limit ${listed(strange)}; it limits: ${listed(known)}`,
    )
  }
  const given: Fact = {
    type: 'budget.granted',
    amounts,
    ...(inherited && { inherited: true as const }),
    ...defined({ grantedBy: by }),
  }
  return { facts: resume && isStoppedByBudget(state) ? [given, again] : [given] }
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
  if (child === undefined) isGranted(state, amounts)
  else reserve(state, amounts)
  return true
}

/** It rests, because nothing was left for the turn. */
function isStoppedByBudget({ turn, lastTurn, position: place }: ThreadState): boolean {
  return !turn && place.work === 'idle' && lastTurn?.reason === 'budget_spent'
}

/** Something is there again for it to go on. */
export function mayResume(state: ThreadState): boolean {
  return isStoppedByBudget(state) && exhaustedKinds(state) === undefined
}

/** What is said to whoever resumes it too early. */
export function needsGrant(state: ThreadState): Failure | undefined {
  const what = isStoppedByBudget(state) ? exhaustedKinds(state) : undefined
  if (what === undefined) return undefined
  return failure('BUDGET_SPENT', `thread ${state.id} has nothing left of ${what}: grant it more first, and it goes on`)
}

/** GT2: what comes with a grant that is refused. */
export function returnGrant(amounts: Amounts) {
  return { spent: { byModel: [], returned: amounts }, unasked: true as const }
}
