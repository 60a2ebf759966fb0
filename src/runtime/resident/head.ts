/**
 * A thread's head: its entry in the index, derived from its state with every commit. The thread list and the inbox are
 * made of heads.
 */
import { spentBudget } from '../../../actors/thread/budget/grants.js'
import { atRest, earliestWake } from '../../../actors/thread/outstanding.js'
import type { Slot } from '../../../actors/thread/calls/slots.js'
import { statusReported } from '../../../actors/thread/children/reports.js'
import type { ThreadState, Turn } from '../../../actors/thread/state.js'
import type { Head, Pending } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { callId } from '../../core/records/message.js'

export function headOf(state: ThreadState): Head {
  const wakeAt = earliestWake(state)
  const spent = spentBudget(state)
  const reason = state.endedFor ?? state.pausedFor ?? (spent && `nothing is left of ${spent}`)
  const pending = pendingOf(state)
  const dead = Object.keys(state.dead).length
  const unknown = Object.keys(state.unknownEffects).length
  return {
    agent: state.agent,
    status: statusReported(state),
    root: state.path[0] ?? state.id,
    path: state.path,
    tags: state.tags,
    rest: atRest(state),
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    ...(state.parent !== undefined && { parent: state.parent }),
    ...(state.child && childName(state, state.child.reference)),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(reason !== undefined && { reason }),
    ...(pending.length > 0 && { pending }),
    ...(dead > 0 && { dead }),
    ...(unknown > 0 && { unknown }),
  }
}

/** A child as its parent and people know it. */
function childName(
  { tags, statusText: says }: ThreadState,
  reference: string,
): Pick<Head, 'reference' | 'name' | 'says'> {
  const name = tags.find((tag) => tag.startsWith('name:'))?.slice('name:'.length)
  return { reference, ...defined({ name, says }) }
}

const nothing: readonly Pending[] = []

/** All that a person is waited for, in this order: variables of the turn, calls, variables of children to come. */
function pendingOf(state: ThreadState): readonly Pending[] {
  const { turn, slots, step } = state
  const ofChildren = variablesOfChildren(state)
  if (!turn) return ofChildren
  const ofTurn = turn.missingVariables ? [variablesOfTurn(state, turn.missingVariables)] : nothing
  // Most commits are made while nothing is held: then no call is looked at.
  const ofCalls =
    slots.held > slots.heldByChildren
      ? slots.items.flatMap((slot, index) => heldCall(slot, callId(step, index)))
      : nothing
  return [...ofTurn, ...ofCalls, ...ofChildren]
}

function variablesOfChildren({ requests }: ThreadState): readonly Pending[] {
  return Object.values(requests).flatMap(({ request, child, missing, tool, at, ready }): Pending[] => {
    if (ready) return []
    const args = { agent: child.agent, reference: child.reference }
    return [{ call: request, why: 'variables', tool, args, requestedAt: at, missing, request }]
  })
}

function variablesOfTurn({ agent }: ThreadState, { at, missing }: NonNullable<Turn['missingVariables']>): Pending {
  return { call: 'turn', why: 'variables', tool: agent, args: null, requestedAt: at, missing }
}

function heldCall({ hold, call, began }: Slot, id: string): Pending[] {
  if (!hold || hold.why === 'children') return []
  const { why, at, missing, prompt, defaults, deadlineAt, atDeadline } = hold
  return [
    {
      call: id,
      why,
      tool: call.tool,
      args: call.args,
      requestedAt: at,
      ...defined({ missing, prompt, defaults }),
      ...(deadlineAt !== undefined && { deadlineAt, ...defined({ atDeadline }) }),
      ...(began && why === 'approval' && { unknown: true as const }),
    },
  ]
}
