/** The pool port: one suite for both adapters, and what only threads can do. */
import { BroadcastChannel } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../src/agent/app.js'
import { createCancel } from '../../src/core/cancel.js'
import { systemClock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Json } from '../../src/core/json.js'
import { createPool } from '../../src/pool/pool.js'
import type { Job, Pool } from '../../src/pool/port.js'
import { loadApp } from '../../src/runtime/load-app.js'

let app: App
beforeAll(async () => {
  app = await loadApp(fileURLToPath(new URL('./fixtures/pool-app.ts', import.meta.url)))
})

const options = { clock: systemClock, threads: 2, graceMs: 50, memoryMb: 48 }

function job(tool: string, args: Json = {}, cancel = createCancel()): Job {
  return { tool, args, threadId: 'thread-1', idempotencyKey: 'key-1', cancel }
}

/** The other side of `meet`: hears who is there, and lets all of them go. */
function createMeeting(at: string) {
  const channel = new BroadcastChannel(`meet/${at}`)
  let here = 0
  let told: () => void = () => undefined
  channel.addEventListener('message', () => {
    here++
    told()
  })
  return {
    arrived: (count: number): Promise<void> =>
      new Promise((resolve) => {
        told = () => here >= count && resolve()
        told()
      }),
    go(): void {
      channel.postMessage('go')
      channel.close()
    },
  }
}

describe.each(['host', 'workers'] as const)('%s', (kind) => {
  let pool: Pool
  beforeAll(async () => {
    const { module: _, ...here } = app
    pool = await createPool(kind === 'host' ? here : app, options)
  })
  afterAll(() => pool.close())

  it('T2: a value, a throw and a tool that is gone are outcomes', async () => {
    expect(await pool.run(job('echo', { say: 'hi' }))).toEqual({ ok: true, value: { say: 'hi', thread: 'thread-1', idempotencyKey: 'key-1' } })
    expect(await pool.run(job('throws'))).toMatchObject({ ok: false, failure: { code: 'TOOL_THREW', message: 'TypeError: no luck' } })
    expect(await pool.run(job('gone'))).toMatchObject({ ok: false, failure: { code: 'UNKNOWN_TOOL' } })
    expect(await pool.run(job('echo', { say: 5 }))).toMatchObject({ ok: false, failure: { code: 'TOOL_INPUT_INVALID' } })
  })

  it('T14: an abort reaches the body as its signal, and its reason is the outcome', async () => {
    const cancel = createCancel()
    const running = pool.run(job('polite', {}, cancel))
    cancel.abort(new SkeinError('CANCELLED', 'enough'))
    expect(await running).toMatchObject({ ok: false, failure: { code: 'CANCELLED', message: 'enough' } })
  })

  it('T2: a body that is late is timed out', async () => {
    expect(await pool.run(job('late'))).toMatchObject({ ok: false, failure: { code: 'TOOL_TIMED_OUT' } })
  })

  it('a tool runs in a thread, unless it says that it is at home on the host', async () => {
    expect(await pool.run(job('where'))).toMatchObject({ ok: true, value: { main: kind === 'host' } })
    expect(await pool.run(job('at_home'))).toEqual({ ok: true, value: { main: true } })
  })
})

describe('threads', () => {
  let pool: Pool
  beforeAll(async () => {
    pool = await createPool(app, options)
  })
  afterAll(() => pool.close())

  it('WP1: 64 calls that wait share two threads', async () => {
    const meeting = createMeeting('many')
    const running = Array.from({ length: 64 }, () => pool.run(job('meets', { at: 'many' })))
    await meeting.arrived(64)
    meeting.go()
    expect(new Set((await Promise.all(running)).map((outcome) => outcome.ok))).toEqual(new Set([true]))
  })

  it.each(['deaf', 'loops'])('T14, WP2: a body that does not hear the abort (%s) loses its thread; what shared it begins again', async (tool) => {
    const single = await createPool(app, { ...options, threads: 1 })
    const meeting = createMeeting(tool)
    const neighbour = single.run(job('meets', { at: tool }))
    await meeting.arrived(1)
    const cancel = createCancel()
    const begins = createMeeting(`${tool} begins`)
    const running = single.run(job(tool, {}, cancel))
    await begins.arrived(1)
    begins.go()
    cancel.abort(new SkeinError('CANCELLED', 'enough'))
    expect(await running).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
    await meeting.arrived(2) // only a thread that ended makes it begin again
    meeting.go()
    expect(await neighbour).toEqual({ ok: true, value: `met at ${tool}` })
    await single.close()
  })

  it('T14: a body that loops past its time is timed out; the pool goes on', async () => {
    expect(await pool.run(job('loops_late'))).toMatchObject({ ok: false, failure: { code: 'TOOL_TIMED_OUT' } })
    expect(await pool.run(job('where'))).toMatchObject({ ok: true })
  })

  it('WP4: what is cut off by closing is not begun again', async () => {
    const closing = await createPool(app, { ...options, threads: 1 })
    const meeting = createMeeting('closing')
    const running = closing.run(job('meets', { at: 'closing' }))
    await meeting.arrived(1)
    await closing.close()
    expect(await running).toMatchObject({ ok: false, failure: { code: 'WORKER_CRASHED' } })
    meeting.go()
  })

  it.each(['exits', 'hogs'])('T14: a thread that dies (%s) costs its own call one result, and none of those that shared it', { timeout: 60_000 }, async (tool) => {
    const single = await createPool(app, { ...options, threads: 1 })
    const meeting = createMeeting(tool)
    const waiting = Array.from({ length: 4 }, () => single.run(job('meets', { at: tool })))
    await meeting.arrived(4)
    expect(await single.run(job(tool))).toMatchObject({ ok: false, failure: { code: 'WORKER_CRASHED' } })
    await meeting.arrived(8) // all four began again
    meeting.go()
    expect(await Promise.all(waiting)).toEqual(Array.from({ length: 4 }, () => ({ ok: true, value: `met at ${tool}` })))
    expect(await single.run(job('where'))).toMatchObject({ ok: true })
    await single.close()
  })

  it('WP3: a call with a side effect is not run again when its thread dies', async () => {
    expect(await pool.run(job('effect_exits'))).toMatchObject({ ok: false, failure: { code: 'WORKER_CRASHED' } })
    const meeting = createMeeting('effect')
    const running = pool.run(job('effect', { at: 'effect' }))
    await meeting.arrived(1)
    meeting.go()
    expect(await running).toEqual({ ok: true, value: 'met at effect' })
  })
})
