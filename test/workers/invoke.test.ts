/** One tool body, and all that may become of it. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ToolDefinition, ToolState } from '../../src/agent/define.js'
import { createCancel } from '../../src/core/cancel.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { invoke } from '../../workers/invoke.js'
import { looseTool } from '../helpers/app.js'
import { deferred } from '../helpers/deferred.js'

function start(tool: ToolDefinition, args: { [key: string]: string } = {}) {
  const clock = manualClock()
  const cancel = createCancel()
  const job = { tool: tool.name, args, threadId: 't', idempotencyKey: 'k', cancel }
  return { clock, cancel, outcome: invoke(tool, job, clock) }
}

describe('IV1: whatever happens is an outcome', () => {
  it('IV1, T2: a value, now or later', async () => {
    expect(await start(looseTool('look', () => 'now')).outcome).toEqual({ ok: true, value: 'now' })
    expect(await start(looseTool('look', async () => 'later')).outcome).toEqual({ ok: true, value: 'later' })
  })

  it('IV1: a thing that is awaited like a promise is awaited', async () => {
    // As query builders do.
    const query = {}
    Reflect.set(query, 'then', (resolve: (rows: string[]) => void) => resolve(['row']))
    expect(await start(looseTool('look', () => query)).outcome).toEqual({ ok: true, value: ['row'] })
  })

  it('IV1, T2: a throw, now or later, of whatever', async () => {
    const angry = (thrown: unknown) =>
      looseTool('look', () => {
        throw thrown
      })
    expect(await start(angry(new RangeError('too far'))).outcome).toEqual({ ok: false, failure: { code: 'TOOL_THREW', message: 'RangeError: too far', retry: false } })
    expect(await start(looseTool('look', () => Promise.reject(new Error('later')))).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_THREW', message: 'later' } })
    expect(await start(angry('text')).outcome).toMatchObject({ ok: false, failure: { message: 'text' } })
    expect(await start(angry(undefined)).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_THREW' } })
    expect(await start(angry(Object.create(null))).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_THREW' } })
    expect(await start(angry(new SkeinError('TOOL_FAILED', 'said so', { data: { n: 1 } }))).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_FAILED', data: { n: 1 } } })
  })

  it('IV1, P3: args that no longer fit, without running the body', async () => {
    let ran = false
    const tool = looseTool('look', () => (ran = true), { args: z.object({ needed: z.string() }) })
    expect(await start(tool).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_INPUT_INVALID' } })
    expect(ran).toBe(false)
  })

  it('IV1: args whose schema throws or must be awaited', async () => {
    const throwing = looseTool('look', () => 1, { args: z.looseObject({ a: z.string().refine((text) => JSON.parse(text) !== 0) }) })
    expect(await start(throwing, { a: '{' }).outcome).toMatchObject({ ok: false })
    const slow = looseTool('look', () => 1, { args: z.looseObject({ a: z.string().refine(async () => true) }) })
    expect((await start(slow, { a: 'x' }).outcome).ok).toBeDefined()
  })

  it('IV1, T2: a result that the schema does not allow', async () => {
    expect(await start(looseTool('look', () => 5, { outputSchema: z.string() })).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_OUTPUT_INVALID' } })
  })

  it('T1: the body reads what its schema gives: defaults and transforms, once', async () => {
    const seen: unknown[] = []
    const args = z.object({ n: z.string().transform(Number), unit: z.string().default('ms') })
    await start(looseTool('look', (_, given) => void seen.push(given), { args }), { n: '5' }).outcome
    expect(seen).toEqual([{ n: 5, unit: 'ms' }])
  })

  it('the body is told where it runs', async () => {
    let told: Pick<ToolState, 'threadId' | 'idempotencyKey'> | undefined
    await start(looseTool('look', ({ threadId, idempotencyKey }) => void (told = { threadId, idempotencyKey }))).outcome
    expect(told).toEqual({ threadId: 't', idempotencyKey: 'k' })
  })
})

describe('IV2: a body that was ended has lost its result', () => {
  it('IV2, T2: time-out, with a signal that says so; what comes later is dropped', async () => {
    const late = deferred<string>()
    let signal: AbortSignal | undefined
    const tool = looseTool('look', (state) => ((signal = state.signal), late.promise), { timeoutMs: 100 })
    const { clock, outcome } = start(tool)
    clock.advance(99)
    expect(signal?.aborted).toBe(false)
    clock.advance(1)
    expect(await outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_TIMED_OUT', message: 'look did not finish within 100 ms' } })
    expect(signal?.reason).toMatchObject({ code: 'TOOL_TIMED_OUT' })
    late.resolve('too late')
    await late.promise
  })

  it('IV2: abort, also of a body that never looks at its signal', async () => {
    const late = deferred<string>()
    const { cancel, outcome } = start(looseTool('look', () => late.promise))
    cancel.abort(new SkeinError('CANCELLED', 'no longer wanted'))
    expect(await outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
    late.reject(new Error('nobody hears this'))
  })

  it('IV2: an abort before the start', async () => {
    const cancel = createCancel()
    cancel.abort(new SkeinError('CANCELLED', 'never mind'))
    const tool = looseTool('look', async () => 'done')
    const outcome = await invoke(tool, { args: {}, threadId: 't', idempotencyKey: 'k', cancel }, manualClock())
    expect(outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
  })

  it('IV2: a body that finished leaves no timer behind', async () => {
    const { clock, outcome } = start(looseTool('look', async () => 'quick', { timeoutMs: 100 }))
    await outcome
    expect(clock.pending).toBe(0)
  })
})
