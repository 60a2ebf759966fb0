/**
 * The fold: one record changes the state. First the data, then the place.
 *
 * FO1 The fold reads no definition and runs no user code: equal records give an equal state, for ever.
 * FO2 A record that answers a step or a call already answered changes nothing but the sequence.
 * FO3 Results enter the transcript in call order, queued messages only between steps, so every call is
 *     followed by its results and nothing else (M2).
 * FO4 A record out of sequence is a bug, never a silent continue.
 * FO5 A record of a type that this fold does not know is refused: skipping it would give another state than the one
 *     that wrote it had.
 */
import { defined } from '../../src/core/defined.js'
import { broken } from '../../src/core/failure.js'
import type { Message } from '../../src/core/records/message.js'
import type { MessageEdited, MessageReceived, ThreadCreated, ThreadRecord } from '../../src/core/records/record.js'
import { thawTree } from '../../src/core/tree.js'
import { withAttachments } from './children/attachments.js'
import { childCalled, restartCall } from './children/children.js'
import { absorbOfVariables } from './variables.js'
import {
  callAnswered,
  applyValueChanges,
  callDecided,
  callHeld,
  queueCall,
  callReported,
  callSettled,
} from './calls/calls.js'
import { endTurn, makeCalls, reply, startTurn } from './turn/turn.js'
import { applyGrant } from './budget/grants.js'
import { noteGate, endThread } from './decide/lifecycle.js'
import type { Signal } from './machine.js'
import { moveByTable } from './position.js'
import type { Move } from './position.js'
import { isStuck } from './outstanding.js'
import { isGranted, openAccount } from './budget/budget.js'
import { absorbOfRequests } from './children/deferred.js'
import { applyChildTold, applyParentTold, messagesWithdrawn } from './children/reports.js'
import { readQueued, takeResults } from './turn/results.js'
import { begin, fill, firstHeld, park, tried, unbegin } from './calls/slots.js'
import { reportSent } from './budget/usage.js'
import type { ThreadState } from './state.js'
import { requeued } from './children/supervision.js'

/** Records that change what is wanted only where `absorb` says so, besides by moving the thread. */
const quiet: ReadonlySet<ThreadRecord['type']> = new Set([
  'call.returned',
  'call.settled',
  'call.parked',
  'child.told',
  'parent.told',
])

const dayMs = 24 * 60 * 60 * 1000

export function fold(state: ThreadState, record: ThreadRecord, move: Move = moveByTable): void {
  if (record.seq !== state.seq + 1)
    throw broken('FO4', `record ${record.seq} follows ${state.seq} in thread ${state.id}`)
  state.seq = record.seq
  state.updatedAt = record.at
  const changed = absorb(state, record)
  if (record.by !== undefined) remember(state, record.by, record)
  if (!changed) return
  const moved = move(state.position, signalOf(state, record))
  if (moved !== state.position || !quiet.has(record.type)) state.effectsEpoch++
  state.position = moved
}

/** Changes the data; false when the record was an answer that had already been given. */
function absorb(state: ThreadState, record: ThreadRecord): boolean {
  switch (record.type) {
    case 'thread.created':
      return create(state, record)
    case 'message.received':
    case 'message.edited':
      return record.type === 'message.received' ? receive(state, record) : edit(state, record)
    case 'turn.started':
      return startTurn(state, record)
    case 'model.replied':
      return reply(state, record)
    case 'call.began':
    case 'call.unbegun':
    case 'call.tried':
    case 'call.returned':
    case 'call.settled':
    case 'call.held':
    case 'call.parked':
    case 'call.decided':
    case 'call.answered':
      return record.step === state.step && absorbOfCall(state, record)
    case 'call.queued':
      return queueCall(state, record)
    case 'calls.made':
      return makeCalls(state, record)
    case 'child.called':
    case 'child.reported':
    case 'child.restarted':
    case 'letter.requeued':
    case 'letter.dropped':
    case 'child.told':
    case 'children.stopped':
    case 'report.sent':
    case 'parent.told':
    case 'messages.withdrawn':
      return absorbOfChildren(state, record)
    case 'thread.changed':
      return applyValueChanges(state, record.changes, record.at)
    case 'budget.granted':
      return applyGrant(state, record)
    case 'env.changed':
    case 'call.freed':
    case 'turn.held':
    case 'turn.freed':
      return absorbOfVariables(state, record)
    case 'variables.provided':
    case 'variables.declined':
    case 'child.booted':
      return absorbOfRequests(state, record)
    case 'turn.ended':
      return endTurn(state, record)
    case 'thread.paused':
    case 'thread.resumed':
    case 'thread.ended':
    case 'thread.terminated':
      return absorbOfLife(state, record)
    default:
      throw broken(
        'FO5',
        `thread ${state.id}: this Skein does not know records of type ${JSON.stringify(unknownType(record))}`,
      )
  }
}

function absorbOfLife(
  state: ThreadState,
  record: Extract<ThreadRecord, { readonly type: `thread.${'paused' | 'resumed' | 'ended' | 'terminated'}` }>,
): boolean {
  if (record.type === 'thread.paused' || record.type === 'thread.resumed') noteGate(state, record)
  else endThread(state, record.type === 'thread.terminated' ? record : undefined)
  return true
}

