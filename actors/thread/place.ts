/**
 * A thread's place: the machine's value as plain text, and the two ways to move it. The live thread is an
 * XState actor; replay folds with the compiled table, which is some 30 times faster.
 *
 * PL1 Both ways give the same place for the same records (test/actors/thread/agreement.test.ts).
 */
import { createActor } from 'xstate'
import type { HoldReason } from '../../src/core/record.js'
import { threadMachine } from './machine.js'
import type { Signal } from './machine.js'
import { compileMachine, lookUp } from './table.js'

export type Work = 'fresh' | 'idle' | 'thinking' | 'acting' | `waiting.${HoldReason}` | 'failed' | 'done' | 'terminated'

export interface Place {
  readonly work: Work
  readonly gate: 'open' | 'paused'
}

/** Moves a place by a signal. */
export type Move = (place: Place, signal: Signal) => Place

const { work, gate } = compileMachine(threadMachine.root)

export const moveByTable: Move = (place, signal) => {
  const to = lookUp(work, place.work, signal)
  const through = lookUp(gate, place.gate, signal)
  return to === place.work && through === place.gate ? place : { work: to as Work, gate: through as Place['gate'] }
}

type Value = Parameters<typeof threadMachine.resolveState>[0]['value']

function toValue(place: Place): Value {
  const [outer, inner] = place.work.split('.')
  return { work: inner ? { [outer as 'waiting']: inner } : outer, gate: place.gate } as Value
}

/** The live actor of a thread, standing at `place`; `move` sends to it. */
export function createThreadActor(place: Place) {
  const actor = createActor(threadMachine, { snapshot: threadMachine.resolveState({ value: toValue(place), context: {} }) })
  actor.start()
  const move: Move = (from, signal) => {
    const before = actor.getSnapshot()
    actor.send(signal)
    const after = actor.getSnapshot()
    if (after === before) return from
    const { work: at, gate: through } = after.value
    return { work: typeof at === 'string' ? at : (`waiting.${at.waiting}` as Work), gate: through }
  }
  return { actor, move }
}

export type ThreadActor = ReturnType<typeof createThreadActor>
