/** A limit that stands still while its call waits for others. */
import { expect, it } from 'vitest'
import { manualClock } from '../../../src/core/manual-clock.js'
import { createTimeLimit } from '../../../src/pool/time-limit.js'

function start(limitMs: number) {
  const clock = manualClock()
  let late = 0
  return { clock, limit: createTimeLimit(clock, limitMs, () => void late++), late: () => late }
}

it('runs at once, and out once', () => {
  const { clock, late } = start(100)
  clock.advance(99)
  expect(late()).toBe(0)
  clock.advance(1_000)
  expect(late()).toBe(1)
})

it('stands still while it is paused, however often', () => {
  const { clock, limit, late } = start(100)
  clock.advance(60)
  limit.pause()
  limit.pause()
  clock.advance(1_000)
  limit.resume()
  limit.resume()
  clock.advance(39)
  expect(late()).toBe(0)
  clock.advance(1)
  expect(late()).toBe(1)
})

it('leaves no timer behind once it is stopped', () => {
  const { clock, limit, late } = start(100)
  limit.pause()
  limit.stop()
  limit.resume()
  expect(clock.pending).toBe(0)
  clock.advance(1_000)
  expect(late()).toBe(0)
})
