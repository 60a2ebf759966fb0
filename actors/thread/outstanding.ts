/**
 * Outstanding work as a function of state: the keyed effects that a thread waits for. First start, the next step and
 * recovery after a crash all ask this one question.
 *
 * OU1 Pure: equal states want equal effects. A finished effect is never wanted again.
 * OU2 Calls are listed in call order.
 * OU3 A call with a side effect is a barrier: it waits for the calls before it, runs alone, and those behind it wait;
 *     one that commutes waits for its intent only. A call that waits for someone holds back later barriers alone (T3).
 */
import {
  callDeadlineKey,
  callKey,
  reductionKey,
  modelKey,
  scheduleKey,
  turnDeadlineKey,
} from '../../src/core/effect.js'
import type { Effect } from '../../src/core/effect.js'
import { noItems, withItem } from '../../src/core/lists.js'
import { firstSchedule, schedulesKey } from '../../src/core/records/schedule.js'
import type { Scheduled } from '../../src/core/records/schedule.js'
import { mayCall } from './children/children.js'
import { SpeculationGuard } from './decide/policy.js'
import { awaitsHook, awaitsVerdict, firstUndrained } from './calls/slots.js'
import type { Slot } from './calls/slots.js'
import { awaitsDescendants } from './children/reports.js'
import { owesUsageReport } from './budget/usage.js'
import { nextHook } from './turn/hooks.js'
import { hasEnded } from './state.js'
import type { ThreadState } from './state.js'
import { isTooLong } from './turn/context.js'
import { isStopped } from './turn/last-answer.js'
import { dueRestart } from './children/supervision.js'
import { rewindEffect } from './travel/rewind.js'

export function outstanding(state: ThreadState): readonly Effect[] {
  const effects = new EffectList()
  const { turn, position, step, slots } = state
  if (state.lineage.copying) effects.add({ kind: 'copy', key: 'copy' })
  const scheduled = nextSchedule(state)
  if (scheduled) effects.add({ kind: 'schedule', key: scheduleKey(scheduled.id), scheduled })
  if (!turn) {
    if (state.deleting && state.toStop.length === 0) effects.add({ kind: 'removal', key: 'removal' })
    return effects.items
  }
  if (turn.deadlineAt !== undefined)
    effects.add({ kind: 'deadline', key: turnDeadlineKey(turn.run), at: turn.deadlineAt })
  if (hasCallDeadlines(state))
    for (const { index, at } of callDeadlines(state))
      effects.add({ kind: 'deadline', key: callDeadlineKey(step, index), at })
  const hook = nextHook(state)
  if (hook) effects.add(hook)
  if (isStopped(turn) && slots.open === 0) return effects.items
  if (position.work !== 'thinking') addCalls(state, effects)
  else if (!hook) effects.add(rewindEffect(turn) ?? nextRequest(state))
  return effects.items
}

/** Most states want one effect, and a list that is pushed to makes room for 17. */
class EffectList {
  items: Effect[] = noItems

  add(effect: Effect): void {
    this.items = withItem(this.items, effect)
  }
}

function addCalls(state: ThreadState, effects: EffectList): void {
  const { step } = state
  someStartable(state, (slot, index) => {
    if (!slot.call.sideEffect || slot.began || slot.answer)
      effects.add({ kind: 'call', key: keyOf(slot, step, index), step, index, ...(slot.again && { again: true }) })
    return false
  })
}

/** The model is asked for the next step, once what it reads is short enough. */
function nextRequest(state: ThreadState): Effect {
  const step = state.step + 1
  return isTooLong(state)
    ? { kind: 'context', key: reductionKey(step), step }
    : { kind: 'model', key: modelKey(step), step }
}

/** Another run of a call is another effect: after a stale read, with an answer, to merge a child's files. */
function keyOf({ again, answer, join }: Slot, step: number, index: number): string {
  return `${callKey(step, index)}${again ? '/again' : ''}${answer ? '/answer' : ''}${join ? '/join' : ''}`
}

/**
 * Whether some call that nothing holds back is meant; they are asked about in call order (T3), as far as one is. A call
 * with a side effect still needs its intent (OU3: it is a barrier). `head`: the calls before it are settled.
 *
 * | the call                                      | starts when                                | those behind it     |
 * |-----------------------------------------------|--------------------------------------------|---------------------|
 * | a child answers it                            | head, and the child's files are to be      | may start           |
 * |                                               | merged                                     |                     |
 * | the state answers it (`asks`)                 | never: its verdict answers it              | may start           |
 * | has an outcome                                | never                                      | may start           |
 * | side effect, no outcome                       | head, not held                             | wait for it         |
 * | side effect, was held once (`passed`)         | head, not held                             | may start (barriers |
 * |                                               |                                            | wait: not head)     |
 * | side effect that commutes; no side effect     | head, not held; or not held, not `inTurn`, | may start           |
 * |                                               | not run before, and its policy cannot      |                     |
 * |                                               | prevent it after the calls before it       |                     |
 */
