/** Bodies that never let their thread's event loop turn: others go on. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../src/agent/app.js'
import { createCancel } from '../../src/core/async/cancel.js'
import type { Cancel } from '../../src/core/async/cancel.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Pool, Returned } from '../../src/pool/port.js'
import { jobFor, testSnapshot } from './job.js'
import { createMeeting, loadPoolApp, outcomeOf, withPool } from './meeting.js'

let app: App
beforeAll(async () => {
  app = await loadPoolApp()
})

const enough = new SkeinError('CANCELLED', 'enough')

/** A body that loops by now. */
async function looping(
  pool: Pool,
  tool = 'loops',
  at = 'loops begins',
): Promise<{ readonly cancel: Cancel; readonly returned: Promise<Returned> }> {
  const cancel = createCancel()
  const begins = createMeeting(at)
  const returned = pool.run(jobFor(tool, {}, { cancel }))
  await begins.arrived(1)
  begins.go()
  return { cancel, returned }
}

const many = <Each>(count: number, make: (index: number) => Each): Each[] =>
  Array.from({ length: count }, (_, index) => make(index))

describe.each([1, 2])('%i threads', (threads) => {
  it('WP5, LN3: a body that loops holds up none of 100 others, those with a time limit included', async () => {
    await withPool(app, { threads }, async (pool) => {
      const { cancel, returned } = await looping(pool)
      const late = many(3, () => outcomeOf(pool, 'late'))
      expect(await Promise.all(many(100, () => outcomeOf(pool, 'where')))).toEqual(
        many(100, () => expect.objectContaining({ ok: true })),
      )
      expect(await Promise.all(late)).toEqual(
        many(3, () => expect.objectContaining({ failure: expect.objectContaining({ code: 'TOOL_TIMED_OUT' }) })),
      )
      cancel.abort(enough)
      expect((await returned).outcome).toMatchObject({ failure: { message: 'enough' } })
    })
  })

  it('WP5: nor those that came with it to a thread that had not started', async () => {
    await withPool(app, { threads }, async (pool) => {
      const cancel = createCancel()
      const snapshot = testSnapshot({ files: { '/a.txt': 'hello' } })
      const before = many(4, () => outcomeOf(pool, 'ls', { path: '/' }, { snapshot }))
      const loops = pool.run(jobFor('loops', {}, { cancel }))
      const behind = many(8, () => outcomeOf(pool, 'where'))
      expect(await Promise.all([...before, ...behind])).toEqual(many(12, () => expect.objectContaining({ ok: true })))
      cancel.abort(enough)
      expect((await loops).outcome).toMatchObject({ failure: { message: 'enough' } })
    })
  })
})

it('WP5: what had begun on the thread stays until it ends', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meeting = createMeeting('beside a loop')
    const beside = outcomeOf(pool, 'meets', { at: 'beside a loop' })
    await meeting.arrived(1)
    const { cancel, returned } = await looping(pool)
    expect(await outcomeOf(pool, 'where')).toMatchObject({ ok: true })
    expect(meeting.here).toBe(1)
    cancel.abort(enough)
    expect((await returned).outcome).toMatchObject({ failure: { message: 'enough' } })
    await meeting.arrived(2)
    meeting.go()
    expect(await beside).toEqual({ ok: true, value: 'met at beside a loop' })
  })
})

it('LN3: a loop that a finished body left behind holds up nobody either', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    expect(await outcomeOf(pool, 'loops_when_over')).toMatchObject({ ok: true })
    for (let count = 0; count < 50; count++) expect(await outcomeOf(pool, 'where')).toMatchObject({ ok: true })
  })
})

it('effects behind one that loops begin once, on another thread', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const { cancel, returned } = await looping(pool, 'effect_loops', 'effect loops')
    const meeting = createMeeting('once')
    const behind = many(10, () => outcomeOf(pool, 'effect', { at: 'once' }))
    await meeting.arrived(10)
    cancel.abort(enough)
    expect((await returned).outcome).toMatchObject({ failure: { message: 'enough' } })
    expect(meeting.here).toBe(10)
    meeting.go()
    expect(await Promise.all(behind)).toEqual(many(10, () => ({ ok: true, value: 'met at once' })))
  })
})

it('WT1: effects that are taken back and forth between threads that stop and go begin once', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meetings = many(30, (index) => createMeeting(`block ${index}`))
    // About as long as it takes to be found stuck, so that beginning and taking back meet.
    const all = meetings.map((_, index) =>
      outcomeOf(pool, 'effect_blocks', { at: `block ${index}`, ms: index % 3 === 0 ? 250 + 5 * index : 3 }),
    )
    expect(await Promise.all(all)).toEqual(many(30, () => ({ ok: true, value: 'timed-out' })))
    await outcomeOf(pool, 'where')
    expect(meetings.map(({ here }) => here)).toEqual(many(30, () => 1))
    for (const meeting of meetings) meeting.go()
  })
})

it('LN3: there is an end to the threads; the next call begins when one of them is free', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const loops = []
    for (let count = 0; count < 4; count++) loops.push(await looping(pool))
    const meeting = createMeeting('fifth')
    const fifth = outcomeOf(pool, 'meets', { at: 'fifth' })
    // Calls of another lane: several looks long.
    for (let count = 0; count < 3; count++) await outcomeOf(pool, 'effect_blocks', { at: 'passing', ms: 200 })
    expect(meeting.here).toBe(0)
    loops[0]?.cancel.abort(enough)
    await meeting.arrived(1)
    meeting.go()
    expect(await fifth).toEqual({ ok: true, value: 'met at fifth' })
    for (const { cancel } of loops) cancel.abort(enough)
    await Promise.all(loops.map(({ returned }) => returned))
  })
})
