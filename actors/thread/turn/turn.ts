/** Turns and steps in the fold: how a turn begins, what a reply or queued calls open, and what its end leaves. */
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
import { ownTrace } from '../../../src/core/trace/trace.js'
import { addUsage, noUsage } from '../../../src/core/usage.js'
import { noItems, withEntry, withItem } from '../../../src/core/lists.js'
import { abandonCalls } from '../children/children.js'
import { detailOf, stopAtLimit } from '../decide/limits.js'
import { isCounted, pay } from '../budget/budget.js'
import { defer } from '../children/deferred.js'
import { cutOutcome, retryRequest, readQueued, stepMessage, takeResults } from './results.js'
import { noteRequestSize, openView, openViews } from './context.js'
import { createSession, endSide, isFor, isResumable, noteSpeaker } from './session.js'
import { closeRest, createSlots } from '../calls/slots.js'
import { spend } from '../budget/usage.js'
import { hasEnded } from '../state.js'
import type { QueuedCall, ThreadState, Turn } from '../state.js'

/** Reasons that end a turn while the model may still be speaking. */
const interrupted: ReadonlySet<StopReason> = new Set(['cancelled', 'failed', 'deadline', 'terminated'])

export function startTurn(state: ThreadState, record: TurnStarted & { readonly at: number }): boolean {
  const { run, at, deadlineAt, limits, session, rules, rewind } = record
  const own = state.queue.findIndex(({ message }) => message.id === run)
  const { transcript, lastTurn } = state
  // A turn that failed, or that has more to say, is resumed: its messages begin where that turn's did.
  const began = beganBy(state, run)
  const resumes =
    own === -1 && (state.position.work === 'failed' || (began.by === 'resume' && isResumable(lastTurn?.reason)))
  const from = resumes && lastTurn ? lastTurn.from : transcript.skipped + transcript.items.length
  // A child that does not stay answers with its last turn.
  if (state.child?.lasting === false)
    for (const reply of state.pendingReplies) if (reply.run !== undefined) reply.run = run
  state.turn = {
    run,
    startedAt: at,
    startedSeq: state.seq,
    deadlineAt,
    began,
    from,
    steps: 0,
    replies: 0,
    finish: undefined,
    rounds: 0,
    usage: noUsage,
    below: noUsage,
    calls: 0,
    limits,
    rules,
    messageRules: resumes ? lastTurn?.messageRules : undefined,
    recent: undefined,
    stop: undefined,
    detail: undefined,
    last: undefined,
    tally: undefined,
    attachments: undefined,
    session: session && createSession(session),
    text: '',
    finalOutcome: undefined,
    output: undefined,
    asked: 0,
    relaxed: undefined,
    ready: undefined,
    once: undefined,
    checked: undefined,
    goneOn: 0,
    callResults: undefined,
    rewind,
    trace: traceOfTurn(state, record, resumes),
  }
  openViews(state, rules)
  readFirst(state, own + 1)
  stopAtLimit(state)
  return true
}

function readFirst(state: ThreadState, count: number): void {
  const { queue } = state
  state.queue = queue.length > count ? queue.slice(count) : noItems
  for (const queued of queue.slice(0, count)) readQueued(state, queued)
}

/** The sender's; of a turn that is resumed, the one it had; else one of its own, where its host traces. */
function traceOfTurn(
  { id, path, queue, lastTurn }: ThreadState,
  { run, traced }: TurnStarted,
  resumes: boolean,
): string | undefined {
  const asked = queue.find(({ message }) => message.id === run)?.trace
  const before = resumes ? lastTurn?.trace : undefined
  return asked ?? before ?? (traced && ownTrace(path[0] ?? id, run))
}

function beganBy({ queue, queuedCalls }: ThreadState, run: string): Began {
  const own = queue.find(({ message }) => message.id === run)
  if (own) return own.from === undefined ? { by: 'message' } : { by: 'report', of: own.from }
  const call = queuedCalls.find((queued) => queued.run === run)
  if (!call) return { by: 'resume' }
  return { by: call.scheduled ? 'schedule' : 'call' }
}

