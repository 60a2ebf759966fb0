/**
 * Due facts: what the state itself calls for, with nobody asking. A queued message starts a turn, a last answer ends
 * it, a child with a free place is called.
 *
 * CO4 What follows from the state alone is not part of a decision but of `due`: it is asked after every record and on
 *     waking, so a journal cut between any two records goes on the same way.
 * - `due` takes data. What only definitions know (`DueContext`) the host resolves before, and what is costly or draws
 *   random bytes only where `needsImmediateCalls` says so.
 */
import { defined } from '../../../src/core/defined.js'
import type { Fact, RecordedCall, TurnEnded } from '../../../src/core/records/record.js'
import { dueUsageReport } from '../budget/usage.js'
import { firstUndrained } from '../calls/slots.js'
import { dueOfChildren } from '../children/children.js'
import { dueDeferred } from '../children/deferred.js'
import { answerFiles, awaitsDescendants, dueReport } from '../children/reports.js'
import { dueRestart } from '../children/supervision.js'
import { turnEnded, turnStarted } from './decision.js'
import type { DecisionContext } from './decision.js'
import { withinLimit } from './limits.js'
import { someStartable } from '../outstanding.js'
import { verdictOf } from './policy.js'
import { hasEnded } from '../state.js'
import type { ThreadState, Turn } from '../state.js'
import { nextHook } from '../turn/hooks.js'
import { isStopped } from '../turn/last-answer.js'
import { hasSpoken, isFinal, stepsOf } from '../turn/session.js'
import { dueRewoundPause } from '../travel/restore.js'
import { dueRevertEnd } from '../travel/rewind.js'
import { dueHold } from '../variables.js'
import type { NeededVariables } from '../variables.js'

export interface DueContext extends DecisionContext {
  /** The host still starts effects: an intent without a start would look like an effect that may have happened. */
  readonly mayBegin: boolean
  /** Effects that may be under way at once: an intent is recorded only for one that can start. Default: any number. */
  readonly maxBegun?: number
  /** Steps of a turn, those without a model included. Default: any number. */
  readonly maxSteps?: number
  /** Undefined where no definition needs a variable. */
  readonly variables?: NeededVariables
  /** Calls of children that begin before the model is first asked; resolved where `needsImmediateCalls` says so. */
  readonly immediateCalls?: readonly RecordedCall[]
}

type DueFact = (state: ThreadState, context: DueContext) => Fact | undefined

/**
 * Tried in this order; the first fact is the one that is due. The order is the semantics: what others wait for comes
 * before what this thread does next, a child that was promised a place before one that is new, and the end of a turn
 * after all that could still happen in it.
 */
const always: readonly DueFact[] = [dueReport, dueDeferredChild, dueRestartedChild]
const withoutTurn: readonly DueFact[] = [
  dueRewoundPause,
  ...always,
  dueOfChildren,
  dueThreadEnd,
  dueTurn,
  dueUsageReport,
]
const duringCalls: readonly DueFact[] = [...always, dueTermination, dueRevertEnd, dueVariables, dueOfChildren, dueCall]
const beforeImmediateCalls: readonly DueFact[] = [...always, dueTermination, dueVariables]
const betweenSteps: readonly DueFact[] = [
  ...beforeImmediateCalls,
  dueRevertEnd,
  dueImmediateCalls,
  dueQueuedCalls,
  dueTurnEnd,
]

/** The fact that the state itself calls for, if any. */
export function due(state: ThreadState, context: DueContext): Fact | undefined {
  return state.seq === 0 ? undefined : firstOf(orderFor(state), state, context)
}

function orderFor({ turn, slots }: ThreadState): readonly DueFact[] {
  if (!turn) return withoutTurn
  return slots.open > 0 ? duringCalls : betweenSteps
}

function firstOf(facts: readonly DueFact[], state: ThreadState, context: DueContext): Fact | undefined {
  for (const dueFact of facts) {
    const fact = dueFact(state, context)
    if (fact) return fact
  }
  return undefined
}

/** Whether `due` would look at `immediateCalls` now; the first test fails at once in nearly every state. */
export function needsImmediateCalls(state: ThreadState, context: DueContext): boolean {
  return awaitsImmediateCalls(state) && firstOf(beforeImmediateCalls, state, context) === undefined
}

function dueDeferredChild(state: ThreadState): Fact | undefined {
  return hasEnded(state) ? undefined : dueDeferred(state)
}

