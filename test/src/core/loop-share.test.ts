/** How long one turn of the event loop may last: counted with a clock that the test moves. */
import { describe, expect, it } from 'vitest'
import { LoopShare } from '../../../src/core/async/loop-share.js'
import { nextTurn } from '../../../src/core/async/next-turn.js'
import { manualClock } from '../../../src/core/manual-clock.js'

describe('the share of a turn of the event loop', () => {
  it('is spent after some milliseconds, and whole again in the next turn', async () => {
    const clock = manualClock()
    const loop = new LoopShare(clock)
    expect(loop.isSpent).toBe(false)
    clock.advance(3)
    expect(loop.isSpent).toBe(false)
    clock.advance(1)
    expect(loop.isSpent).toBe(true)
    await nextTurn()
    expect(loop.isSpent).toBe(false)
  })

  it('is never spent where time stands still', async () => {
    const loop = new LoopShare(manualClock())
    let turned = false
    setImmediate(() => (turned = true))
    for (let count = 0; count < 1_000; count++) await loop.breathe()
    expect(turned).toBe(false)
  })

  it('LS1: who waits goes on in order, as many in one turn as there is time for', async () => {
    const clock = manualClock()
    const loop = new LoopShare(clock)
    const went: number[] = []
    for (let count = 0; count < 7; count++)
      loop.wait(() => {
        // What follows from it at once is part of it.
        void Promise.resolve().then(() => {
          went.push(count)
          clock.advance(2)
        })
      })
    const turns: number[] = []
    while (went.length < 7) {
      const before = went.length
      await nextTurn()
      turns.push(went.length - before)
    }
    expect(went).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(turns).toEqual([2, 2, 2, 1])
  })

  it('LS1: who waits later goes on, too', async () => {
    const loop = new LoopShare(manualClock())
    const went: number[] = []
    loop.wait(() => void went.push(1))
    loop.wait(() => void went.push(2))
    await nextTurn()
    loop.wait(() => void went.push(3))
    await nextTurn()
    expect(went).toEqual([1, 2, 3])
  })
})
