/** Places of a lane: who is active, and who comes next. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createPlaces, createSeat } from '../../../src/pool/places.js'
import type { Seat } from '../../../src/pool/places.js'

it('PC2: a call that goes on comes before one that begins, and one that withdrew never comes', () => {
  const places = createPlaces({ perThread: 1, threads: 1 })
  const seat = createSeat()
  const order: string[] = []
  const go = (name: string) => () => void order.push(name)
  places.enter(go('first'))
  places.sit(seat)
  const withdraw = places.enter(go('withdrawn'))
  places.enter(go('second'))
  places.comeBack(seat, go('returning'))
  withdraw()
  expect(order).toEqual(['first'])
  places.leave(seat)
  expect(order).toEqual(['first', 'returning'])
  places.leave(seat)
  expect(order).toEqual(['first', 'returning', 'second'])
})

interface Model {
  readonly seats: readonly Seat[]
  readonly begun: { seat: Seat | undefined }[]
  readonly away: Seat[]
}

/** The thread that a lane would choose (LN1). */
function seatFor({ seats }: Model, perThread: number): Seat | undefined {
  return seats.filter(({ active }) => active < perThread).toSorted((a, b) => a.active - b.active)[0]
}

it('PC1: whatever calls do, no thread has too many, and every call that may begin finds a thread', () => {
  const moves = fc.array(fc.record({ move: fc.constantFrom('enter', 'leave', 'away', 'back'), at: fc.nat(50) }), { maxLength: 200 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 }), moves, (perThread, threads, all) => {
      const places = createPlaces({ perThread, threads })
      const model: Model = { seats: Array.from({ length: threads }, createSeat), begun: [], away: [] }
      let wanted = 0
      let active = 0
      const begin = (): void => {
        const seat = seatFor(model, perThread)
        expect(seat).toBeDefined()
        if (seat) places.sit(seat)
        model.begun.push({ seat })
        active++
      }
      for (const { move, at } of all) {
        const [call] = move === 'leave' || move === 'away' ? model.begun.splice(at % Math.max(model.begun.length, 1), 1) : []
        if (call) active--
        if (call && move === 'away' && call.seat) model.away.push(call.seat)
        if (call) places.leave(call.seat)
        if (move === 'enter') {
          wanted++
          places.enter(begin)
        }
        const [seat] = move === 'back' ? model.away.splice(at % Math.max(model.away.length, 1), 1) : []
        if (seat) {
          places.comeBack(seat, () => {
            model.begun.push({ seat })
            active++
          })
        }
        expect(active).toBe(model.begun.length)
        for (const each of model.seats) {
          expect(each.active).toBeLessThanOrEqual(perThread)
          expect(each.active).toBe(model.begun.filter((one) => one.seat === each).length)
        }
      }
      // Nobody is forgotten: when all leave, all have been.
      let left = 0
      for (let call = model.begun.pop(); call; call = model.begun.pop()) {
        left++
        active--
        places.leave(call.seat)
      }
      expect(left).toBeLessThanOrEqual(wanted + all.length)
      expect(model.seats.map((each) => each.active + each.returning.size)).toEqual(model.seats.map(() => 0))
    }),
  )
})
