/**
 * The fold: one record changes the state. First the data, then the position.
 *
 * FO1 The fold reads no definition and runs no user code: equal records give an equal state, for ever.
 * FO2 A record that answers a step or a call already answered changes nothing but the sequence.
 * FO3 Results enter the transcript in call order, queued messages only between steps, so every call is
 *     followed by its results and nothing else (M2).
 * FO4 A record out of sequence is a bug, never a silent continue.
 * FO6 A record that stands on a past is folded with it; the past is folded as its own thread did.
 * FO5 A record of a type that this fold does not know is refused: skipping it would give another state than the one
 *     that wrote it had.
 */
import { defined } from '../../src/core/defined.js'
import { broken } from '../../src/core/failure.js'
import type { Message } from '../../src/core/records/message.js'
import type {
  MessageEdited,
  MessageReceived,
  RecordType,
  ThreadCreated,
  ThreadRecord,
} from '../../src/core/records/record.js'
import { pastKey } from '../../src/core/records/travel.js'
import type { Past } from '../../src/core/records/travel.js'
import { thawTree } from '../../src/core/tree.js'
import { withItem } from '../../src/core/lists.js'
import { withAttachments } from './children/attachments.js'
import { childCalled, childReported, childRestarted, childrenStopped } from './children/children.js'
import { absorbOfVariables } from './variables.js'
import {
  callAnswered,
  applyValueChanges,
  callDecided,
  callHeld,
  queueCall,
  callReturned,
  callSettled,
} from './calls/calls.js'
import { noteGrowth, reduceContext } from './turn/context.js'
import { addEdit } from './turn/edits.js'
import { firstMessages, takeHooks } from './turn/hooks.js'
import { endTurn, makeCalls, startTurn, takeReply } from './turn/turn.js'
import { applyGrant } from './budget/grants.js'
import { noteGate, endThread } from './decide/lifecycle.js'
import type { Signal } from './signal.js'
import { moveByTable } from './position.js'
import type { Move } from './position.js'
import { isStuck } from './outstanding.js'
import { addGrant, openAccount } from './budget/budget.js'
import { absorbOfRequests } from './children/deferred.js'
import { applyChildTold, applyParentTold, messagesWithdrawn, reportSent } from './children/reports.js'
import { readQueued, titleOf } from './turn/results.js'
import { begin, firstHeld, park, tried, unbegin } from './calls/slots.js'
import { effectResolved } from './turn/effect-resolution.js'
import { createState } from './state.js'
import type { ThreadState } from './state.js'
import { rebase } from './travel/rebase.js'
import { treeCopied } from './travel/copy.js'
import { leaveTurn, restore } from './travel/restore.js'
import { letterDropped, letterRequeued } from './children/supervision.js'

/** Records that change the outstanding effects only where they move the thread, or their absorber says so (TS2). */
const quiet: ReadonlySet<ThreadRecord['type']> = new Set([
  'call.returned',
  'call.settled',
  'call.parked',
  'child.told',
  'parent.told',
])

/** How long a repetition is recognised: of all commands, since a client may try each again, and of the last ones. */
const minutesMs = 2 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000
const mostAccepted = 256

export function fold(state: ThreadState, record: ThreadRecord, move: Move = moveByTable): void {
  if (record.seq !== state.seq + 1)
    throw broken('FO4', `record ${record.seq} follows ${state.seq} in thread ${state.id}`)
  state.seq = record.seq
  state.updatedAt = record.at
  const known = state.transcript.items.length
  const changed = absorb(record.type, state, record)
  if (!(pastKey in record)) noteGrowth(state, known)
  if (record.by !== undefined) remember(state, record.by, record)
  if (!changed) return
  const moved = move(state.position, signalOf(state, record))
  if (moved !== state.position || !quiet.has(record.type)) state.effectsEpoch++
  state.position = moved
}

type RecordByType = { readonly [Each in ThreadRecord as Each['type']]: Each }

/** Changes the data; false when the record was an answer that had already been given (FO2). */
type Absorb<Of extends RecordType> = (state: ThreadState, record: RecordByType[Of]) => boolean

const absorbers: { readonly [Of in RecordType]: Absorb<Of> } = {
  'thread.created': create,
  'thread.based': (state, record) => rebase(state, foldPast(pastOf(state, record)), record),
  'thread.rewound': (state, record) => restore(state, foldOnce(pastOf(state, record), record.at), record),
  'tree.copied': treeCopied,
  'message.received': receive,
  'message.edited': edit,
  'messages.withdrawn': messagesWithdrawn,
  'turn.started': startTurn,
  'model.replied': takeReply,
  'context.reduced': reduceContext,
  'calls.made': makeCalls,
  'turn.ended': endTurn,
  'hook.decided': takeHooks,

  'call.queued': queueCall,
  'call.began': ofStep<'call.began'>(({ slots }, record) => begin(slots, record)),
  'call.unbegun': ofStep<'call.unbegun'>(({ slots }, { index }) => unbegin(slots, index)),
  'call.tried': ofStep<'call.tried'>(({ slots }, record) => tried(slots, record)),
  'call.returned': ofStep<'call.returned'>(callReturned),
  'call.settled': ofStep<'call.settled'>(callSettled),
  'call.held': ofStep<'call.held'>(callHeld),
  'call.parked': ofStep<'call.parked'>(({ slots }, { index }) => park(slots, index)),
  'call.decided': ofStep<'call.decided'>(callDecided),
  'call.answered': ofStep<'call.answered'>(callAnswered),
  'effect.resolved': effectResolved,

  'child.called': ofStep<'child.called'>(childCalled),
  'child.reported': childReported,
  'child.restarted': childRestarted,
  'child.told': applyChildTold,
  'children.stopped': childrenStopped,
  'letter.requeued': letterRequeued,
  'letter.dropped': letterDropped,
  'report.sent': reportSent,
  'parent.told': applyParentTold,

  'env.changed': absorbOfVariables,
  'call.freed': absorbOfVariables,
  'turn.held': absorbOfVariables,
  'turn.freed': absorbOfVariables,
  'variables.provided': absorbOfRequests,
  'variables.declined': absorbOfRequests,
  'child.booted': absorbOfRequests,

  'thread.changed': (state, { changes, at }) => applyValueChanges(state, changes, at),
  'budget.granted': applyGrant,
  'thread.paused': noteGate,
  'thread.resumed': noteGate,
  'thread.ended': (state) => endThread(state),
  'thread.terminated': endThread,
}

