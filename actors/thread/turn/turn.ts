/**
 * Turns and steps in the fold: how one begins, what a reply or queued calls open, and what its end leaves.
 */
import { defined } from '../../../src/core/defined.js'
import type { SideName } from '../../../src/core/records/message.js'
import type {
  Began,
  CallsMade,
  ModelReplied,
  RecordedCall,
  StopReason,
  TurnEnded,
  TurnStarted,
} from '../../../src/core/records/record.js'
import { addUsage, noUsage } from '../../../src/core/usage.js'
import { abandonCalls } from '../children/children.js'
import { detailOf, stopAtLimit } from '../decide/limits.js'
import { isCounted, pay } from '../budget/budget.js'
import { defer } from '../children/deferred.js'
import { cutOutcome, retryRequest, readQueued, stepMessage, takeResults } from './results.js'
import { createSession, endSide, isFor, noteVoice } from './session.js'
import { closeRest, createSlots } from '../calls/slots.js'
import { spend } from '../budget/usage.js'
import { hasEnded } from '../state.js'
import type { QueuedCall, ThreadState, Turn } from '../state.js'

/** Reasons that end a turn while the model may still be speaking. */
const interrupted: ReadonlySet<StopReason> = new Set(['cancelled', 'failed', 'deadline', 'terminated'])

export function startTurn(state: ThreadState, record: TurnStarted & { readonly at: number }): boolean {
  const { run, at, deadlineAt, limits, session } = record
  const own = state.queue.findIndex(({ message }) => message.id === run)
  const { transcript, lastTurn } = state
  // A turn that failed, or whose budget was spent, is tried again from where it began.
  const began = beganBy(state, run)
  const goesOn =
    own === -1 && (state.position.work === 'failed' || (began.by === 'resume' && lastTurn?.reason === 'budget_spent'))
  const from = goesOn && lastTurn ? lastTurn.from : transcript.skipped + transcript.items.length
  // Whoever waits for a child that does not stay waits for what it says last.
  if (state.child?.lasting === false)
    for (const owed of state.pendingReplies) if (owed.run !== undefined) owed.run = run
  state.turn = {
    run,
    startedAt: at,
    deadlineAt,
    began,
    from,
    steps: 0,
    usage: noUsage,
    calls: 0,
    limits,
    stop: undefined,
    detail: undefined,
    tally: undefined,
    attachments: undefined,
    session: session && createSession(session),
    text: '',
    finalOutcome: undefined,
    output: undefined,
    asked: 0,
    relaxed: undefined,
    callResults: undefined,
  }
  for (const { message } of state.queue.splice(0, own + 1)) readQueued(state, message)
  stopAtLimit(state)
  return true
}

function beganBy({ queue, queuedCalls }: ThreadState, run: string): Began {
  const own = queue.find(({ message }) => message.id === run)
  if (own) return own.from === undefined ? { by: 'message' } : { by: 'report', of: own.from }
  const call = queuedCalls.find((queued) => queued.run === run)
  if (!call) return { by: 'resume' }
  return { by: call.scheduled ? 'schedule' : 'call' }
}

export function reply(state: ThreadState, record: ModelReplied & { readonly at: number }): boolean {
  const { turn } = state
  if (!turn || record.step !== state.step + 1) return false
  const { step, text, calls, usage, at } = record
  beginStep(state, step, at)
  turn.steps++
  if (turn.session) turn.session.steps++
  turn.usage = addUsage(turn.usage, usage)
  turn.calls += calls.filter(isCounted).length
  if (text !== '') {
    turn.text = text
    turn.finalOutcome = undefined
  }
  const given = calls.find(({ tool, answered: output }) => tool === 'response' && output !== undefined)?.answered
  if (given !== undefined) turn.output = given
  if (record.relaxes !== undefined) turn.relaxed = record.relaxes
  noteVoice(state, record.side)
  nameChildren(state, record)
  spend(state, record)
  state.transcript.items.push(stepMessage(record))
  const again = retryRequest(record)
  if (again) {
    turn.asked++
    state.transcript.items.push(again)
  }
  end(turn, record, state)
  state.slots = createSlots(calls, at, record)
  takeResults(state, at)
  return true
}

