/**
 * The fold: one record changes the state. First the data, then the place.
 *
 * FO1 The fold reads no definition and runs no user code: equal records give an equal state, for ever.
 * FO2 A record that answers a step or a call already answered changes nothing but the sequence.
 * FO3 Results enter the transcript in call order, queued messages only between steps, so every call is
 *     followed by its results and nothing else (M2).
 * FO4 A record out of sequence is a bug, never a silent continue.
 */
import type { Outcome } from '../../src/core/effect.js'
import { broken } from '../../src/core/failure.js'
import { callId, failureText, resultText } from '../../src/core/message.js'
import type { Message } from '../../src/core/message.js'
import type { CallAnswered, CallDecided, CallHeld, ChildReported, CallSettled, CallsMade, Landed, MessageReceived, ModelReplied, StopReason, ThreadCreated, ThreadRecord, TurnEnded, TurnStarted } from '../../src/core/record.js'
import { place } from '../../src/core/attachments.js'
import { applyChanges, thawTree } from '../../src/core/tree.js'
import type { FrozenTree } from '../../src/core/tree.js'
import type { Changes } from '../../src/core/change.js'
import { addUsage, noUsage } from '../../src/core/usage.js'
import { abandon, abandonAll, childCalled, childReported } from './children.js'
import { cutOff, denied } from './denied.js'
import type { Signal } from './machine.js'
import { moveByTable } from './place.js'
import type { Move } from './place.js'
import { isStuck } from './outstanding.js'
import { count } from './policy.js'
import { begin, close, closeRest, createSlots, drain, edit, fill, firstHeld, hold, park, release, settle, unbegin } from './slots.js'
import type { Slot } from './slots.js'
import type { ThreadState } from './state.js'

/** Reasons that end a turn while the model may still be speaking. */
const interrupted: ReadonlySet<StopReason> = new Set(['cancelled', 'failed', 'deadline', 'terminated'])

/** Records that change what is wanted only where `absorb` says so, besides by moving the thread. */
const quiet: ReadonlySet<ThreadRecord['type']> = new Set(['call.returned', 'call.settled', 'call.parked'])

const dayMs = 24 * 60 * 60 * 1000

export function fold(state: ThreadState, record: ThreadRecord, move: Move = moveByTable): void {
  if (record.seq !== state.seq + 1) throw broken('FO4', `record ${record.seq} follows ${state.seq} in thread ${state.id}`)
  state.seq = record.seq
  state.updatedAt = record.at
  const changed = absorb(state, record)
  if (record.by !== undefined) remember(state, record.by, record)
  if (!changed) return
  const moved = move(state.place, signalOf(state, record))
  if (moved !== state.place || !quiet.has(record.type)) state.wants++
  state.place = moved
}

/** Changes the data; false when the record was an answer that had already been given. */
function absorb(state: ThreadState, record: ThreadRecord): boolean {
  switch (record.type) {
    case 'thread.created':
      return create(state, record)
    case 'message.received':
      return receive(state, record)
    case 'turn.started':
      return startTurn(state, record)
    case 'model.replied':
      return reply(state, record)
    case 'call.began':
      return record.step === state.step && begin(state.slots, record.index)
    case 'call.unbegun':
      return record.step === state.step && unbegin(state.slots, record.index)
    case 'call.returned':
      if (record.step !== state.step || !fill(state.slots, record.index, record)) return false
      takeResults(state, record.at)
      // What waited for its turn may be wanted now (TS2).
      if (state.slots.ordered) state.wants++
      return true
    case 'call.settled':
      return record.step === state.step && settled(state, record)
    case 'call.held':
      return record.step === state.step && held(state, record)
    case 'call.parked':
      return record.step === state.step && park(state.slots, record.index)
    case 'call.decided':
      return record.step === state.step && decided(state, record)
    case 'call.answered':
      return record.step === state.step && answered(state, record)
    case 'call.queued':
      state.queuedCalls.push({ call: record.call, run: record.run, notBefore: state.turn && state.place.work === 'thinking' ? state.step + 1 : 0, ...(record.by !== undefined && { by: record.by }) })
      return true
    case 'calls.made':
      return makeCalls(state, record)
    case 'child.called':
    case 'child.reported':
    case 'children.stopped':
    case 'report.sent':
      return absorbOfChildren(state, record)
    case 'thread.changed':
      change(state, record.changes, record.at)
      return true
    case 'turn.ended':
      return endTurn(state, record)
    case 'thread.paused':
    case 'thread.resumed':
      return true
    case 'thread.ended':
    case 'thread.terminated':
      abandonAll(state)
      return true
  }
}

type OfChildren = Extract<ThreadRecord, { readonly type: 'child.called' | 'child.reported' | 'children.stopped' | 'report.sent' }>

function absorbOfChildren(state: ThreadState, record: OfChildren): boolean {
  switch (record.type) {
    case 'child.called':
      if (record.step !== state.step || !childCalled(state, record)) return false
      takeResults(state, record.at)
      return true
    case 'child.reported':
      return reported(state, record)
    case 'children.stopped': {
      const told = new Set(record.children)
      state.toStop = state.toStop.filter(({ child }) => !told.has(child))
      return true
    }
    case 'report.sent':
      state.owed = state.owed.filter(({ run }) => run !== record.run)
      return true
  }
}