function dueRestartedChild(state: ThreadState): Fact | undefined {
  return hasEnded(state) ? undefined : dueRestart(state)
}

/** The turn of a thread that was terminated. */
function dueTermination(state: ThreadState): Fact | undefined {
  const { turn, endedFor: detail } = state
  return turn && hasEnded(state) ? turnEnded(turn, { reason: 'terminated', ...defined({ detail }) }) : undefined
}

function dueVariables(state: ThreadState, { variables }: DueContext): Fact | undefined {
  return variables && dueHold(state, variables)
}

/**
 * The verdict on the call whose turn has come; else the next intent: what changes the world is announced first
 * (T10).
 */
function dueCall(state: ThreadState, { now, mayBegin, maxBegun = Infinity }: DueContext): Fact | undefined {
  const { step, slots, position } = state
  if (!slots.ordered && !firstUndrained(slots)?.landed) return undefined
  const verdict = verdictOf(state, now)
  if (verdict) return { type: 'call.settled', step, index: slots.drained, ...verdict }
  if (!mayBegin || position.gate !== 'open') return undefined
  let begun = 0
  let next = -1
  someStartable(state, (slot, index) => {
    if (!slot.call.sideEffect || slot.answer) return false
    if (slot.began) return ++begun >= maxBegun
    next = index
    return true
  })
  return next < 0 ? undefined : { type: 'call.began', step, index: next }
}

/** A child that does not stay ends with its answer. */
function dueThreadEnd(state: ThreadState): Fact | undefined {
  const { child, lastTurn, pendingReplies } = state
  if (!lastTurn || !child || child.lasting || hasEnded(state)) return undefined
  return pendingReplies.length === 0 && !awaitsDescendants(state) ? { type: 'thread.ended' } : undefined
}

function dueTurn(state: ThreadState, context: DueContext): Fact | undefined {
  if (hasEnded(state)) return undefined
  const message = state.queue.find(({ delivery }) => delivery !== 'store')
  if (message) return turnStarted(state, message.message.id, context)
  const [call] = state.queuedCalls
  return call && turnStarted(state, call.run, context)
}

/** The model is to be asked, and whoever it speaks for has not spoken here before. */
function awaitsImmediateCalls(state: ThreadState): boolean {
  const { turn, slots, position } = state
  if (!turn || turn.stop || turn.rewind || slots.open > 0 || position.work !== 'thinking') return false
  return !hasSpoken(state)
}

/** A step that no model asks for: children that begin by themselves. */
function dueImmediateCalls(state: ThreadState, { immediateCalls = [] }: DueContext): Fact | undefined {
  if (immediateCalls.length === 0 || !awaitsImmediateCalls(state)) return undefined
  const calls = withinLimit(state, immediateCalls)
  const side = state.turn?.session?.side
  return { type: 'calls.made', step: state.step + 1, calls, immediate: true, ...defined({ side }) }
}

/** A step that no model asks for: calls that were queued. */
function dueQueuedCalls(state: ThreadState, { maxSteps = Infinity }: DueContext): Fact | undefined {
  const { turn, queuedCalls, step, position } = state
  if (!turn || turn.rewind || position.work !== 'thinking' || isFinal(turn)) return undefined
  if (!queuedCalls.some(({ notBefore }) => notBefore <= step)) return undefined
  const queued = queuedCalls.map(({ call }) => call)
  const last = stepsOf(turn) + 1 >= maxSteps
  const side = turn.session && (queuedCalls.find((call) => call.side)?.side ?? turn.session.side)
  return {
    type: 'calls.made',
    step: step + 1,
    calls: withinLimit(state, queued),
    ...(last && { stop: 'max_steps' }),
    ...defined({ side }),
  }
}

function dueTurnEnd(state: ThreadState): Fact | undefined {
  const { turn } = state
  if (!turn?.stop || !isStopped(turn) || nextHook(state)) return undefined
  const { stop: reason, detail, finalOutcome } = turn
  return turnEnded(turn, { reason, ...defined({ detail }), ...finalOutcome, ...outputOf(turn), ...answerFiles(turn) })
}

/** Each of two sides has an output of its own, which the other has read: the turn has none. */
function outputOf({ output, session }: Turn): Pick<TurnEnded, 'output'> {
  return output === undefined || session ? {} : { output }
}
