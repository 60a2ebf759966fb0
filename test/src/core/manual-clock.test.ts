/** The manual clock against its invariants. */
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/manual-clock.js'

test('a wake fires inside advance only, even for a time that has passed', () => {
  const clock = manualClock(1_000)
  const fired: number[] = []
  clock.wakeAt(500, () => fired.push(clock.now()))
  expect(fired).toEqual([])
  expect(clock.pending).toBe(1)
  clock.advance(0)
  expect(fired).toEqual([1_000])
  expect(clock.pending).toBe(0)
})

test('wakes fire in order of time, equal ones in the order asked for, each at its own time', () => {
  const clock = manualClock()
  const fired: string[] = []
  const at = (time: number, name: string): void => void clock.wakeAt(time, () => fired.push(`${name}@${clock.now()}`))
  at(30, 'c')
  at(10, 'a')
  at(20, 'b1')
  at(20, 'b2')
  at(99, 'late')
  clock.advance(50)
  expect(fired).toEqual(['a@10', 'b1@20', 'b2@20', 'c@30'])
  expect(clock.now()).toBe(50)
  expect(clock.pending).toBe(1)
})

test('a wake that a wake asks for fires in the same advance when it is due', () => {
  const clock = manualClock()
  const fired: number[] = []
  clock.wakeAt(10, () => {
    fired.push(clock.now())
    clock.wakeAt(15, () => fired.push(clock.now()))
    clock.wakeAt(100, () => fired.push(clock.now()))
  })
  clock.advance(20)
  expect(fired).toEqual([10, 15])
})

test('time never goes back', () => {
  const clock = manualClock(10)
  expect(() => clock.advance(-1)).toThrow(/cannot go back/)
  expect(() => clock.advance(Number.NaN)).toThrow(/cannot go back/)
  clock.wakeAt(20, () => clock.advance(100))
  clock.advance(15)
  expect(clock.now()).toBe(120)
})

test('next moves to the next wake and says whether there was one', () => {
  const clock = manualClock()
  const fired: number[] = []
  clock.wakeAt(40, () => fired.push(1))
  clock.wakeAt(40, () => fired.push(2))
  clock.wakeAt(70, () => fired.push(3))
  expect(clock.next()).toBe(true)
  expect([clock.now(), fired]).toEqual([40, [1, 2]])
  expect(clock.next()).toBe(true)
  expect(clock.next()).toBe(false)
  expect(clock.now()).toBe(70)
})

test('a cancelled wake does not fire, and cancelling twice or after firing is harmless', () => {
  const clock = manualClock()
  const fired: string[] = []
  const cancelA = clock.wakeAt(10, () => fired.push('a'))
  const cancelB = clock.wakeAt(10, () => fired.push('b'))
  cancelA()
  cancelA()
  clock.advance(10)
  cancelB()
  expect(fired).toEqual(['b'])
  expect(clock.pending).toBe(0)
})
