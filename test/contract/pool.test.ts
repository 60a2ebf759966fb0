/** The pool port: one suite for both adapters. What only threads can do is in pool-threads.test.ts. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../src/agent/app.js'
import { createCancel } from '../../src/core/async/cancel.js'
import { systemClock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Json } from '../../src/core/json.js'
import { createPool } from '../../src/pool/pool.js'
import type { Pool, Returned, ToolOutput } from '../../src/pool/port.js'
import { loadApp } from '../../src/runtime/app/load.js'
import { builtins } from '../../src/tools/own/thread-files.js'
import { deferred } from '../helpers/deferred.js'
import { jobFor, testSnapshot } from './job.js'
import type { JobOptions } from './job.js'

let app: App
beforeAll(async () => {
  app = await loadApp(fileURLToPath(new URL('./fixtures/pool-app.ts', import.meta.url)), { builtins })
})

const options = { clock: systemClock, threads: 2, graceMs: 50, memoryMb: 512 }
const secret = 'hunter2hunter2'

describe.each(['host', 'workers'] as const)('%s', (kind) => {
  let pool: Pool
  beforeAll(async () => {
    const { module: _, ...here } = app
    pool = await createPool(kind === 'host' ? here : app, options)
  })
  afterAll(() => pool.close())

  const run = (tool: string, args?: Json, more?: JobOptions): Promise<Returned> => pool.run(jobFor(tool, args, more))
  const outcome = async (tool: string, args?: Json, more?: JobOptions) => (await run(tool, args, more)).outcome
  const failureOf = async (tool: string, args?: Json, more?: JobOptions) => {
    const found = await outcome(tool, args, more)
    return found.ok ? { code: 'none', message: JSON.stringify(found.value) } : found.failure
  }

  describe('outcomes', () => {
    it('T2: a value, a throw and a tool that is gone are outcomes', async () => {
      expect(await run('echo', { say: 'hi' })).toEqual({
        outcome: { ok: true, value: { say: 'hi', thread: 'thread-1', idempotencyKey: 'key-1' } },
      })
      expect(await failureOf('throws')).toMatchObject({ code: 'TOOL_THREW', message: 'TypeError: no luck' })
      expect(await failureOf('gone')).toMatchObject({ code: 'UNKNOWN_TOOL' })
      expect(await failureOf('echo', { say: 5 })).toMatchObject({ code: 'TOOL_INPUT_INVALID' })
    })

    it.each([
      ['function', '[function odd]'],
      ['cycle', { self: '[cycle]' }],
      ['bigint', String(2n ** 70n)],
      ['undefined', null],
      ['date', '1970-01-01T00:00:00.000Z'],
      ['weak', {}],
    ])('T2: an odd value (%s) is a value', async (what, value) => {
      expect(await outcome('odd', { what })).toEqual({ ok: true, value })
    })

    it('T6: what a body threw comes back as far as it can travel', async () => {
      const { thrown } = await pool.run(jobFor('throws_much'))
      expect(thrown).toMatchObject({
        name: 'RangeError',
        message: 'no luck',
        fields: { code: 'ECONNRESET', status: 503, body: { retryAfter: 7 } },
        cause: { name: 'Error', message: 'the reason' },
      })
      expect(thrown?.fields).not.toHaveProperty('socket')
      expect(thrown?.stack).toContain('execute')
    })

    it('T2: 50 million characters arrive', async () => {
      const found = await outcome('odd', { what: 'long' })
      expect(found.ok && typeof found.value === 'string' && found.value.length).toBe(50_000_000)
    })

    it('T14: an abort reaches the body as its signal, and its reason is the outcome', async () => {
      const cancel = createCancel()
      const running = outcome('polite', {}, { cancel })
      cancel.abort(new SkeinError('CANCELLED', 'enough'))
      expect(await running).toMatchObject({ ok: false, failure: { code: 'CANCELLED', message: 'enough' } })
    })

    it('T14: an abort before the start', async () => {
      const cancel = createCancel()
      cancel.abort(new SkeinError('CANCELLED', 'never mind'))
      expect(await failureOf('polite', {}, { cancel })).toMatchObject({ code: 'CANCELLED', message: 'never mind' })
    })

    it('T2: a body that is late is timed out', async () => {
      expect(await failureOf('late')).toMatchObject({ code: 'TOOL_TIMED_OUT' })
    })

    it('a tool runs in a worker process, unless it says that it is at home on the host', async () => {
      const found = await outcome('where')
      expect(found.ok && JSON.stringify(found.value) === JSON.stringify({ process: process.pid })).toBe(kind === 'host')
      expect(await outcome('at_home')).toEqual({ ok: true, value: { process: process.pid } })
    })

    it('the model reads what toModelOutput makes of the value itself', async () => {
      expect(await run('speaks')).toEqual({
        outcome: { ok: true, value: { at: '1970-01-01T00:00:00.000Z' } },
        text: 'at 0',
      })
    })
  })

  describe('files', () => {
    it('a body reads what is there, and its own changes at once', async () => {
      expect(
        await outcome('reads', { path: '/a/b.txt' }, { snapshot: testSnapshot({ files: { '/a/b.txt': 'hello' } }) }),
      ).toEqual({ ok: true, value: 'hello' })
      const returned = await run('writes', { path: '/new', text: 'fresh' })
      expect(returned).toMatchObject({
        outcome: { ok: true, value: 'nothing' },
        messages: [{ text: 'wrote /new', silent: true }],
      })
      expect(returned.changes).toMatchObject({
        files: [{ op: 'file', path: '/new', size: 5 }],
        values: [{ key: 'kv/wrote', value: '/new' }],
      })
      expect(returned.contents?.map(({ bytes }) => new TextDecoder().decode(bytes))).toEqual(['fresh'])
      expect(returned.reads?.files?.map(({ path }) => path)).toContain('/new')
    })

    it('T2: a returned error keeps what the body did; a throw and a bad result keep only what it saw', async () => {
      expect(await run('writes', { path: '/new', text: 'x', end: 'error' })).toMatchObject({
        outcome: { failure: { code: 'TOOL_FAILED' } },
        changes: { files: [{ path: '/new' }] },
        messages: [{}],
        contents: [{}],
      })
      for (const [end, code] of [
        ['throw', 'TOOL_THREW'],
        ['bad', 'TOOL_OUTPUT_INVALID'],
      ] as const) {
        const lost = await run('writes', { path: '/new', text: 'x', end })
        expect(lost).toMatchObject({ outcome: { ok: false, failure: { code } }, reads: { files: expect.any(Array) } })
        expect(Object.keys(lost).sort()).toEqual(['outcome', 'reads', ...(lost.thrown ? ['thrown'] : [])])
      }
    })

    it('what the files refuse is told with its code', async () => {
      expect(await failureOf('missing')).toMatchObject({
        code: 'TOOL_THREW',
        message: expect.stringContaining('ENOENT'),
      })
    })

    it('64 MB go in and come out; what the body does to its bytes harms nobody', async () => {
      const size = 64 * 1024 * 1024
      const snapshot = testSnapshot({ files: { '/big': new Uint8Array(size).fill(3) } })
      const { outcome: found, contents } = await run('doubles', { path: '/big' }, { snapshot })
      expect(found).toEqual({ ok: true, value: { length: size } })
      const [made] = contents ?? []
      expect([made?.bytes.length, made?.bytes[0], made?.bytes[4096], made?.bytes[1]]).toEqual([size, 6, 6, 0])
      expect(await outcome('doubles', { path: '/big' }, { snapshot })).toMatchObject({ ok: true })
      expect([...snapshot.contents.values()][0]?.[0]).toBe(3)
    })

    it('a small content that a body spoiled for itself is whole for the next', async () => {
      const snapshot = testSnapshot({ files: { '/small': new Uint8Array(4).fill(3) } })
      for (let turn = 0; turn < 6; turn++)
        expect((await run('doubles', { path: '/small' }, { snapshot })).contents?.[0]?.bytes[0]).toBe(6)
    })

    it('a large file is stored in parts while it is written', async () => {
      const snapshot = testSnapshot({ files: { '/big': new Uint8Array(5_000_000).fill(9) }, part: 100_000 })
      const returned = await run('pipes', { path: '/big' }, { snapshot })
      expect(returned).toMatchObject({
        outcome: { ok: true, value: 50 },
        changes: { files: [{ path: '/piped', size: 5_000_000 }] },
      })
      expect(returned.contents).toBeUndefined()
      const [piped] = returned.changes?.files ?? []
      expect(piped?.op === 'file' && snapshot.contents.get(piped.hash)?.length).toBe(5_000_000)
    })

    it('a stream that breaks off, and one that is left early', async () => {
      const snapshot = testSnapshot({ files: { '/big': new Uint8Array(5_000_000) }, part: 100_000 })
      expect(await failureOf('pipes', { path: '/big', parts: 20 }, { snapshot })).toMatchObject({
        code: 'TOOL_THREW',
        message: 'enough',
      })
      expect(snapshot.contents.size).toBe(1)
      expect(await outcome('peeks', { path: '/big' }, { snapshot })).toEqual({ ok: true, value: 100_000 })
    })
  })

  describe('values', () => {
    it('kv: what was seen is noted with its version, own changes are seen at once', async () => {
      const snapshot = testSnapshot({ values: { 'kv/count': { n: 1 }, 'kv/old': 'x' } })
      const returned = await run('keeps', {}, { snapshot })
      expect(returned.outcome).toEqual({
        ok: true,
        value: { before: { n: 1 }, odd: 'never', after: { n: 2 }, old: 'gone' },
      })
      expect(returned.reads).toEqual({
        values: [
          { key: 'kv/count', version: 7 },
          { key: 'kv/__proto__', version: 0 },
        ],
      })
      expect(returned.changes).toEqual({ values: [{ key: 'kv/count', value: { n: 2 } }, { key: 'kv/old' }] })
      expect(snapshot.opened).toBe(1)
    })

    it('T9: local and shared are read live, merged and checked; a body cannot change them behind our back', async () => {
      const snapshot = testSnapshot({
        values: { 'context/counts_itself': { count: 1, name: 'kept' }, shared: { total: 10, other: 'kept' } },
        given: ['context/counts_itself', 'shared'],
      })
      const returned = await run('counts_itself', { by: 2 }, { snapshot })
      expect(returned.outcome).toEqual({ ok: true, value: { before: 1, now: 3, total: 12 } })
      expect(returned.changes).toEqual({
        values: [
          { key: 'context/counts_itself', value: { count: 3, name: 'kept' } },
          { key: 'shared', value: { total: 12, other: 'kept' } },
        ],
      })
      expect(returned.reads).toEqual({
        values: [
          { key: 'context/counts_itself', version: 7 },
          { key: 'shared', version: 7 },
        ],
      })
      expect(snapshot.opened).toBe(0)
    })

    it('T9: before the first value there are the defaults', async () => {
      expect(
        await outcome(
          'counts_itself',
          { by: 2 },
          { snapshot: testSnapshot({ given: ['context/counts_itself', 'shared'] }) },
        ),
      ).toEqual({ ok: true, value: { before: 0, now: 2, total: 2 } })
    })

    it('T9: setting without a schema, or against it, is an error', async () => {
      expect(await failureOf('no_schema')).toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringContaining('contextSchema'),
      })
      const bad = await run('bad_context')
      expect(bad.outcome).toMatchObject({
        failure: { code: 'TOOL_OUTPUT_INVALID', message: expect.stringContaining('count') },
      })
      expect(bad.changes).toBeUndefined()
    })
  })

  describe('generators', () => {
    it('T8: every event is told in order, all before the result, which carries them', async () => {
      const heard: ToolOutput[] = []
      const returned = await run('counts', { to: 20_000 }, { heard })
      expect(returned.outcome).toEqual({ ok: true, value: { n: -1 } })
      const events = Array.from({ length: 20_000 }, (_, index) => ({ n: index + 1 }))
      expect(returned.preliminaries).toEqual(events)
      expect(heard).toEqual(events.map((event) => ({ type: 'preliminary', event })))
    })

    it('T8: events are told while the body runs', async () => {
      const cancel = createCancel()
      const first = deferred<ToolOutput>()
      const running = run('never_ends', {}, { cancel, emit: (what) => first.resolve(what) })
      expect(await first.promise).toEqual({ type: 'preliminary', event: { n: 1 } })
      cancel.abort(new SkeinError('CANCELLED', 'enough'))
      expect((await running).outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
    })

    it('T8: without a return the last event is the result', async () => {
      const heard: ToolOutput[] = []
      expect((await run('counts', { to: 3, end: 'nothing' }, { heard })).outcome).toEqual({ ok: true, value: { n: 3 } })
      expect(heard.at(-1)).toEqual({ type: 'log', text: 'no return' })
      expect(await failureOf('counts', { to: 0, end: 'nothing' })).toMatchObject({ code: 'TOOL_OUTPUT_INVALID' })
    })

    it('T8: an event that does not fit, and a throw, end it; what was told stays told', async () => {
      const bad = await run('counts', { to: 2, end: 'bad' })
      expect(bad).toMatchObject({
        outcome: { failure: { code: 'TOOL_OUTPUT_INVALID', message: expect.stringContaining('n: ') } },
        preliminaries: [{ n: 1 }, { n: 2 }],
      })
      expect(await run('counts', { to: 1, end: 'throw' })).toMatchObject({
        outcome: { failure: { code: 'TOOL_THREW' } },
        preliminaries: [{ n: 1 }],
      })
    })
  })

  describe('variables', () => {
    const env = { TOKEN: secret, REGION: 'eu-central-1' }

    it('F3: a body reads what it declares, and nothing else', async () => {
      expect(await outcome('knows', { name: 'REGION' }, { env })).toEqual({
        ok: true,
        value: { value: 'eu-central-1' },
      })
      expect(await outcome('knows', { name: 'BASE' }, { env })).toEqual({ ok: true, value: { value: 'here' } })
      expect(await failureOf('knows', { name: 'PATH' }, { env: { ...env, PATH: '/bin' } })).toMatchObject({
        code: 'TOOL_NOT_ALLOWED',
      })
      expect(await failureOf('knows', { name: 'constructor' }, { env })).toMatchObject({ code: 'TOOL_NOT_ALLOWED' })
      expect(await outcome('knows', { name: 'MAYBE' }, { env })).toEqual({ ok: true, value: { value: '' } })
      expect(await failureOf('knows', { name: 'OTHER' }, { env })).toMatchObject({
        code: 'ENV_MISSING',
        message: expect.stringContaining('OTHER'),
      })
    })

    it.each([
      [
        'value',
        {
          outcome: { ok: true, value: { deep: [{ token: '[redacted]' }], length: secret.length } },
          text: 'told [redacted]',
          messages: [{ text: 'message [redacted]' }],
          changes: { values: [{ value: '[redacted]' }] },
        },
      ],
      ['error', { outcome: { ok: false, failure: { message: 'bad token [redacted]' } } }],
      [
        'cause',
        {
          outcome: {
            ok: false,
            failure: { data: { token: '[redacted]' }, cause: { message: 'because of [redacted]' } },
          },
        },
      ],
      ['reported', { outcome: { ok: false, failure: { message: '{"url":"/?key=[redacted]"}' } } }],
    ])('F3: a secret does not get out (%s)', async (by, found) => {
      const heard: ToolOutput[] = []
      const returned = await run('leaks', { by }, { env, heard })
      const all = JSON.stringify([returned, heard])
      for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, -4)]) expect(all).not.toContain(form)
      expect(heard).toEqual([
        { type: 'log', text: 'log [redacted]' },
        { type: 'progress', event: { deep: ['[redacted]'] } },
        { type: 'preliminary', event: { said: 'event [redacted]' } },
      ])
      expect(returned).toMatchObject(found)
    })
  })

  describe('other tools', () => {
    it('T13: a tool that is invoked runs within the call', async () => {
      const heard: ToolOutput[] = []
      const returned = await run('delegates', { to: 'adds', args: { a: 2 } }, { heard })
      expect(returned.outcome).toEqual({ ok: true, value: { result: { sum: 3, key: 'key-1' }, left: true } })
      expect(returned.changes?.files?.map((change) => change.path)).toEqual(['/from', '/left'])
      expect(heard).toEqual([{ type: 'log', text: 'adding' }])
      expect(await outcome('delegates', { to: 'counts', args: { to: 2 } })).toMatchObject({
        value: { result: { n: -1 } },
      })
      const contexts = testSnapshot({ values: { 'context/counts_itself': { count: 5 } } })
      expect(
        await outcome('delegates', { to: 'counts_itself', args: { by: 1 } }, { snapshot: contexts }),
      ).toMatchObject({
        value: { result: { before: 5, now: 6 } },
      })
    })

    it.each([
      ['echo', {}, ['TOOL_NOT_ALLOWED', 'may not use']],
      ['asks', {}, ['TOOL_NOT_ALLOWED', 'asks a person']],
      ['approves', {}, ['TOOL_NOT_ALLOWED', 'approval']],
      ['by_hand', {}, ['TOOL_NOT_ALLOWED', 'queueTool']],
      ['adds', { a: 'x' }, ['TOOL_INPUT_INVALID', 'a: ']],
      ['throws', {}, ['TOOL_THREW', 'no luck']],
      ['knows', { name: 'TOKEN' }, ['ENV_MISSING', 'TOKEN']],
    ])('T13: invoking %s (%j) is an error', async (to, args, [code, message]) => {
      expect(await failureOf('delegates', { to, args })).toMatchObject({
        code,
        message: expect.stringContaining(message ?? ''),
      })
    })

    it('T13: a tool of the host cannot be invoked from a thread', async () => {
      const found = await outcome('delegates', { to: 'at_home' })
      expect(found).toMatchObject(
        kind === 'host' ? { value: { result: { process: process.pid } } } : { failure: { code: 'TOOL_NOT_ALLOWED' } },
      )
    })

    it('T13: what is queued comes back with the result', async () => {
      expect(await run('queues', { tool: 'adds', args: { a: 1 } })).toEqual({
        outcome: { ok: true, value: 'queued' },
        queued: [{ tool: 'adds', args: { a: 1 } }],
        messages: [{ text: 'later' }],
      })
      expect((await run('queues', { tool: 'ls', args: { path: '/' } })).queued).toEqual([
        { tool: 'ls', args: { path: '/' } },
      ])
      expect(await failureOf('queues', { tool: 'adds', args: {} })).toMatchObject({ code: 'TOOL_INPUT_INVALID' })
      expect(await failureOf('queues', { tool: 'echo' })).toMatchObject({ code: 'TOOL_NOT_ALLOWED' })
    })

    it("Skein's own tools are found by name", async () => {
      const snapshot = testSnapshot({ files: { '/a.txt': 'hello' } })
      expect(await outcome('ls', { path: '/' }, { snapshot })).toMatchObject({
        ok: true,
        value: expect.stringContaining('a.txt'),
      })
    })

    it('X1: terminate of a run ends code that loops', async () => {
      expect(await outcome('terminates_code', { source: 'for (;;);' })).toEqual({
        ok: true,
        value: 'terminated: enough',
      })
    })

    it('runCode runs in a sandbox', async () => {
      expect(await outcome('runs_code', { source: 'export default 6 * 7' })).toEqual({ ok: true, value: 42 })
    })
  })

  describe('people and probes', () => {
    it('D3, A3: null of onToolCalled is held; an answer is what onResponseReceived makes of it, checked', async () => {
      expect(await run('asks')).toEqual({ outcome: { ok: true, value: null }, held: true })
      expect(await outcome('answers_itself')).toEqual({ ok: true, value: 'known' })
      expect(await outcome('asks', {}, { run: { part: 'respond', answer: 'yes' } })).toEqual({
        ok: true,
        value: { answer: 'yes' },
      })
      expect(await failureOf('asks', {}, { run: { part: 'respond', answer: 5 } })).toMatchObject({
        code: 'TOOL_OUTPUT_INVALID',
      })
      expect(await outcome('by_hand', {}, { run: { part: 'respond', answer: { ok: true } } })).toEqual({
        ok: true,
        value: { ok: true },
      })
      expect(await failureOf('by_hand')).toMatchObject({ code: 'TOOL_NOT_ALLOWED' })
    })

    it('T10: a probe says what happened, or null', async () => {
      expect(await outcome('probes', {}, { run: { part: 'probe' } })).toEqual({ ok: true, value: null })
      expect(await outcome('probes', {}, { run: { part: 'probe' }, idempotencyKey: 'other' })).toEqual({
        ok: true,
        value: 'had',
      })
    })
  })

  it('a body that talks too much is cut short, and it is said that it was', async () => {
    const heard: ToolOutput[] = []
    await run('babbles', {}, { heard })
    expect(heard.length).toBeLessThan(5_000)
    const [first] = heard
    expect(first?.type === 'log' && first.text.length).toBeLessThan(17_000)
    expect(heard.filter((what) => what.type === 'log' && what.text.includes('dropped'))).toHaveLength(1)
  })

  it('a call that waits for its snapshot is not late', async () => {
    const gate = deferred()
    const waiting = outcome(
      'waits_briefly',
      {},
      { snapshot: testSnapshot({ gate: gate.promise, values: { 'kv/go': 'go' } }) },
    )
    // More than its limit, spent by another body.
    expect(await failureOf('late_enough')).toMatchObject({ code: 'TOOL_TIMED_OUT' })
    gate.resolve()
    expect(await waiting).toEqual({ ok: true, value: ['go', false] })
  })
})
