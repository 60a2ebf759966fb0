/**
 * Hooks between two records: when they are asked (an effect), and what their decision (`hook.decided`) changes (K1–K3).
 *
 * HK1 A decision that is recorded is not asked for again: what is wanted follows from the state.
 * HK2 Results are decided about one at a time, in call order, when their outcome counts.
 * - Before a turn ends hooks are asked only about ends that its own steps led to: a cancel, a deadline, a failure and a
 *   block are no question. They make a turn go on at most `mostGoneOn` times, and never past a limit.
 * - A message that is added and not `once` is appended to the transcript: requests still grow at their end (WN1).
 */
import { defined } from '../../../src/core/defined.js'
import { resultHookKey, stepHookKey, stopHookKey } from '../../../src/core/effect.js'
import type { HookEffect, Outcome } from '../../../src/core/effect.js'
import type { HookDecided } from '../../../src/core/records/hook.js'
import type { Message } from '../../../src/core/records/message.js'
import type { StopReason } from '../../../src/core/records/record.js'
import { stepRules } from '../../../src/core/records/rules.js'
import { withItem } from '../../../src/core/lists.js'
import { awaitsHook, finish, firstUndrained } from '../calls/slots.js'
import { stopAtLimit } from '../decide/limits.js'
import type { ThreadState, Turn } from '../state.js'
import { isTooLong } from './context.js'
import { addHidden } from './edits.js'
import { isStopped, wantLastAnswer } from './last-answer.js'
import { takeQueued, takeResults } from './results.js'
import { isFor } from './session.js'

type Decided = HookDecided & { readonly seq: number; readonly at: number }

const mostGoneOn = 8

const unasked: ReadonlySet<StopReason> = new Set(['failed', 'hook_blocked'])
const limits: ReadonlySet<StopReason> = new Set([
  'max_steps',
  'max_tool_calls',
  'max_tool_rounds',
  'max_tokens',
  'max_cost',
  'budget_spent',
  'max_session_turns',
  'session_failed',
])

/** The hooks that are to be asked now. */
export function nextHook(state: ThreadState): HookEffect | undefined {
  const { turn, slots, step, position } = state
  if (!turn) return undefined
  if (awaitsHook(firstUndrained(slots))) {
    const index = slots.drained
    return { kind: 'hook', key: resultHookKey(step, index), point: 'result', step, index }
  }
  const { hooks } = stepRules(turn)
  if (!hooks || slots.open > 0 || position.work !== 'thinking') return undefined
  if (turn.stop && isStopped(turn))
    return hooks.stop && turn.checked !== step && !unasked.has(turn.stop)
      ? { kind: 'hook', key: stopHookKey(turn.run, step), point: 'stop', step }
      : undefined
  const next = step + 1
  // What is too long is reduced first: hooks are shown what the model would read.
  return hooks.step && turn.ready !== next && !isTooLong(state)
    ? { kind: 'hook', key: stepHookKey(next), point: 'step', step: next }
    : undefined
}

/** Whether hooks may make a turn go on that is about to end. */
export function mayGoOn({ stop, goneOn }: Turn): boolean {
  return stop !== undefined && !unasked.has(stop) && !limits.has(stop) && goneOn < mostGoneOn
}

export function takeHooks(state: ThreadState, record: Decided): boolean {
  const wanted = nextHook(state)
  const { turn } = state
  if (!turn || turn.run !== record.run) return false
  if (wanted?.point !== record.point || wanted.step !== record.step || wanted.index !== record.index) return false
  if (record.point === 'result') return takeResult(state, record)
  if (record.point === 'stop') return takeStop(state, turn, record)
  turn.ready = record.step
  takeMessages(state, turn, record)
  if (!record.block) return true
  const isLast = turn.last !== undefined
  if (isLast) turn.last = 'given'
  turn.stop = record.block.reason
  turn.detail = record.block.detail
  if (!isLast) wantLastAnswer(state)
  return true
}

function takeMessages(state: ThreadState, turn: Turn, { add = [], hide = [], seq, at }: Decided): void {
  if (hide.length > 0) state.edits = addHidden(state.edits, hide, seq)
  const to = turn.session?.side
  for (const [number, { role, text, once }] of add.entries()) {
    const message: Message = { id: hookMessageId(seq, number), role, text, at, silent: true, ...defined({ to }) }
    if (once) turn.once = [...(turn.once ?? []), message]
    else state.transcript.items.push(message)
  }
}

/** What a new thread's model reads first. */
export function firstMessages(
  texts: readonly string[],
  { seq, at }: { readonly seq: number; readonly at: number },
): readonly Message[] {
  return texts.map((text, number) => ({ id: hookMessageId(seq, number), role: 'user', text, at, silent: true }))
}

/** Of the `number`-th message that hooks add with one record. */
const hookMessageId = (seq: number, number: number): string => `hook_${seq}_${number}`

const droppedText = '[the result was dropped]'

function takeResult(state: ThreadState, { outcome, text, dropped, at }: Decided): boolean {
  const { slots } = state
  const slot = firstUndrained(slots)
  if (!slot?.outcome) return false
  if (dropped) {
    slot.outcome = { ok: true, value: null }
    slot.text = droppedText
    slot.given = slot.given?.reference === undefined ? undefined : { reference: slot.given.reference }
  } else if (outcome || text !== undefined) {
    slot.outcome = outcome ?? withoutWhole(slot.outcome)
    slot.text = text
  }
  if (dropped || outcome || text !== undefined) slot.media = undefined
  finish(slots, slot)
  takeResults(state, at)
  return true
}

/** The rest of a long result reads as it was before its hooks. */
function withoutWhole(outcome: Outcome): Outcome {
  return outcome.ok ? { ok: true, value: outcome.value } : outcome
}

/** A message for the turn that came while hooks were asked keeps it going, as one that came with the last reply. */
function takeStop(state: ThreadState, turn: Turn, { goOn, step, seq, at }: Decided): boolean {
  turn.checked = step
  const isSteered = turn.stop === 'completed' && turn.output === undefined && hasMessageFor(state, turn)
  const goesOn = goOn !== undefined && mayGoOn(turn)
  if (!isSteered && !goesOn) return true
  const { stop, detail } = turn
  turn.stop = undefined
  turn.detail = undefined
  stopAtLimit(state)
  // What it would have ended with stands: nothing is left for another step.
  if (turn.stop) {
    turn.stop = stop
    turn.detail = detail
    return true
  }
  if (goesOn) {
    turn.goneOn++
    const to = turn.session?.side
    const message: Message = {
      id: hookMessageId(seq, 0),
      role: 'user',
      text: goOn,
      at,
      silent: true,
      ...defined({ to }),
    }
    state.queue = withItem(state.queue, { message, delivery: 'steer' })
  }
  takeQueued(state)
  return true
}

function hasMessageFor({ queue }: ThreadState, { session }: Turn): boolean {
  return queue.some(({ delivery, message }) => delivery === 'steer' && isFor(message, session))
}