// A record of type `constructor` is as unknown as any.
Object.setPrototypeOf(absorbers, null)

function absorb<Of extends RecordType>(type: Of, state: ThreadState, record: RecordByType[Of]): boolean {
  const absorber: Absorb<Of> | undefined = absorbers[type]
  if (!absorber)
    throw broken('FO5', `thread ${state.id}: this Skein does not know records of type ${JSON.stringify(type)}`)
  return absorber(state, record)
}

/** A record about a call of an earlier step changes nothing. */
function ofStep<Of extends OfStep>(absorbCall: Absorb<Of>): Absorb<Of> {
  return (state, record) => record.step === state.step && absorbCall(state, record)
}

/** Records about one call of a step. */
type OfStep = {
  [Of in RecordType]: RecordByType[Of] extends { readonly step: number; readonly index: number } ? Of : never
}[RecordType]

function create(state: ThreadState, record: ThreadCreated & { readonly at: number; readonly seq: number }): boolean {
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
  if (record.guard) state.lineage = { ...state.lineage, guard: record.guard }
  if (record.stored) state.transcript.items.push(...firstMessages(record.stored, record))
  return true
}

/** FO6: a record that stands on others was read together with them. */
function pastOf(
  state: ThreadState,
  { type, seq, [pastKey]: past }: { type: string; seq: number; [pastKey]?: Past },
): Past {
  if (!past) throw broken('FO6', `thread ${state.id}: the past that record ${seq} (${type}) stands on was not read`)
  return past
}

function foldPast({ thread, records }: Past): ThreadState {
  const state = createState(thread)
  for (const record of records) fold(state, record)
  return state
}

/** Threads that went back again and again stand on pasts in pasts: each is folded once for all that share it. */
const folded = new WeakMap<Past, ThreadState>()

function foldOnce(past: Past, at: number): ThreadState {
  const known = folded.get(past) ?? leaveTurn(foldPast(past), at)
  folded.set(past, known)
  return known
}

function signalOf(state: ThreadState, record: ThreadRecord): Signal {
  const { open } = state.slots
  const why = isStuck(state) ? firstHeld(state.slots) : undefined
  return {
    type: record.type,
    open,
    held: why ? open : 0,
    why,
    reason: reasonOf(state, record),
    stands: record.type === 'thread.based' ? standingOf(state) : undefined,
  }
}

function reasonOf({ lastTurn }: ThreadState, record: ThreadRecord): Signal['reason'] {
  if (record.type === 'thread.rewound') return isUnfinished(lastTurn) ? 'failed' : undefined
  return record.type === 'turn.ended' ? record.reason : undefined
}

/** A fork of a thread that has ended lives. */
function standingOf({ turn, lastTurn }: ThreadState): Signal['stands'] {
  if (!turn) return isUnfinished(lastTurn) ? 'failed' : 'idle'
  return turn.missingVariables ? 'waiting.variables' : undefined
}

function isUnfinished(lastTurn: ThreadState['lastTurn']): boolean {
  return lastTurn?.reason === 'failed' || lastTurn?.reason === 'rewound'
}

function remember(state: ThreadState, command: string, record: ThreadRecord): void {
  const run = state.accepted.get(command)?.run ?? ('run' in record ? record.run : undefined)
  state.accepted.set(command, { seq: record.seq, at: record.at, ...defined({ run }) })
  for (const [id, accepted] of state.accepted) {
    const age = record.at - accepted.at
    if (age < minutesMs || (age < dayMs && state.accepted.size <= mostAccepted)) return
    state.accepted.delete(id)
  }
}

function edit(state: ThreadState, { id, text, seq }: MessageEdited & { readonly seq: number }): boolean {
  state.edits = addEdit(state.edits, { id, ...defined({ text }), seq })
  if (state.title?.id === id) state.title = titleOf(id, text ?? '')
  return true
}

function receive(state: ThreadState, record: MessageReceived & { readonly at: number }): boolean {
  const { id, role, text, at, silent, delivery, replyTo } = record
  if (replyTo) state.pendingReplies = withItem(state.pendingReplies, { message: id, ...replyTo })
  if (record.grant) addGrant(state, record.grant)
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
  if (delivery === 'store' && !state.turn) readQueued(state, { message })
  else
    state.queue = withItem(state.queue, { message, delivery, ...defined({ rules: record.rules, trace: record.trace }) })
  return true
}