function create(state: ThreadState, record: ThreadCreated & { readonly at: number }): boolean {
  state.agent = record.agent
  state.path = record.path
  state.tags = record.tags
  state.createdAt = record.at
  if (record.parent !== undefined) state.parent = record.parent
  if (record.changes) change(state, record.changes, record.at)
  if (record.child) state.child = record.child
  if (record.tree) state.files = thawTree(record.tree)
  return true
}

function held({ slots }: ThreadState, { index, why, prompt, at }: CallHeld & { readonly at: number }): boolean {
  return hold(slots, index, { why, at, ...(prompt !== undefined && { prompt }) })
}

function signalOf(state: ThreadState, record: ThreadRecord): Signal {
  const { open } = state.slots
  const why = isStuck(state) ? firstHeld(state.slots) : undefined
  return {
    type: record.type,
    open,
    held: why ? open : 0,
    ...(why && { why }),
    ...(record.type === 'turn.ended' && { reason: record.reason }),
  }
}

function remember(state: ThreadState, command: string, record: ThreadRecord): void {
  const run = state.accepted.get(command)?.run ?? ('run' in record ? record.run : undefined)
  state.accepted.set(command, { seq: record.seq, at: record.at, ...(run !== undefined && { run }) })
  for (const [id, accepted] of state.accepted) {
    if (record.at - accepted.at < dayMs) return
    state.accepted.delete(id)
  }
}

function receive(state: ThreadState, record: MessageReceived & { readonly at: number }): boolean {
  const { id, role, text, at, silent, delivery, replyTo } = record
  if (replyTo) state.owed.push({ ...replyTo, run: record.run ?? id })
  const attachments = record.attachments && attach(state, record.attachments, at)
  const said = attachments ? `${text}\n\n[attached: ${attachments.join(', ')}]` : text
  const message: Message = { id, role, text: said, at, ...(silent && { silent }), ...(attachments && { attachments }) }
  if (delivery === 'store' && !state.turn) state.transcript.items.push(message)
  else state.queue.push({ message, delivery })
  return true
}

/** AH1: the paths at which they are now. */
function attach(state: ThreadState, frozen: FrozenTree, at: number): readonly string[] {
  const { changes, paths } = place(state.files, thawTree(frozen))
  state.files = applyChanges(state.files, changes, at)
  return paths
}

function startTurn(state: ThreadState, record: TurnStarted & { readonly at: number }): boolean {
  const { run, at, deadlineAt } = record
  state.turn = { run, startedAt: at, steps: 0, usage: noUsage, text: '', ...(deadlineAt !== undefined && { deadlineAt }) }
  const own = state.queue.findIndex(({ message }) => message.id === run)
  for (const { message } of state.queue.splice(0, own + 1)) state.transcript.items.push(message)
  return true
}

function reply(state: ThreadState, record: ModelReplied & { readonly at: number }): boolean {
  const { turn } = state
  if (!turn || record.step !== state.step + 1) return false
  const { step, text, reasoning, calls, usage, at, stop } = record
  state.step = step
  state.stepAt = at
  turn.steps++
  turn.usage = addUsage(turn.usage, usage)
  if (text !== '') turn.text = text
  const given = calls.find(({ tool, answered: output }) => tool === 'response' && output !== undefined)?.answered
  if (given !== undefined) turn.output = given
  for (const { child } of calls) if (child?.create) state.named[child.agent] = countOf(state.named, child.agent) + 1
  const ends = stop ?? endOf(record, state)
  if (ends) turn.stop = ends
  state.usage = addUsage(state.usage, usage)
  state.transcript.items.push({
    id: `step_${step}`,
    role: 'assistant',
    text,
    at,
    ...(reasoning !== undefined && { reasoning }),
    ...(calls.length > 0 && { calls: calls.map(({ tool, args }, index) => ({ id: callId(step, index), tool, args })) }),
  })
  state.slots = createSlots(calls, at)
  takeResults(state, at)
  return true
}

/** A step that no model asked for. */
function makeCalls(state: ThreadState, { step, calls, at, stop }: CallsMade & { readonly at: number }): boolean {
  if (!state.turn || step !== state.step + 1) return false
  state.step = step
  state.stepAt = at
  state.turn.steps++
  delete state.turn.stop
  if (stop) state.turn.stop = stop
  state.queuedCalls = []
  state.transcript.items.push({ id: `step_${step}`, role: 'assistant', text: '', at, calls: calls.map(({ tool, args }, index) => ({ id: callId(step, index), tool, args })) })
  state.slots = createSlots(calls, at)
  takeResults(state, at)
  return true
}

