/**
 * A thread's head: its entry in the index, derived from its state with every commit. The thread list and the inbox are
 * made of heads.
 */
import { spentBudget } from '../../../actors/thread/budget/grants.js'
import { atRest, earliestWake } from '../../../actors/thread/outstanding.js'
import type { Slot } from '../../../actors/thread/calls/slots.js'
import { statusReported } from '../../../actors/thread/children/reports.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Head, Pending } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { callId } from '../../core/records/message.js'

export function headOf(state: ThreadState): Head {
  const wake = earliestWake(state)
  const spent = spentBudget(state)
  const reason = state.endedFor ?? state.pausedFor ?? (spent && `nothing is left of ${spent}`)
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
    ...(state.child && nameOf(state, state.child)),
    ...defined({ wakeAt: wake }),
    ...defined({ reason }),
    ...withPending(state),
    ...withDead(state),
  }
}

function withDead({ dead }: ThreadState): Pick<Head, 'dead'> {
  const count = Object.keys(dead).length
  return count > 0 ? { dead: count } : {}
}

function withPending({ turn, slots, step, agent, requests }: ThreadState): Pick<Head, 'pending'> {
  const asked = Object.values(requests).flatMap(({ request, child, missing, tool, at, ready }): Pending[] =>
    ready
      ? []
      : [
          {
            call: request,
            why: 'variables',
            tool,
            args: { agent: child.agent, reference: child.reference },
            requestedAt: at,
            missing,
            request,
          },
        ],
  )
  if (!turn) return asked.length > 0 ? { pending: asked } : {}
  const waiting: Pending[] = turn.missingVariables
    ? [
        {
          call: 'turn',
          why: 'variables',
          tool: agent,
          args: null,
          requestedAt: turn.missingVariables.at,
          missing: turn.missingVariables.missing,
        },
      ]
    : []
  const calls =
    slots.held > slots.heldByChildren ? slots.items.flatMap((slot, index) => pendingOf(slot, callId(step, index))) : []
  const pending = [...waiting, ...calls, ...asked]
  return pending.length > 0 ? { pending } : {}
}

/** As its parent and people know it. */
function nameOf(
  { tags, statusText: says }: ThreadState,
  { reference }: { readonly reference: string },
): Pick<Head, 'reference' | 'name' | 'says'> {
  const tag = tags.find((each) => each.startsWith('name:'))
  return { reference, ...(tag !== undefined && { name: tag.slice('name:'.length) }), ...defined({ says }) }
}

function pendingOf({ hold, call, began }: Slot, id: string): Pending[] {
  if (!hold || hold.why === 'children') return []
  const { why, at, missing, prompt, defaults, deadlineAt, atDeadline } = hold
  return [
    {
      call: id,
      why,
      tool: call.tool,
      args: call.args,
      requestedAt: at,
      ...defined({ missing }),
      ...defined({ prompt }),
      ...defined({ defaults }),
      ...(deadlineAt !== undefined && { deadlineAt, ...defined({ atDeadline }) }),
      ...(began && why === 'approval' && { unknown: true as const }),
    },
  ]
}