function unknownType(record: never): unknown {
  return Object.getOwnPropertyDescriptor(record, 'type')?.value
}

type OfCall = Extract<
  ThreadRecord,
  {
    readonly type:
      | 'call.began'
      | 'call.unbegun'
      | 'call.tried'
      | 'call.returned'
      | 'call.settled'
      | 'call.held'
      | 'call.parked'
      | 'call.decided'
      | 'call.answered'
  }
>

/** Of a call of the step. */
function absorbOfCall(state: ThreadState, record: OfCall): boolean {
  switch (record.type) {
    case 'call.began':
      return begin(state.slots, record)
    case 'call.unbegun':
      return unbegin(state.slots, record.index)
    case 'call.tried':
      return tried(state.slots, record)
    case 'call.returned':
      if (!fill(state.slots, record.index, record)) return false
      takeResults(state, record.at)
      // What waited for its turn may be wanted now (TS2).
      if (state.slots.ordered) state.effectsEpoch++
      return true
    case 'call.settled':
      return callSettled(state, record)
    case 'call.held':
      return callHeld(state, record)
    case 'call.parked':
      return park(state.slots, record.index)
    case 'call.decided':
      return callDecided(state, record)
    case 'call.answered':
      return callAnswered(state, record)
  }
}

type OfChildren = Extract<
  ThreadRecord,
  {
    readonly type:
      | 'child.called'
      | 'child.reported'
      | 'child.restarted'
      | 'letter.requeued'
      | 'letter.dropped'
      | 'child.told'
      | 'children.stopped'
      | 'report.sent'
      | 'parent.told'
      | 'messages.withdrawn'
  }
>

function absorbOfChildren(state: ThreadState, record: OfChildren): boolean {
  switch (record.type) {
    case 'child.called':
      if (record.step !== state.step || !childCalled(state, record)) return false
      takeResults(state, record.at)
      return true
    case 'child.reported':
      return callReported(state, record)
    case 'children.stopped': {
      const told = new Set(record.children)
      state.toStop = state.toStop.filter(({ child }) => !told.has(child))
      return true
    }
    case 'child.restarted':
      if (restartCall(state, record) === 'answered') takeResults(state, record.at)
      return true
    case 'letter.requeued':
      return requeued(state, record.reference)
    case 'letter.dropped':
      delete state.dead[record.reference]
      return true
    case 'child.told':
      return applyChildTold(state, record)
    case 'report.sent':
      // Those whose message was read in this turn; or, when it is over, those whose message never was.
      state.pendingReplies = state.pendingReplies.some(({ run }) => run === record.run)
        ? state.pendingReplies.filter(({ run }) => run !== record.run)
        : []
      reportSent(state, record)
      return true
    case 'parent.told':
      return applyParentTold(state, record)
    case 'messages.withdrawn':
      return messagesWithdrawn(state, record)
  }
}

function create(state: ThreadState, record: ThreadCreated & { readonly at: number }): boolean {
  state.agent = record.agent
  state.path = record.path
  state.tags = record.tags
  state.createdAt = record.at
  if (record.parent !== undefined) state.parent = record.parent
  if (record.changes) applyValueChanges(state, record.changes, record.at)
  if (record.child) state.child = record.child
  if (record.tree) state.files = thawTree(record.tree)
  if (record.env) state.env = record.env
  if (record.budget) state.budget = openAccount(record.budget)
  return true
}

function signalOf(state: ThreadState, record: ThreadRecord): Signal {
  const { open } = state.slots
  const why = isStuck(state) ? firstHeld(state.slots) : undefined
  return {
    type: record.type,
    open,
    held: why ? open : 0,
    why,
    reason: record.type === 'turn.ended' ? record.reason : undefined,
  }
}

function remember(state: ThreadState, command: string, record: ThreadRecord): void {
  const run = state.accepted.get(command)?.run ?? ('run' in record ? record.run : undefined)
  state.accepted.set(command, { seq: record.seq, at: record.at, ...defined({ run }) })
  for (const [id, accepted] of state.accepted) {
    if (record.at - accepted.at < dayMs) return
    state.accepted.delete(id)
  }
}

function edit(state: ThreadState, { id, text, seq }: MessageEdited & { readonly seq: number }): boolean {
  state.edits = [...state.edits.filter((other) => other.id !== id), { id, ...defined({ text }), seq }]
  return true
}

function receive(state: ThreadState, record: MessageReceived & { readonly at: number }): boolean {
  const { id, role, text, at, silent, delivery, replyTo } = record
  if (replyTo) state.pendingReplies.push({ message: id, ...replyTo })
  if (record.grant) isGranted(state, record.grant)
  const {
    text: said,
    attachments,
    media,
  } = withAttachments(state, {
    text,
    at,
    ...(record.attachments && { files: record.attachments }),
    ...(record.listed && { listed: record.listed }),
  })
  const message: Message = { id, role, text: said, at, ...defined({ silent, attachments, media }) }
  if (delivery === 'store' && !state.turn) readQueued(state, message)
  else state.queue.push({ message, delivery })
  return true
}
