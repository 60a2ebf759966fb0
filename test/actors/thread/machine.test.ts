/** The thread machine: every place can be reached, the last ones are left by nothing, and the gate changes no place. */
import { getShortestPaths } from 'xstate/graph'
import { describe, expect, it } from 'vitest'
import { threadMachine } from '../../../actors/thread/machine.js'
import type { Signal } from '../../../actors/thread/signal.js'
import { moveByTable, positionAt } from '../../../actors/thread/position.js'
import { createLiveActor, createMachineActor } from '../../helpers/machine-actor.js'
import type { Position, Work } from '../../../actors/thread/position.js'
import type { HoldReason, RecordType } from '../../../src/core/records/record.js'

const holds: readonly HoldReason[] = ['approval', 'person', 'variables', 'children']
const types: readonly RecordType[] = [
  'thread.created',
  'message.received',
  'turn.started',
  'model.replied',
  'call.returned',
  'call.held',
  'turn.ended',
  'thread.paused',
  'thread.resumed',
  'thread.ended',
  'thread.terminated',
]

/** Each type of record with every kind of numbers that a guard tells apart. */
const signals: readonly Signal[] = types.flatMap((type): Signal[] => [
  { type, open: 0, held: 0 },
  { type, open: 2, held: 0 },
  { type, open: 2, held: 1 },
  ...holds.map((why): Signal => ({ type, open: 1, held: 1, why })),
  { type, open: 0, held: 0, reason: 'failed' },
  { type, open: 0, held: 0, reason: 'completed' },
])

const works: readonly Work[] = [
  'fresh',
  'idle',
  'thinking',
  'acting',
  'waiting.approval',
  'waiting.person',
  'waiting.variables',
  'waiting.children',
  'failed',
  'done',
  'terminated',
]

function reach(move: (place: Position, signal: Signal) => Position): Set<Position> {
  const found = new Set([positionAt('open', 'fresh')])
  for (const place of found) for (const signal of signals) found.add(move(place, signal))
  return found
}

describe('the places of a thread', () => {
  it('every place but a paused beginning is reached, and none has a way of its own to get there', () => {
    const paths = getShortestPaths(threadMachine, { events: [...signals] })
    const ends = new Set(paths.map(({ state }) => JSON.stringify(state.value)))
    // `fresh` cannot be paused: there is no thread yet.
    expect(ends.size).toBe(works.length * 2 - 1)
    for (const { state } of paths) {
      expect(state.context).toEqual({})
      expect(Object.keys(state.children)).toEqual([])
    }
  })

  it('the table reaches the same places', () => {
    const names = [...reach(moveByTable)].map(({ gate, work }) => `${gate}.${work}`)
    expect(names.sort()).toEqual(
      ['open', 'paused']
        .flatMap((gate) => works.map((work) => `${gate}.${work}`))
        .filter((name) => name !== 'paused.fresh')
        .sort(),
    )
  })

  it.each([
    ['the machine itself', createMachineActor],
    ['the live actor', createLiveActor],
  ])('from every place, by every signal, %s and the table agree', (_, createActor) => {
    for (const place of reach(moveByTable)) {
      for (const signal of signals) {
        const { actor, move } = createActor(place)
        expect(move(place, signal), `${place.gate}.${place.work} by ${JSON.stringify(signal)}`).toBe(
          moveByTable(place, signal),
        )
        actor.stop()
      }
    }
  })

  it('F7: nothing leaves a terminated thread, and a finished one can only be terminated', () => {
    for (const gate of ['open', 'paused'] as const) {
      const [done, terminated] = [positionAt(gate, 'done'), positionAt(gate, 'terminated')]
      for (const signal of signals) {
        expect(moveByTable(terminated, signal)).toBe(terminated)
        expect(moveByTable(done, signal)).toBe(signal.type === 'thread.terminated' ? terminated : done)
      }
    }
  })

  it('the gate changes no place: both sides move alike, and crossing keeps the work', () => {
    for (const place of reach(moveByTable)) {
      if (place.gate === 'paused') continue
      for (const signal of signals) {
        if (signal.type === 'thread.paused' || signal.type === 'thread.resumed' || place.work === 'fresh') continue
        expect(moveByTable(positionAt('paused', place.work), signal).work).toBe(moveByTable(place, signal).work)
      }
      if (place.work === 'fresh' || place.work === 'done' || place.work === 'terminated') continue
      const paused = moveByTable(place, { type: 'thread.paused', open: 0, held: 0 })
      expect(paused).toBe(positionAt('paused', place.work))
      expect(moveByTable(paused, { type: 'thread.resumed', open: 0, held: 0 })).toBe(place)
    }
  })

  it('SL3: a landing among many moves nothing, so that nobody compares effects for it', () => {
    const { actor, move } = createMachineActor(positionAt('open', 'acting'))
    const acting = positionAt('open', 'acting')
    expect(move(acting, { type: 'call.returned', open: 9_999, held: 0 })).toBe(acting)
    actor.stop()
  })
})
