/**
 * What moves a thread, to be compared with the table: the machine as XState itself interprets it, and the live actor
 * of a host.
 */
import { createActor } from 'xstate'
import { threadMachine } from '../../actors/thread/machine.js'
import { ThreadActors, moveActor } from '../../actors/thread/live-thread.js'
import { positionAt } from '../../actors/thread/position.js'
import type { Move, Position } from '../../actors/thread/position.js'

type Value = ReturnType<typeof threadMachine.resolveState>['value']

function toValue({ gate, work }: Position): Value {
  const [outer, inner] = work.split('.')
  return { [gate]: inner ? { [String(outer)]: inner } : outer } as Value
}

function fromValue(value: Value): Position {
  const gate = 'open' in value ? 'open' : 'paused'
  const work = 'open' in value ? value.open : value.paused
  return positionAt(gate, typeof work === 'string' ? work : `waiting.${work.waiting}`)
}

export function createMachineActor(place: Position) {
  const actor = createActor(threadMachine, {
    snapshot: threadMachine.resolveState({ value: toValue(place), context: {} }),
  })
  actor.start()
  const move: Move = (_, signal) => {
    actor.send(signal)
    return fromValue(actor.getSnapshot().value)
  }
  return { actor, move }
}

export function createLiveActor(place: Position) {
  const actors = new ThreadActors()
  const live = actors.create(place)
  const move: Move = (from, signal) => moveActor(live, from, signal)
  return { actor: { stop: () => actors.stop(live) }, move }
}
