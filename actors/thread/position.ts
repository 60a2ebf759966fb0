/**
 * A thread's place: the machine's value as plain text, and how it moves. The live thread is an XState actor whose
 * transition is the table compiled from the machine; replay calls that transition directly.
 *
 * - The table moves exactly as the machine itself does (test/actors/thread/agreement.test.ts). Interpreting the
 *   machine costs 7–17 µs per step, the table 0.2, the actor around it 0.5.
 * - The actor hears of the records that move it; the others would leave it where it is.
 * - The live threads of a host are children of one actor, and share its system.
 */
import { createActor, fromTransition } from 'xstate'
import type { ActorRefFrom } from 'xstate'
import type { HoldReason } from '../../src/core/records/record.js'
import { threadMachine } from './machine.js'
import type { Signal } from './machine.js'
import { compileMachine } from './machine-table.js'
import type { Transition } from './machine-table.js'

export type Work = 'fresh' | 'idle' | 'thinking' | 'acting' | `waiting.${HoldReason}` | 'failed' | 'done' | 'terminated'

export interface Position {
  readonly work: Work
  readonly gate: 'open' | 'paused'
}

/** Moves a place by a signal. */
export type Move = (place: Position, signal: Signal) => Position

const places = new Map<string, Position>()

/** One object per place, so that places can be compared by identity. */
export function positionAt(gate: Position['gate'], work: Work): Position {
  const name = `${gate}.${work}`
  const known = places.get(name) ?? { gate, work }
  places.set(name, known)
  return known
}

function named(name: string): Position {
  const dot = name.indexOf('.')
  return positionAt(name.slice(0, dot) as Position['gate'], name.slice(dot + 1) as Work)
}

interface Way {
  readonly allows: Transition['allows']
  readonly to: Position
}

/** The table with places for names: moving makes no text. */
const ways = new Map<Position, ReadonlyMap<string, readonly Way[]>>()
for (const [name, moves] of compileMachine(threadMachine.root)) {
  const from = named(name)
  const toWay = ({ allows, target }: Transition): Way => ({ allows, to: target === undefined ? from : named(target) })
  ways.set(from, new Map([...moves].map(([type, options]) => [type, options.map(toWay)])))
}

export const moveByTable: Move = (place, signal) => {
  const found = ways.get(place)?.get(signal.type)
  if (found) for (const { allows, to } of found) if (allows(signal)) return to
  return place
}

const logic = fromTransition(moveByTable, ({ input }: { input: Position }) => input)

export type ThreadActor = ActorRefFrom<typeof logic>

/** The parent of the live threads of one host. Only a parent may stop an actor. */
const house = fromTransition(
  (threads: null, event: { readonly type: 'leave'; readonly thread: ThreadActor }, { stopChild }) => {
    if (event.type === 'leave') stopChild(event.thread)
    return threads
  },
  null,
)

/**
 * The live actors of a host: one system for all. A system for each thread would be half of what its actor takes.
 */
export class ThreadActors {
  readonly #house = createActor(house).start()

  /** The live actor of a thread, standing at `place`. */
  create(place: Position): ThreadActor {
    return createActor(logic, { input: place, parent: this.#house }).start()
  }

  stop(thread: ThreadActor): void {
    this.#house.send({ type: 'leave', thread })
  }
}

/** The same as `moveByTable`, by the live actor. */
export function moveActor(actor: ThreadActor, from: Position, signal: Signal): Position {
  if (moveByTable(from, signal) === from) return from
  actor.send(signal)
  return actor.getSnapshot().context
}
