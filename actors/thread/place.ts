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

const table = compileMachine(threadMachine.root)
const places = new Map<string, Place>()

/** One object per place, so that places can be compared by identity. */
export function placeAt(gate: Place['gate'], work: Work): Place {
  const name = `${gate}.${work}`
  const known = places.get(name) ?? { gate, work }
  places.set(name, known)
  return known
}

function named(name: string): Place {
  const dot = name.indexOf('.')
  return places.get(name) ?? placeAt(name.slice(0, dot) as Place['gate'], name.slice(dot + 1) as Work)
}

export const moveByTable: Move = (place, signal) => named(lookUp(table, `${place.gate}.${place.work}`, signal))

type Value = ReturnType<typeof threadMachine.resolveState>['value']

function toValue({ gate, work }: Place): Value {
  const [outer, inner] = work.split('.')
  return { [gate]: inner ? { [String(outer)]: inner } : outer } as Value
}

function fromValue(value: Value): Place {
  const gate = 'open' in value ? 'open' : 'paused'
  const work = 'open' in value ? value.open : value.paused
  return placeAt(gate, typeof work === 'string' ? work : `waiting.${work.waiting}`)
}

/** The live actor of a thread, standing at `place`; `move` sends to it. */
export function createThreadActor(place: Place) {
  const actor = createActor(threadMachine, { snapshot: threadMachine.resolveState({ value: toValue(place), context: {} }) })
  actor.start()
  const move: Move = (from, signal) => {
    const before = actor.getSnapshot()
    actor.send(signal)
    const after = actor.getSnapshot()
    return after === before ? from : fromValue(after.value)
  }
  return { actor, move }
}

export type ThreadActor = ReturnType<typeof createThreadActor>
