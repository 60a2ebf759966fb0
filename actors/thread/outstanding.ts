/**
 * Outstanding work as a function of state: the keyed effects that a thread waits for. First start, the next
 * step and recovery after a crash all ask this one question.
 *
 * OU1 Pure: equal states want equal effects. A finished effect is never wanted again.
 * OU2 Calls are listed in call order.
 * OU3 A call with a side effect is a barrier: it waits for the calls before it, runs alone, and those behind it wait (T3).
 */
import { callKey, modelKey, turnDeadlineKey } from '../../src/core/effect.js'
import type { Effect } from '../../src/core/effect.js'
import { barrier } from './slots.js'
import type { Slots } from './slots.js'
import { isOver } from './state.js'
import type { ThreadState } from './state.js'

export function outstanding(state: ThreadState): Effect[] {
  const effects: Effect[] = []
  const { turn, place, step, slots } = state
  if (!turn) return effects
  if (turn.deadlineAt !== undefined) effects.push({ kind: 'deadline', key: turnDeadlineKey(turn.run), at: turn.deadlineAt })
  if (turn.stop && slots.open === 0) return effects
  if (place.work === 'thinking') effects.push({ kind: 'model', key: modelKey(step + 1), step: step + 1 })
  else {
    for (const index of wantedCalls(slots)) effects.push({ kind: 'call', key: callKey(step, index), step, index })
  }
  return effects
}

/** OU3: up to the first open call with a side effect; that one alone, and only when its intent is recorded. */
function* wantedCalls(slots: Slots): Generator<number> {
  const alone = barrier(slots)
  if (alone !== undefined) {
    if (slots.items[alone]?.began) yield alone
    return
  }
  for (let index = slots.drained; index < slots.items.length; index++) {
    const slot = slots.items[index]
    if (!slot || slot.outcome || slot.why) continue
    if (slot.call.sideEffect) return
    yield index
  }
}

/** A paused thread starts nothing; what already runs may land. */
export function mayStart({ place }: ThreadState): boolean {
  return place.gate === 'open'
}

/** Nothing to do until mail comes (or the deadline, which `wakeAt` tells). */
export function atRest(state: ThreadState): boolean {
  const { place, turn, queue } = state
  if (place.gate === 'paused' || place.work.startsWith('waiting.')) return true
  return !turn && (isOver(state) || queue.every(({ delivery }) => delivery === 'store'))
}
