/** Places of a lane: who is active, and who comes next. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createPlaces, createSeats } from '../../../src/pool/processes/places.js'
import type { Seated } from '../../../src/pool/processes/places.js'

const createThread = (): Seated => ({ seats: createSeats() })

it('a call that goes on comes before one that begins, and one that withdrew never comes', () => {
  const thread = createThread()
  const places = createPlaces({ perWorker: 1, choose: () => (thread.seats.active < 1 ? thread : undefined) })
  const order: string[] = []
  const go = (name: string) => () => void order.push(name)
  places.enter(go('first'))
  const withdraw = places.enter(go('withdrawn'))
  places.enter(go('second'))
  places.enter(go('taken back'), true)
  places.comeBack(thread, go('returning'))
  withdraw()
  expect(order).toEqual(['first'])
  for (let count = 0; count < 3; count++) places.leave(thread)
  expect(order).toEqual(['first', 'returning', 'taken back', 'second'])
})

it('who waits when the places are closed, or comes later, is told', () => {
  const places = createPlaces<Seated>({ perWorker: 1, choose: () => undefined })
  const told: unknown[] = []
  places.enter((thread) => told.push(thread))
  places.enter((thread) => told.push(thread), true)
  expect(told).toEqual([])
  places.close()
  places.enter((thread) => told.push(thread))
  expect(told).toEqual([undefined, undefined, undefined])
})

interface Model {
  readonly threads: readonly Seated[]
  readonly begun: Seated[]
  readonly away: Seated[]
  /** Gets no calls for now. */
  stuck: Seated | undefined
}

/** The thread that a lane would choose. */
function chosen({ threads, stuck }: Model, perWorker: number): Seated | undefined {
  return threads
    .filter((thread) => thread !== stuck && thread.seats.active < perWorker)
    .toSorted((a, b) => a.seats.active - b.seats.active)[0]
}

it('whatever calls and threads do, no thread has too many, and nobody waits while there is a place', () => {
  const moves = fc.array(
    fc.record({ move: fc.constantFrom('enter', 'again', 'leave', 'away', 'back', 'stick'), at: fc.nat(50) }),
    { maxLength: 200 },
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 }), moves, (perWorker, count, all) => {
      const model: Model = {
        threads: Array.from({ length: count }, createThread),
        begun: [],
        away: [],
        stuck: undefined,
      }
      const places = createPlaces({ perWorker, choose: () => chosen(model, perWorker) })
      let entered = 0
      let begun = 0
      const take = <Each>(list: Each[], at: number): Each | undefined =>
        list.splice(at % Math.max(list.length, 1), 1)[0]
      const act: Record<(typeof all)[number]['move'], (at: number) => void> = {
        enter: () => enter(false),
        again: () => enter(true),
        leave: (at) => leave(take(model.begun, at)),
        away(at) {
          const thread = take(model.begun, at)
          if (thread) model.away.push(thread)
          leave(thread)
        },
        back(at) {
          const thread = take(model.away, at)
          if (thread) places.comeBack(thread, () => model.begun.push(thread))
        },
        stick(at) {
          model.stuck = model.threads[at % (count + 1)]
          places.admit()
        },
      }
      const enter = (again: boolean): void => {
        entered++
        places.enter((thread) => {
          begun++
          if (thread) model.begun.push(thread)
        }, again)
      }
      const leave = (thread: Seated | undefined): void => void (thread && places.leave(thread))
      for (const { move, at } of all) {
        act[move](at)
        for (const thread of model.threads) {
          expect(thread.seats.active).toBeLessThanOrEqual(perWorker)
          expect(thread.seats.active).toBe(model.begun.filter((one) => one === thread).length)
        }
        expect(begun === entered || !chosen(model, perWorker)).toBe(true)
      }
      // Nobody is forgotten: when all leave, all have been.
      model.stuck = undefined
      places.admit()
      for (let thread = model.begun.pop(); thread; thread = model.begun.pop()) places.leave(thread)
      expect(begun).toBe(entered)
      expect(model.threads.map(({ seats: seat }) => seat.active + seat.returning.size)).toEqual(
        model.threads.map(() => 0),
      )
    }),
  )
})
