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
import { broken, failure } from '../../src/core/failure.js'
import { callId, failureText, resultText } from '../../src/core/message.js'
import type { Message } from '../../src/core/message.js'
import type { MessageReceived, ModelReplied, StopReason, ThreadRecord, TurnEnded, TurnStarted } from '../../src/core/record.js'
import { addUsage, noUsage } from '../../src/core/usage.js'
import type { Signal } from './machine.js'
import { moveByTable } from './place.js'
import type { Move } from './place.js'
import { begin, createSlots, drain, fill, fillRest, firstHeld, hold } from './slots.js'
import type { ThreadState } from './state.js'

/** Reasons that end a turn while the model may still be speaking. */
const interrupted: ReadonlySet<StopReason> = new Set(['cancelled', 'failed', 'deadline', 'terminated'])

const dayMs = 24 * 60 * 60 * 1000

export function fold(state: ThreadState, record: ThreadRecord, move: Move = moveByTable): void {
  if (record.seq !== state.seq + 1) throw broken('FO4', `record ${record.seq} follows ${state.seq} in thread ${state.id}`)
  state.seq = record.seq
  state.updatedAt = record.at
  const changed = absorb(state, record)
  if (record.by !== undefined) remember(state, record.by, record)
  if (!changed) return
  const place = move(state.place, signalOf(state, record))
  if (place !== state.place || record.type !== 'call.returned') state.wants++
  state.place = place
}

/** Changes the data; false when the record was an answer that had already been given. */
function absorb(state: ThreadState, record: ThreadRecord): boolean {
  switch (record.type) {
    case 'thread.created':
      state.agent = record.agent
      state.path = record.path
      state.tags = record.tags
      state.createdAt = record.at
      if (record.parent !== undefined) state.parent = record.parent
      return true
    case 'message.received':
      return receive(state, record)
    case 'turn.started':
      return startTurn(state, record)
    case 'model.replied':
      return reply(state, record)
    case 'call.began':
      return record.step === state.step && begin(state.slots, record.index)
    case 'call.returned':
      if (record.step !== state.step || !fill(state.slots, record.index, record.outcome)) return false
      takeResults(state, record.at)
      // What waited behind a side effect is wanted now (TS2).
      if (state.slots.items[record.index]?.call.sideEffect) state.wants++
      return true
    case 'call.held':
      return record.step === state.step && hold(state.slots, record.index, record.why)
    case 'turn.ended':
      return endTurn(state, record)
    case 'thread.paused':
    case 'thread.resumed':
    case 'thread.ended':
    case 'thread.terminated':
      return true
  }
}

function signalOf(state: ThreadState, record: ThreadRecord): Signal {
  const { open, held } = state.slots
  const why = open === held ? firstHeld(state.slots) : undefined
  return {
    type: record.type,
    open,
    held,
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
  const { id, role, text, at, silent, delivery } = record
  const message: Message = { id, role, text, at, ...(silent && { silent }) }
  if (delivery === 'store' && !state.turn) state.transcript.items.push(message)
  else state.queue.push({ message, delivery })
  return true
}

function startTurn(state: ThreadState, record: TurnStarted & { readonly at: number }): boolean {
  const { run, at, deadlineAt } = record
  state.turn = { run, startedAt: at, steps: 0, usage: noUsage, ...(deadlineAt !== undefined && { deadlineAt }) }
  const own = state.queue.findIndex(({ message }) => message.id === run)
  for (const { message } of state.queue.splice(0, own + 1)) state.transcript.items.push(message)
  return true
}

function reply(state: ThreadState, record: ModelReplied & { readonly at: number }): boolean {
  const { turn } = state
  if (!turn || record.step !== state.step + 1) return false
  const { step, text, reasoning, calls, usage, at, stop } = record
  state.step = step
  turn.steps++
  turn.usage = addUsage(turn.usage, usage)
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
  state.slots = createSlots(calls)
  takeResults(state, at)
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
  drain(slots, ({ call }, index, outcome) => state.transcript.items.push(resultMessage(outcome, { step, index, tool: call.tool, at })))
  if (slots.open === 0) takeQueued(state)
}

export function resultMessage(outcome: Outcome, of: { step: number; index: number; tool: string; at: number }): Message {
  const call = callId(of.step, of.index)
  const about = { id: `result_${of.step}_${of.index}`, role: 'tool', call, tool: of.tool, at: of.at } as const
  return outcome.ok
    ? { ...about, text: resultText(outcome.value) }
    : { ...about, text: failureText(outcome.failure), failed: outcome.failure }
}

function takeQueued(state: ThreadState): void {
  if (state.queue.length === 0) return
  const rest = []
  for (const queued of state.queue) {
    if (queued.delivery === 'new_turn') rest.push(queued)
    else state.transcript.items.push(queued.message)
  }
  state.queue = rest
}

function endTurn(state: ThreadState, record: TurnEnded & { readonly at: number }): boolean {
  if (state.turn?.run !== record.run) return false
  const why = `the turn ended: ${record.reason}${record.detail ? ` (${record.detail})` : ''}`
  fillRest(state.slots, { ok: false, failure: failure('CANCELLED', `not finished: ${why}`) })
  takeResults(state, record.at)
  if (state.place.work === 'thinking' && interrupted.has(record.reason)) state.step++ // TS3
  state.lastTurn = { run: record.run, reason: record.reason, ...(record.failure && { failure: record.failure }) }
  delete state.turn
  return true
}
