/** What one turn of the event loop may begin. */
import { describe, expect, it } from 'vitest'
import { LoopShare } from '../../../src/core/async/loop-share.js'
import type { Beginner } from '../../../src/core/async/loop-share.js'
import { nextTurn } from '../../../src/core/async/next-turn.js'

const beginner = (): Beginner => ({ loopTurn: -1, begun: 0 })

/** Begins as much as this turn allows. */
function takeAll(loop: LoopShare, own = beginner()): number {
  let count = 0
  while (loop.take(own)) count++
  return count
}

describe('the share of a turn of the event loop', () => {
  it('is bounded, and whole again in the next turn', async () => {
    const loop = new LoopShare()
    const own = beginner()
    const places = takeAll(loop, own)
    expect(places).toBeGreaterThan(8)
    expect(places).toBeLessThan(100)
    expect(loop.take(own)).toBe(false)
    await nextTurn()
    expect(takeAll(loop, own)).toBe(places)
  })

  it('leaves the first few of everybody to them, however many there are', () => {
    const loop = new LoopShare()
    takeAll(loop)
    for (let count = 0; count < 1_000; count++) {
      const own = beginner()
      expect(loop.take(own)).toBe(true)
      expect(loop.take(own)).toBe(true)
    }
    expect(takeAll(loop)).toBe(takeAll(loop))
  })

  it('LS1: who waits is called in order, as many in one turn as there are places', async () => {
    const loop = new LoopShare()
    const called: number[] = []
    const turns = new Map<number, number>()
    let turn = 0
    for (let count = 0; count < 7; count++)
      loop.wait(() => {
        called.push(count)
        // Whoever does not take all leaves places to the next.
        if (count % 2 === 0) takeAll(loop)
        turns.set(turn, (turns.get(turn) ?? 0) + 1)
      })
    for (; called.length < 7; turn++) await nextTurn()
    expect(called).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect([...turns.values()]).toEqual([1, 2, 2, 2])
  })

  it('LS1: who takes all places of a turn again and again keeps nobody waiting', async () => {
    const loop = new LoopShare()
    let greedyTurns = 0
    const greedy = (): void => {
      greedyTurns++
      takeAll(loop)
      if (greedyTurns < 100) loop.wait(greedy)
    }
    let modest = 0
    const more = (): void => {
      modest++
      loop.wait(more)
    }
    loop.wait(greedy)
    loop.wait(more)
    while (greedyTurns < 100) await nextTurn()
    expect(modest).toBeGreaterThan(90)
  })

  it('LS1: one that throws is not called again, and those behind it are called', async () => {
    const loop = new LoopShare()
    const called: string[] = []
    const thrown = new Promise((resolve) => void process.once('uncaughtException', resolve))
    // Those of the test runner would fail the run.
    const others = process.listeners('uncaughtException').slice(0, -1)
    for (const other of others) process.off('uncaughtException', other)
    loop.wait(() => {
      called.push('throws')
      throw new Error('on purpose')
    })
    loop.wait(() => void called.push('behind'))
    await thrown
    for (const other of others) process.on('uncaughtException', other)
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    expect(called).toEqual(['throws', 'behind'])
  })

  it('LS1: who waits while nobody takes is called, too', async () => {
    const loop = new LoopShare()
    const called: number[] = []
    loop.wait(() => void called.push(1))
    await nextTurn()
    loop.wait(() => void called.push(2))
    await nextTurn()
    expect(called).toEqual([1, 2])
  })
})