export function takeReply(state: ThreadState, record: ModelReplied & { readonly at: number }): boolean {
  const { turn } = state
  if (!turn || record.step !== state.step + 1) return false
  const { step, text, calls, usage, at } = record
  noteRequestSize(state, usage)
  beginStep(state, step, at)
  turn.steps++
  turn.replies++
  turn.finish = record.finish
  turn.once = undefined
  if (calls.some(({ tool }) => tool !== 'response')) turn.rounds++
  if (turn.session) turn.session.steps++
  turn.usage = addUsage(turn.usage, usage)
  turn.calls += calls.filter(isCounted).length
  if (text !== '') {
    turn.text = text
    turn.finalOutcome = undefined
  }
  const output = calls.find(({ tool, answered }) => tool === 'response' && answered !== undefined)?.answered
  if (output !== undefined) turn.output = output
  if (record.relaxes !== undefined) turn.relaxed = record.relaxes
  if (record.rules) {
    turn.rules = { ...turn.rules, a: record.rules }
    openView(state, record.rules.context)
  }
  noteSpeaker(state, record.side)
  nameChildren(state, record)
  spend(state, record)
  state.transcript.items.push(stepMessage(record))
  const request = retryRequest(record)
  if (request) {
    turn.asked++
    state.transcript.items.push(request)
  }
  if (turn.last === 'wanted') turn.last = 'given'
  else stopAfterReply(turn, record, state)
  state.slots = createSlots(calls, at, record)
  takeResults(state, at)
  return true
}

function beginStep(state: ThreadState, step: number, at: number): void {
  state.step = step
  state.stepAt = at
}

/** Counts the children that calls create: references are never used twice, also by a child that is deferred. */
function nameChildren(
  state: ThreadState,
  { calls, at, side }: { readonly calls: readonly RecordedCall[]; readonly at: number; readonly side?: SideName },
): void {
  for (const { child, deferred } of calls) {
    const created = deferred?.child ?? child
    if (created?.create)
      state.childCounters = withEntry(
        state.childCounters,
        created.agent,
        countOf(state.childCounters, created.agent) + 1,
      )
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
  state.turn.last = undefined
  if (!immediate) state.queuedCalls = noItems
  noteSpeaker(state, side)
  nameChildren(state, { calls, at, ...defined({ side }) })
  state.transcript.items.push(stepMessage({ step, at, text: '', calls, ...defined({ side }) }))
  state.slots = createSlots(calls, at, { ...defined({ side }) })
  takeResults(state, at)
  return true
}

/** A reply without calls is the last of its side's turn, unless a message for it arrived meanwhile. */
function stopAfterReply(
  turn: Turn,
  { calls, text, stop, stopDetail, goesOn, ends, asks, failure }: ModelReplied,
  { queue }: ThreadState,
): void {
  if (stop) {
    turn.stop = stop
    turn.detail = stopDetail ?? detailOf(turn, stop)
    if (failure) turn.finalOutcome = { failure }
    return
  }
  if (asks !== undefined || calls.length > 0) return
  if (queue.some(({ delivery, message }) => delivery === 'steer' && isFor(message, turn.session))) return
  if (ends) {
    turn.stop = ends
    turn.detail = detailOf(turn, ends)
  } else if (text === '') turn.stop = 'empty_reply'
  else if (!goesOn) endSide(turn)
}

/** Own fields only: an agent may be called `constructor`. */
export function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0
}

export function endTurn(state: ThreadState, record: TurnEnded & { readonly at: number }): boolean {
  if (state.turn?.run !== record.run) return false
  abandonCalls(state)
  closeRest(state.slots, cutOutcome(record))
  takeResults(state, record.at, true)
  // TS3: a step that was asked for and never answered is spent, also one that hooks have decided about.
  const { text, output, callResults: given, from, session, began, messageRules, last, ready, trace } = state.turn
  const isBegun = interrupted.has(record.reason) || last === 'wanted' || ready === state.step + 1
  if (state.position.work === 'thinking' && isBegun) state.step++
  const { run, reason, failure, detail, attachments } = record
  state.lastTurn = {
    run,
    from,
    reason,
    text,
    ...defined({ output, given, failure, detail: detail || undefined, attachments, messageRules, trace }),
    ...(session && { side: session.side }),
  }
  state.turn = undefined
  reportByItself(state, { run, began })
  // A call that a command or schedule asked for is made in a turn of its own; calls of bodies end with this one.
  state.queuedCalls = state.queuedCalls.flatMap((queued) =>
    queued.by !== undefined && outlives(queued, record.reason) ? [{ ...queued, run: queued.by, notBefore: 0 }] : [],
  )
  return true
}

/** S7: a child that stays and reports implicitly reports every turn, also one that nobody waits for. */
function reportByItself(state: ThreadState, { run, began }: Pick<Turn, 'run' | 'began'>): void {
  const { child, parent, pendingReplies } = state
  if (child?.reports !== 'implicit' || parent === undefined || hasEnded(state)) return
  if (pendingReplies.some((reply) => reply.run === run)) return
  state.pendingReplies = withItem(pendingReplies, { thread: parent, message: run, run, began })
}

function outlives({ scheduled }: QueuedCall, reason: StopReason): boolean {
  return scheduled ? reason !== 'terminated' : !interrupted.has(reason)
}