function beginStep(state: ThreadState, step: number, at: number): void {
  state.step = step
  state.stepAt = at
}

/** References are never used twice; a child that cannot begin yet has one too. */
function nameChildren(
  state: ThreadState,
  { calls, at, side }: { readonly calls: readonly RecordedCall[]; readonly at: number; readonly side?: SideName },
): void {
  for (const { child, deferred } of calls) {
    const asked = deferred?.child ?? child
    if (asked?.create) state.childCounters[asked.agent] = countOf(state.childCounters, asked.agent) + 1
  }
  defer(state, calls, { at, ...defined({ side }) })
}

/** A step that no model asked for. */
export function makeCalls(
  state: ThreadState,
  { step, calls, at, stop, side, immediate }: CallsMade & { readonly at: number },
): boolean {
  if (!state.turn || step !== state.step + 1) return false
  beginStep(state, step, at)
  state.turn.steps++
  state.turn.calls += calls.filter(isCounted).length
  pay(state, calls)
  if (state.turn.session && state.turn.session.side === side) state.turn.session.steps++
  state.turn.stop = stop
  state.turn.detail = undefined
  if (!immediate) state.queuedCalls = []
  noteVoice(state, side)
  nameChildren(state, { calls, at, ...defined({ side }) })
  state.transcript.items.push(stepMessage({ step, at, text: '', calls, ...defined({ side }) }))
  state.slots = createSlots(calls, at, { ...defined({ side }) })
  takeResults(state, at)
  return true
}

/** A reply without calls is the last of its side's turn, unless someone has said something to it meanwhile. */
function end(
  turn: Turn,
  { calls, text, stop, goesOn, ends, asks, failure }: ModelReplied,
  { queue }: ThreadState,
): void {
  if (stop) {
    turn.stop = stop
    turn.detail = detailOf(turn, stop)
    if (failure) turn.finalOutcome = { failure }
  } else if (asks !== undefined) return
  else if (
    calls.length > 0 ||
    queue.some(({ delivery, message }) => delivery === 'steer' && isFor(message, turn.session))
  )
    return
  else if (ends) {
    turn.stop = ends
    turn.detail = detailOf(turn, ends)
  } else if (text === '') turn.stop = 'empty_reply'
  else if (!goesOn) endSide(turn)
}

/** An agent may be called `constructor`. */
export function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0
}

export function endTurn(state: ThreadState, record: TurnEnded & { readonly at: number }): boolean {
  if (state.turn?.run !== record.run) return false
  abandonCalls(state)
  closeRest(state.slots, cutOutcome(record))
  takeResults(state, record.at, true)
  if (state.position.work === 'thinking' && interrupted.has(record.reason)) state.step++ // TS3
  const { text, output, callResults: given, from, session, began } = state.turn
  const { run, reason, failure, detail, attachments } = record
  state.lastTurn = {
    run,
    from,
    reason,
    text,
    ...defined({ output, given, failure, detail: detail || undefined, attachments }),
    ...(session && { side: session.side }),
  }
  state.turn = undefined
  tellUnasked(state, { run, began })
  // A call that someone asked for is made in a turn of its own; what bodies queued goes with their turn.
  state.queuedCalls = state.queuedCalls.flatMap((queued) =>
    queued.by !== undefined && outlives(queued, record.reason) ? [{ ...queued, run: queued.by, notBefore: 0 }] : [],
  )
  return true
}

/** S7: a child that stays and speaks by itself tells every turn, also one that nobody waits for. */
function tellUnasked(state: ThreadState, { run, began }: Pick<Turn, 'run' | 'began'>): void {
  const { child, parent, pendingReplies: owed } = state
  if (child?.reports !== 'implicit' || parent === undefined || hasEnded(state) || owed.some((each) => each.run === run))
    return
  owed.push({ thread: parent, message: run, run, began })
}

function outlives({ scheduled }: QueuedCall, reason: StopReason): boolean {
  return scheduled ? reason !== 'terminated' : !interrupted.has(reason)
}
