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
import { nanoUsdOf, tokensOf } from '../../core/budget.js'
import { defined } from '../../core/defined.js'
import type { Failure } from '../../core/failure.js'
import { noEntries } from '../../core/lists.js'
import { callId } from '../../core/records/message.js'

type Writable<Type> = { -readonly [Field in keyof Type]: Type[Field] }

/** Fields are added one by one: a spread for each costs more than all of them. */
export function headOf(state: ThreadState): Head {
  const head: Writable<Head> = {
    agent: state.agent,
    status: statusReported(state),
    root: state.path[0] ?? state.id,
    path: state.path,
    tags: state.tags,
    rest: atRest(state),
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
  }
  const wakeAt = earliestWake(state)
  const reason = reasonOf(state)
  const dead = Object.keys(state.dead).length
  if (state.parent !== undefined) head.parent = state.parent
  if (state.child) nameChild(head, state, state.child.reference)
  if (wakeAt !== undefined) head.wakeAt = wakeAt
  if (reason !== undefined) head.reason = reason
  addPending(head, state)
  if (dead > 0) head.dead = dead
  addWork(head, state)
  return head
}

function reasonOf(state: ThreadState): string | undefined {
  const spent = spentBudget(state)
  return state.endedFor ?? state.pausedFor ?? (spent && `nothing is left of ${spent}`)
}

function addPending(head: Writable<Head>, state: ThreadState): void {
  const pending = pendingOf(state)
  if (pending.length > 0) head.pending = pending
  let unknown = 0
  for (const each of pending) if (each.unknown) unknown++
  for (const call in state.unknownEffects) if (Object.hasOwn(state.unknownEffects, call)) unknown++
  if (unknown > 0) head.unknown = unknown
}

/** What it is about, how far it is, and what it has used. */
function addWork(head: Writable<Head>, state: ThreadState): void {
  const { title, step, turn, lastTurn, budget, slots } = state
  if (title && title.text !== '') head.title = title.text
  if (step > 0) head.step = step
  if (turn) head.turnAt = turn.startedAt
  else if (lastTurn?.failure) head.error = errorText(lastTurn.failure)
  const queued = turn ? slots.open - slots.own - slots.sent : 0
  if (queued > 0) head.queued = queued
  if (state.queue.length > 0) head.unread = state.queue.length
  if (state.edits.length > 0) head.edits = state.edits.length
  if (state.lineage.from) head.forkedFrom = state.lineage.from
  if (state.lineage.rewound !== undefined) head.rewound = state.lineage.rewound
  if (budget) head.left = budget.left
  addUsed(head, state)
}

function addUsed(head: Writable<Head>, { usage, usageBelow }: ThreadState): void {
  const [tokens, nanoUsd] = [tokensOf(usage), nanoUsdOf(usage.costUsd)]
  const [below, belowUsd] = [tokensOf(usageBelow), nanoUsdOf(usageBelow.costUsd)]
  if (below > 0 || belowUsd > 0)
    head.usage = { tokens, nanoUsd, tree: { tokens: tokens + below, nanoUsd: nanoUsd + belowUsd } }
  else if (tokens > 0 || nanoUsd > 0) head.usage = { tokens, nanoUsd }
}

const errorLength = 80

function errorText({ code, message }: Failure): string {
  return `${code}: ${message.slice(0, errorLength).replace(/[\uD800-\uDBFF]$/, '')}`
}

/** A child as its parent and people know it. */
function nameChild(head: Writable<Head>, { tags, statusText: says }: ThreadState, reference: string): void {
  const name = tags.find((tag) => tag.startsWith('name:'))?.slice('name:'.length)
  head.reference = reference
  if (name !== undefined) head.name = name
  if (says !== undefined) head.says = says
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
  if (ofTurn === nothing && ofCalls === nothing) return ofChildren
  return [...ofTurn, ...ofCalls, ...ofChildren]
}

function variablesOfChildren({ requests }: ThreadState): readonly Pending[] {
  if (requests === noEntries) return nothing
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
