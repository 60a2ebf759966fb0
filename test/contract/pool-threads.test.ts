/** The pool of worker threads: what only threads can do, and what only they can suffer. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { App } from '../../src/agent/app.js'
import { createCancel } from '../../src/core/async/cancel.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { createPool } from '../../src/pool/pool.js'
import type { Pool, Returned } from '../../src/pool/port.js'
import { toSettings } from '../../src/runtime/options.js'
import { deferred, until } from '../helpers/deferred.js'
import { jobFor, testSnapshot } from './job.js'
import type { TestSnapshot } from './job.js'
import { createMeeting, loadPoolApp, outcomeOf, poolOptions as options, withPool } from './meeting.js'

let app: App
beforeAll(async () => {
  app = await loadPoolApp()
})

const crowdSchema = z.object({ process: z.number(), most: z.number() })

const single = (use: (pool: Pool) => Promise<void>): Promise<void> => withPool(app, { threads: 1 }, use)

describe('threads', () => {
  let pool: Pool
  beforeAll(async () => {
    pool = await createPool(app, options)
  })
  afterAll(() => pool.close())

  it('WP1: 64 calls that wait share two threads', async () => {
    const meeting = createMeeting('many')
    const running = Array.from({ length: 64 }, () => outcomeOf(pool, 'meets', { at: 'many' }))
    await meeting.arrived(64)
    meeting.go()
    expect(new Set((await Promise.all(running)).map(({ ok }) => ok))).toEqual(new Set([true]))
  })

  it.each(['deaf', 'loops'])(
    'T14, WP2: a body that does not hear the abort (%s) loses its thread; what shared it begins again',
    async (tool) => {
      await single(async (alone) => {
        const meeting = createMeeting(tool)
        const neighbour = outcomeOf(alone, 'meets', { at: tool })
        await meeting.arrived(1)
        const cancel = createCancel()
        const begins = createMeeting(`${tool} begins`)
        const running = alone.run(jobFor(tool, {}, { cancel }))
        await begins.arrived(1)
        begins.go()
        cancel.abort(new SkeinError('CANCELLED', 'enough'))
        expect((await running).outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
        await meeting.arrived(2) // only a thread that ended makes it begin again
        meeting.go()
        expect(await neighbour).toEqual({ ok: true, value: `met at ${tool}` })
      })
    },
  )

  it('T14, B9: a body that loops past its time is timed out; the pool goes on', async () => {
    expect(await outcomeOf(pool, 'loops_late')).toMatchObject({ ok: false, failure: { code: 'TOOL_TIMED_OUT' } })
    expect(await outcomeOf(pool, 'where')).toMatchObject({ ok: true })
  })

  it('T14: the grace is 1 s by default', async () => {
    const clock = manualClock()
    await withPool(app, { ...toSettings({ app: [], clock }).pool, threads: 1, memoryMb: 48 }, async (alone) => {
      const begins = createMeeting('deaf begins')
      const cancel = createCancel()
      const running = alone.run(jobFor('deaf', {}, { cancel }))
      await begins.arrived(1)
      begins.go()
      const worker = await outcomeOf(alone, 'where')
      cancel.abort(new SkeinError('CANCELLED', 'enough'))
      clock.advance(999)
      expect(clock.pending).toBe(1)
      expect(await outcomeOf(alone, 'where')).toEqual(worker)
      clock.advance(1)
      expect((await running).outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
      expect(await outcomeOf(alone, 'where')).not.toEqual(worker)
    })
  })

  it('T11: the pool ends a command that says nothing of time, and does not end by itself, after 60 s', async () => {
    const clock = manualClock()
    await withPool(app, { threads: 1, clock }, async (alone) => {
      expect(await outcomeOf(alone, 'bash', { cmd: 'true' })).toMatchObject({ ok: true })
      const running = outcomeOf(alone, 'bash', { cmd: 'sleep', args: ['1000'] })
      await until('the limit to run', () => clock.pending > 0)
      clock.advance(60_000)
      expect(clock.pending).toBe(1)
      clock.advance(250)
      expect(await running).toMatchObject({
        failure: { code: 'PROCESS_TIMEOUT', message: expect.stringContaining('did not end within 60000 ms') },
      })
    })
  })

  it('D4: cpu gives a body a worker to itself, while others share theirs', async () => {
    await single(async (alone) => {
      const several = (tool: string) => Promise.all(Array.from({ length: 4 }, () => outcomeOf(alone, tool)))
      const [computing, waiting] = await Promise.all([several('crowd_alone'), several('crowd')])
      const ran = (outcomes: readonly Returned['outcome'][]) =>
        outcomes.map((outcome) => (outcome.ok ? crowdSchema.parse(outcome.value) : { process: 0, most: 0 }))
      expect(ran(computing).map(({ most }) => most)).toEqual([1, 1, 1, 1])
      expect(Math.max(...ran(waiting).map(({ most }) => most))).toBeGreaterThan(1)
      const shared = new Set(ran(waiting).map((each) => each.process))
      expect(ran(computing).filter((each) => shared.has(each.process))).toEqual([])
    })
  })

  it('WT1: a call that is ended before it began never begins, and its thread lives on', async () => {
    await single(async (alone) => {
      const begins = createMeeting('loops begins')
      const looping = createCancel()
      const loops = alone.run(jobFor('loops', {}, { cancel: looping }))
      await begins.arrived(1)
      begins.go()
      const cancel = createCancel()
      const meeting = createMeeting('never')
      const behind = alone.run(jobFor('meets', { at: 'never' }, { cancel }))
      cancel.abort(new SkeinError('CANCELLED', 'not needed'))
      expect((await behind).outcome).toMatchObject({ failure: { code: 'CANCELLED', message: 'not needed' } })
      looping.abort(new SkeinError('CANCELLED', 'enough'))
      expect((await loops).outcome).toMatchObject({ failure: { code: 'CANCELLED', message: 'enough' } })
      expect(await outcomeOf(alone, 'where')).toMatchObject({ ok: true })
      const arrived = await Promise.race([
        meeting.arrived(1).then(() => 'began'),
        outcomeOf(alone, 'where').then(() => 'not begun'),
      ])
      expect(arrived).toBe('not begun')
      meeting.go()
    })
  })

  it('what is cut off by closing is not begun again, and nothing begins afterwards', async () => {
    const closing = await createPool(app, { ...options, threads: 1 })
    const meeting = createMeeting('closing')
    const running = outcomeOf(closing, 'meets', { at: 'closing' })
    await meeting.arrived(1)
    await closing.close()
    expect(await running).toMatchObject({ ok: false, failure: { code: 'WORKER_CRASHED' } })
    meeting.go()
    expect(await outcomeOf(closing, 'where')).toMatchObject({
      ok: false,
      failure: { code: 'WORKER_CRASHED', message: expect.stringContaining('closed') },
    })
  })

  it.each(['exits', 'hogs', 'bombs'])(
    'T14: a thread that dies (%s) costs its own call one result, and none of those that shared it',
    async (tool) => {
      await single(async (alone) => {
        const meeting = createMeeting(tool)
        const waiting = Array.from({ length: 4 }, () => outcomeOf(alone, 'meets', { at: tool }))
        await meeting.arrived(4)
        const died = await outcomeOf(alone, tool)
        expect(died).toMatchObject({
          ok: false,
          failure: { code: 'WORKER_CRASHED', message: expect.stringContaining(tool === 'exits' ? 'exited' : 'memory') },
        })
        await meeting.arrived(8) // all four began again
        meeting.go()
        expect(await Promise.all(waiting)).toEqual(
          Array.from({ length: 4 }, () => ({ ok: true, value: `met at ${tool}` })),
        )
        expect(await outcomeOf(alone, 'where')).toMatchObject({ ok: true })
      })
    },
  )

  it('T14, MW1: buffers taken without ever waiting cost one result that says so, and not the process', async () => {
    await single(async (alone) => {
      expect(await outcomeOf(alone, 'bombs_at_once')).toMatchObject({
        ok: false,
        failure: { code: 'WORKER_CRASHED', message: expect.stringContaining('memory') },
      })
      expect(await outcomeOf(alone, 'where')).toMatchObject({ ok: true })
    })
  })

  it('what was thrown away is not held against a body', async () => {
    expect(await outcomeOf(pool, 'garbage')).toEqual({ ok: true, value: 400_000_000 })
  })

  it('a call with a side effect is not run again when its thread dies', async () => {
    expect(await outcomeOf(pool, 'effect_exits')).toMatchObject({ ok: false, failure: { code: 'WORKER_CRASHED' } })
    const meeting = createMeeting('effect')
    const running = outcomeOf(pool, 'effect', { at: 'effect' })
    await meeting.arrived(1)
    meeting.go()
    expect(await running).toEqual({ ok: true, value: 'met at effect' })
  })

  it('a call whose body had not begun when its thread died runs, effect or not', async () => {
    await single(async (alone) => {
      const begins = createMeeting('effect loops')
      const loops = outcomeOf(alone, 'effect_loops_late')
      await begins.arrived(1)
      begins.go()
      const meeting = createMeeting('behind')
      const behind = outcomeOf(alone, 'effect', { at: 'behind' })
      expect(await loops).toMatchObject({ ok: false, failure: { code: 'TOOL_TIMED_OUT' } })
      await meeting.arrived(1)
      meeting.go()
      expect(await behind).toEqual({ ok: true, value: 'met at behind' })
    })
  })

  it('where no thread can start, a call fails and does not wait for ever', async () => {
    await withPool(app, { threads: 1, memoryMb: 1 }, async (poor) => {
      expect(await outcomeOf(poor, 'where')).toMatchObject({
        ok: false,
        failure: { code: 'WORKER_CRASHED', message: expect.stringContaining('raise workers.memoryMb') },
      })
    })
  })
})

describe('calls that wait for their snapshot', () => {
  const waits = (pool: Pool, snapshot: TestSnapshot, tool = 'waits'): Promise<Returned> =>
    pool.run(jobFor(tool, {}, { snapshot }))
  const snapshot = (gate: Promise<unknown>): TestSnapshot => testSnapshot({ gate, values: { 'kv/go': 'go' } })

  it.each([
    ['waits', 40],
    ['waits_alone', 3],
  ])('%s hold no place that others need', async (tool, count) => {
    await single(async (alone) => {
      const gate = deferred()
      const snapshots = Array.from({ length: count }, () => snapshot(gate.promise))
      const waiting = snapshots.map((each) => waits(alone, each, tool))
      await Promise.all(snapshots.map(({ asked }) => asked))
      // The one that they wait for, in the same lane.
      expect(await waits(alone, snapshot(Promise.resolve()), tool)).toMatchObject({
        outcome: { ok: true, value: 'go' },
      })
      gate.resolve()
      expect(await Promise.all(waiting)).toMatchObject(snapshots.map(() => ({ outcome: { ok: true, value: 'go' } })))
    })
  })

  it('a call that is ended while it waits ends at once', async () => {
    await single(async (alone) => {
      const cancel = createCancel()
      const stuck = snapshot(new Promise(() => undefined))
      const running = alone.run(jobFor('waits', {}, { snapshot: stuck, cancel }))
      await stuck.asked
      const meeting = createMeeting('beside')
      const neighbour = outcomeOf(alone, 'meets', { at: 'beside' })
      await meeting.arrived(1)
      cancel.abort(new SkeinError('CANCELLED', 'enough'))
      expect((await running).outcome).toMatchObject({ failure: { code: 'CANCELLED' } })
      meeting.go()
      expect(await neighbour).toMatchObject({ ok: true })
    })
  })
})