function settled(state: ThreadState, record: CallSettled & { readonly at: number }): boolean {
  const slot = state.slots.items[record.index]
  const verdict = settle(state.slots, record)
  if (!slot || !verdict) return false
  if (verdict.kept) keep(state, verdict.kept, record)
  if (record.verdict === 'kept' && state.turn) count(state.turn, slot, record.at)
  if (record.verdict === 'stale' || state.slots.ordered) state.wants++
  takeResults(state, record.at)
  return true
}

function keep(state: ThreadState, { changes, queued, messages }: Landed, { step, index }: CallSettled): void {
  if (changes) change(state, changes, state.stepAt)
  for (const call of queued ?? []) state.queuedCalls.push({ call, run: state.turn?.run ?? '', notBefore: 0 })
  messages?.forEach(({ text, silent }, number) => {
    const message: Message = { id: `said_${step}_${index}_${number}`, role: 'user', text, at: state.updatedAt, ...(silent && { silent }) }
    state.queue.push({ message, delivery: 'steer' })
  })
}

function change(state: ThreadState, { files, values }: Changes, at: number): void {
  if (files) state.files = applyChanges(state.files, files, at)
  for (const { key, value } of values ?? []) {
    const version = (state.values[key]?.version ?? 0) + 1
    state.values[key] = value === undefined ? { version } : { value, version }
  }
}

function answered({ slots }: ThreadState, { index, output }: CallAnswered): boolean {
  const slot = slots.items[index]
  if (!slot?.hold) return false
  release(slots, slot)
  slot.answer = { output }
  return true
}

function reported(state: ThreadState, record: ChildReported & { readonly at: number }): boolean {
  const how = childReported(state, record)
  if (how === 'answered') takeResults(state, record.at)
  return how !== 'unknown'
}

function decided(state: ThreadState, record: CallDecided): boolean {
  const { index, decision, call } = record
  const { slots } = state
  const slot = slots.items[index]
  if (!slot?.hold || slot.outcome) return false
  if (decision === 'reject') {
    close(slots, slot, denied(slot, record))
    takeResults(state, state.updatedAt)
    return true
  }
  release(slots, slot)
  if (call) edit(slots, slot, call)
  // What may have happened is done again as something new.
  delete slot.began
  return true
}

/** A reply without calls is the last of its turn, unless someone has said something meanwhile. */
function endOf({ calls, text }: ModelReplied, { queue }: ThreadState): StopReason | undefined {
  if (calls.length > 0 || queue.some(({ delivery }) => delivery === 'steer')) return undefined
  return text === '' ? 'empty_reply' : 'completed'
}

/** Moves finished results into the transcript; between two steps also what arrived meanwhile. */
function takeResults(state: ThreadState, at: number): void {
  const { slots, step } = state
  drain(slots, (slot, index, outcome) => {
    if (outcome.ok && outcome.whole && slot.verdict !== 'cached') {
      state.values[archiveKey(callId(step, index))] = { value: outcome.whole, version: 1 }
      state.archived++
    }
    state.transcript.items.push(resultMessage(slot, outcome, { step, index, at }))
  })
  if (slots.open === 0) takeQueued(state)
}

/** Where a thread keeps which blob holds the whole of a long result. */
const archiveKey = (call: string): string => `archive/${call}`

export function resultMessage({ call, text, verdict, edited }: Slot, outcome: Outcome, of: { step: number; index: number; at: number }): Message {
  const about = { id: `result_${of.step}_${of.index}`, role: 'tool', call: callId(of.step, of.index), tool: call.tool, at: of.at } as const
  const said = outcome.ok ? (text ?? resultText(outcome.value)) : failureText(outcome.failure)
  return {
    ...about,
    text: edited ? `(It was approved with other args: ${JSON.stringify(call.args)})\n${said}` : said,
    ...(!outcome.ok && { failed: outcome.failure }),
    ...(verdict === 'cached' && { fromCache: true as const }),
  }
}

/** An agent may be called `constructor`. */
export function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0
}

function takeQueued(state: ThreadState): void {
  if (state.queue.length === 0) return
  const rest = []
  for (const queued of state.queue) {
    // Nobody would answer in a turn that is about to end.
    if (queued.delivery === 'new_turn' || (queued.delivery === 'steer' && state.turn?.stop)) rest.push(queued)
    else state.transcript.items.push(queued.message)
  }
  state.queue = rest
}

function endTurn(state: ThreadState, record: TurnEnded & { readonly at: number }): boolean {
  if (state.turn?.run !== record.run) return false
  const { text, output } = state.turn
  abandon(state, state.slots)
  closeRest(state.slots, cutOff(record))
  takeResults(state, record.at)
  if (state.place.work === 'thinking' && interrupted.has(record.reason)) state.step++ // TS3
  state.lastTurn = { run: record.run, reason: record.reason, text, ...(output !== undefined && { output }), ...(record.failure && { failure: record.failure }) }
  delete state.turn
  // A call that someone asked for is made in a turn of its own; what bodies queued goes with their turn.
  state.queuedCalls = interrupted.has(record.reason) ? [] : state.queuedCalls.flatMap((queued) => (queued.by === undefined ? [] : [{ ...queued, run: queued.by, notBefore: 0 }]))
  return true
}
