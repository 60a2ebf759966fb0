/**
 * What moves a thread, to be compared with the table: the machine as XState itself interprets it, and the live actor
 * of a host.
 */
import { createActor } from 'xstate'
import { threadMachine } from '../../actors/thread/machine.js'
import { ThreadActors, moveActor, placeAt } from '../../actors/thread/position.js'
import type { Move, Place } from '../../actors/thread/position.js'

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

export function createMachineActor(place: Place) {
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

export function createLiveActor(place: Place) {
  const actors = new ThreadActors()
  const live = actors.create(place)
  const move: Move = (from, signal) => moveActor(live, from, signal)
  return { actor: { stop: () => actors.stop(live) }, move }
}