export function someStartable({ slots, turn }: ThreadState, isMeant: (slot: Slot, index: number) => boolean): boolean {
  if (slots.own === 0 && slots.joining === 0) return false
  const guard = new SpeculationGuard(turn)
  for (let index = slots.drained; index < slots.items.length; index++) {
    const slot = slots.items[index]
    if (!slot) return false
    if (isStartable(slot, index === slots.drained, guard) && isMeant(slot, index)) return true
    const { call } = slot
    if (call.child || call.asks) continue
    if (isBarrier(slot) && !slot.passed) return false
    guard.pass(call)
  }
  return false
}

function isStartable(slot: Slot, head: boolean, guard: SpeculationGuard): boolean {
  const { call } = slot
  if (call.child || call.asks) return head && awaitsMerge(slot)
  return isFree(slot) && (head || (mayRunAhead(slot) && guard.allows(call)))
}

/** The child that answers the call has reported, and its files are not merged yet. */
function awaitsMerge({ join, outcome }: Slot): boolean {
  return join !== undefined && !outcome
}

function isBarrier({ call, outcome }: Slot): boolean {
  return call.sideEffect === true && !call.commutes && !outcome
}

function isFree({ outcome, hold }: Slot): boolean {
  return !outcome && !hold
}

function mayRunAhead(slot: Slot): boolean {
  return !isBarrier(slot) && !slot.call.inTurn && !slot.again
}

/** No call can continue before someone has decided, answered or reported. */
export function isStuck(state: ThreadState): boolean {
  const { slots } = state
  if (slots.held === 0 && slots.open === slots.own) return false
  const head = firstUndrained(slots)
  if (head && (awaitsVerdict(head) || awaitsHook(head) || head.call.asks)) return false
  return !someStartable(state, (slot) => slot === head || !slot.parked)
}

function hasCallDeadlines({ slots }: ThreadState): boolean {
  return slots.deadlines && slots.held > 0
}

function* callDeadlines({ slots }: ThreadState): Generator<{ readonly index: number; readonly at: number }> {
  for (let index = slots.drained; index < slots.items.length; index++) {
    const at = slots.items[index]?.hold?.deadlineAt
    if (at !== undefined) yield { index, at }
  }
}

/** When the first deadline or schedule of the thread is due. */
export function earliestWake(state: ThreadState): number | undefined {
  const scheduled = nextSchedule(state)?.at
  if (!state.turn) return scheduled
  let earliest = Math.min(scheduled ?? Infinity, state.turn.deadlineAt ?? Infinity)
  if (hasCallDeadlines(state)) for (const { at } of callDeadlines(state)) earliest = Math.min(earliest, at)
  return earliest === Infinity ? undefined : earliest
}

function nextSchedule({ values }: ThreadState): Scheduled | undefined {
  return firstSchedule(values[schedulesKey]?.value)
}

/** A paused thread starts nothing; what already runs may land. */
export function mayStart({ position }: ThreadState): boolean {
  return position.gate === 'open'
}

/** Nothing to do until mail comes, or the instant that `earliestWake` gives. */
export function atRest(state: ThreadState): boolean {
  const { position, turn, queue, queuedCalls } = state
  if (state.deleting || state.lineage.copying || owesMail(state) || mayStartChildNow(state)) return false
  if (position.gate === 'paused' || position.work.startsWith('waiting.')) return true
  if (turn) return false
  return hasEnded(state) || (queuedCalls.length === 0 && queue.every(({ delivery }) => delivery === 'store'))
}

function owesMail(state: ThreadState): boolean {
  const { toStop, outbox, turn, pendingReplies } = state
  if (toStop.length > 0 || outbox.length > 0) return true
  return !turn && ((pendingReplies.length > 0 && !awaitsDescendants(state)) || owesUsageReport(state))
}

function mayStartChildNow(state: ThreadState): boolean {
  if (state.position.work === 'waiting.children' && mayCall(state)) return true
  return state.retries.length > 0 && dueRestart(state) !== undefined
}
