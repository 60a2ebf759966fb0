/**
 * A thread's position: the machine's value as plain text, and how it moves. The live thread is an XState actor whose
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

/** Moves a position by a signal. */
export type Move = (position: Position, signal: Signal) => Position

const positions = new Map<string, Position>()

/** One object per position, so that positions can be compared by identity. */
export function positionAt(gate: Position['gate'], work: Work): Position {
  const name = `${gate}.${work}`
  const known = positions.get(name) ?? { gate, work }
  positions.set(name, known)
  return known
}

function positionOf(name: string): Position {
  const dot = name.indexOf('.')
  return positionAt(name.slice(0, dot) as Position['gate'], name.slice(dot + 1) as Work)
}

interface Target {
  readonly allows: Transition['allows']
  readonly to: Position
}

/** The table with positions for names: a move makes no text. */
const targets = new Map<Position, ReadonlyMap<string, readonly Target[]>>()
for (const [name, moves] of compileMachine(threadMachine.root)) {
  const from = positionOf(name)
  const toTarget = ({ allows, target }: Transition): Target => ({
    allows,
    to: target === undefined ? from : positionOf(target),
  })
  targets.set(from, new Map([...moves].map(([type, options]) => [type, options.map(toTarget)])))
}

export const moveByTable: Move = (position, signal) => {
  const found = targets.get(position)?.get(signal.type)
  if (found) for (const { allows, to } of found) if (allows(signal)) return to
  return position
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

  /** The live actor of a thread that stands at `position`. */
  create(position: Position): ThreadActor {
    return createActor(logic, { input: position, parent: this.#house }).start()
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
