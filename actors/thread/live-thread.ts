/**
 * The live threads of a host: XState actors whose transition is the table (position.ts).
 *
 * - An actor hears of the records that move it; the others would leave it where it is.
 * - The live threads of a host are children of one actor, and share its system.
 */
import { createActor, fromTransition } from 'xstate'
import type { ActorRefFrom } from 'xstate'
import { moveByTable } from './position.js'
import type { Position } from './position.js'
import type { Signal } from './signal.js'

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
