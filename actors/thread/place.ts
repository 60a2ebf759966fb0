/**
 * A thread's place: the machine's value as plain text, and how it moves. The live thread is an XState actor whose
 * transition is the table compiled from the machine; replay calls that transition directly.
 *
 * PL1 The table moves exactly as the machine itself does (test/actors/thread/agreement.test.ts). Interpreting the
 *     machine costs 7–17 µs per step, the table 0.6, the actor around it 0.5.
 */
import { createActor, fromTransition } from 'xstate'
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

const logic = fromTransition(moveByTable, ({ input }: { input: Place }) => input)

/** The live actor of a thread, standing at `place`; `move` sends to it. */
export function createThreadActor(place: Place) {
  const actor = createActor(logic, { input: place })
  actor.start()
  const move: Move = (_, signal) => {
    actor.send(signal)
    return actor.getSnapshot().context
  }
  return { actor, move }
}

export type ThreadActor = ReturnType<typeof createThreadActor>
