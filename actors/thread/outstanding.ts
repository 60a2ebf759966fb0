/**
 * Outstanding work as a function of state: the keyed effects that a thread waits for. First start, the next
 * step and recovery after a crash all ask this one question.
 *
 * OU1 Pure: equal states want equal effects. A finished effect is never wanted again.
 * OU2 Calls are listed in call order.
 * OU3 A call with a side effect is a barrier: it waits for the calls before it, runs alone, and those behind it wait;
 *     one that commutes waits for its intent only. A call that waits for someone holds back later barriers alone (T3).
 */
import { callDeadlineKey, callKey, modelKey, scheduleKey, turnDeadlineKey } from '../../src/core/effect.js'
import type { Effect } from '../../src/core/effect.js'
import { firstSchedule, schedulesKey } from '../../src/core/records/schedule.js'
import type { Scheduled } from '../../src/core/records/schedule.js'
import { mayCall } from './children/children.js'
import { createSpeculationGuard } from './decide/policy.js'
import { awaitsVerdict, firstUndrained } from './calls/slots.js'
import type { Slot } from './calls/slots.js'
import { awaitsDescendants } from './children/reports.js'
import { owesUsageReport } from './budget/usage.js'
import { hasEnded } from './state.js'
import type { ThreadState } from './state.js'
import { dueRestart } from './children/supervision.js'

export function outstanding(state: ThreadState): Effect[] {
  const effects: Effect[] = []
  const { turn, position: place, step, slots } = state
  const scheduled = nextSchedule(state)
  if (scheduled) effects.push({ kind: 'schedule', key: scheduleKey(scheduled.id), scheduled })
  if (!turn) {
    if (state.deleting && state.toStop.length === 0) effects.push({ kind: 'removal', key: 'removal' })
    return effects
  }
  if (turn.deadlineAt !== undefined)
    effects.push({ kind: 'deadline', key: turnDeadlineKey(turn.run), at: turn.deadlineAt })
  for (const { index, at } of callDeadlines(state))
    effects.push({ kind: 'deadline', key: callDeadlineKey(step, index), at })
  if (turn.stop && slots.open === 0) return effects
  if (place.work === 'thinking') effects.push({ kind: 'model', key: modelKey(step + 1), step: step + 1 })
  else {
    for (const { slot, index } of startable(state))
      if (!slot.call.sideEffect || slot.began || slot.answer)
        effects.push({ kind: 'call', key: keyOf(slot, step, index), step, index, ...(slot.again && { again: true }) })
  }
  return effects
}

/** A second run of a call is another effect. */
function keyOf({ again, answer, join }: Slot, step: number, index: number): string {
  return `${callKey(step, index)}${again ? '/again' : ''}${answer ? '/answer' : ''}${join ? '/join' : ''}`
}

/** Calls that nothing holds back, in call order; one with a side effect still needs its intent (OU3). */
export function* startable({ slots, turn }: ThreadState): Generator<{ readonly slot: Slot; readonly index: number }> {
  if (slots.own === 0 && slots.joining === 0) return
  const foresight = createSpeculationGuard(turn)
  for (let index = slots.drained; index < slots.items.length; index++) {
    const slot = slots.items[index]
    if (!slot) return
    const { call } = slot
    const head = index === slots.drained
    // Another thread answers it (children.ts); what is left to do here is to take its files.
    if (call.child) {
      if (head && slot.join && !slot.outcome) yield { slot, index }
      continue
    }
    // Answered at its turn, with nothing to run.
    if (call.asks) continue
    const free = !slot.outcome && !slot.hold && (head || (!call.inTurn && !slot.again && foresight.allows(call)))
    if (call.sideEffect && !call.commutes && !slot.outcome) {
      if (head && free) yield { slot, index }
      // One that waits for someone may be passed by calls without side effects; those go on when it is let go.
      if (!slot.passed) return
    } else if (free) yield { slot, index }
    foresight.pass(call)
  }
}

/** Nothing can go on before someone has decided. */
export function isStuck(state: ThreadState): boolean {
  const { slots } = state
  if (slots.held === 0 && slots.open === slots.own) return false
  const head = firstUndrained(slots)
  if (head && (awaitsVerdict(head) || head.call.asks)) return false
  for (const { slot } of startable(state)) if (slot === head || !slot.parked) return false
  return true
}

function* callDeadlines({ slots }: ThreadState): Generator<{ readonly index: number; readonly at: number }> {
  if (!slots.deadlines || slots.held === 0) return
  for (let index = slots.drained; index < slots.items.length; index++) {
    const at = slots.items[index]?.hold?.deadlineAt
    if (at !== undefined) yield { index, at }
  }
}

/** The earliest instant at which the thread must be told that time is up. */
export function earliestWake(state: ThreadState): number | undefined {
  const scheduled = nextSchedule(state)?.at
  if (!state.turn) return scheduled
  let earliest = Math.min(scheduled ?? Infinity, state.turn.deadlineAt ?? Infinity)
  for (const { at } of callDeadlines(state)) earliest = Math.min(earliest, at)
  return earliest === Infinity ? undefined : earliest
}

/** The call whose time comes first. */
function nextSchedule({ values }: ThreadState): Scheduled | undefined {
  return firstSchedule(values[schedulesKey]?.value)
}

/** A paused thread starts nothing; what already runs may land. */
export function mayStart({ position: place }: ThreadState): boolean {
  return place.gate === 'open'
}

/** Nothing to do until mail comes (or the deadline, which `wakeAt` tells). */
export function atRest(state: ThreadState): boolean {
  const { position: place, turn, queue, queuedCalls } = state
  if (
    state.deleting ||
    state.toStop.length > 0 ||
    state.outbox.length > 0 ||
    (!turn && ((state.pendingReplies.length > 0 && !awaitsDescendants(state)) || owesUsageReport(state)))
  )
    return false
  if (place.work === 'waiting.children' && mayCall(state)) return false
  if (state.retries.length > 0 && dueRestart(state)) return false
  if (place.gate === 'paused' || place.work.startsWith('waiting.')) return true
  return !turn && (hasEnded(state) || (queuedCalls.length === 0 && queue.every(({ delivery }) => delivery === 'store')))
}
