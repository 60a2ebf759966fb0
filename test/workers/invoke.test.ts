/** One tool body, and all that may become of it. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ToolDefinition, ToolState } from '../../src/agent/define.js'
import { createCancel } from '../../src/core/async/cancel.js'
import type { Cancel } from '../../src/core/async/cancel.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import type { ManualClock } from '../../src/core/manual-clock.js'
import type { Returned, ToolOutput } from '../../src/pool/port.js'
import { callArgs, todoValue } from '../../src/tools/own/runtime.js'
import type { TodoValue } from '../../src/tools/own/runtime.js'
import { invoke } from '../../workers/body/invoke.js'
import { jobFor, testSnapshot } from '../contract/job.js'
import type { JobOptions } from '../contract/job.js'
import { looseTool } from '../helpers/app.js'
import { deferred, turn, until } from '../helpers/deferred.js'

interface Started {
  readonly clock: ManualClock
  readonly cancel: Cancel
  readonly returned: Promise<Returned>
  readonly outcome: Promise<Returned['outcome']>
}

function start(tool: ToolDefinition, args: { [key: string]: string } = {}, more: JobOptions = {}): Started {
  const clock = manualClock()
  const cancel = createCancel()
  const returned = invoke(tool, jobFor(tool.name, args, { cancel, ...more }), {
    clock,
    limits: 'here',
    find: () => undefined,
  })
  return { clock, cancel, returned, outcome: returned.then(({ outcome }) => outcome) }
}

describe('whatever happens is an outcome', () => {
  it('T2: a value, now or later', async () => {
    expect(await start(looseTool('look', () => 'now')).outcome).toEqual({ ok: true, value: 'now' })
    expect(await start(looseTool('look', async () => 'later')).outcome).toEqual({ ok: true, value: 'later' })
  })

  it('a long list becomes JSON in a turn of the event loop of its own, and all of it in that turn', async () => {
    const orderFor = async (length: number): Promise<readonly string[]> => {
      const order: string[] = []
      const item = (name: string) => ({ toJSON: () => order.push(name) })
      const list = [item('first'), ...Array.from({ length: length - 2 }, () => 0), item('last')]
      const tool = looseTool('list', async () => {
        setImmediate(() => order.push('turn'))
        return list
      })
      expect(await start(tool).outcome).toMatchObject({ ok: true })
      await turn()
      return order
    }
    expect(await orderFor(3)).toEqual(['first', 'last', 'turn'])
    expect(await orderFor(5_000)).toEqual(['turn', 'first', 'last'])
  })

  it('a thing that is awaited like a promise is awaited', async () => {
    // As query builders do.
    const query = {}
    Reflect.set(query, 'then', (resolve: (rows: string[]) => void) => resolve(['row']))
    expect(await start(looseTool('look', () => query)).outcome).toEqual({ ok: true, value: ['row'] })
  })

  it('T2: a throw, now or later, of whatever', async () => {
    const angry = (thrown: unknown) =>
      looseTool('look', () => {
        throw thrown
      })
    expect(await start(angry(new RangeError('too far'))).outcome).toEqual({
      ok: false,
      failure: { code: 'TOOL_THREW', message: 'RangeError: too far', retry: false },
    })
    expect(await start(looseTool('look', () => Promise.reject(new Error('later')))).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_THREW', message: 'later' },
    })
    expect(await start(angry('text')).outcome).toMatchObject({ ok: false, failure: { message: 'text' } })
    expect(await start(angry(undefined)).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_THREW' } })
    expect(await start(angry(Object.create(null))).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_THREW' },
    })
    expect(await start(angry(new SkeinError('TOOL_FAILED', 'said so', { data: { n: 1 } }))).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_FAILED', data: { n: 1 } },
    })
  })

  it('P3: args that no longer fit, without running the body', async () => {
    let ran = false
    const tool = looseTool('look', () => (ran = true), { args: z.object({ needed: z.string() }) })
    expect(await start(tool).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_INPUT_INVALID' } })
    expect(ran).toBe(false)
  })

  it('args whose schema throws or must be awaited', async () => {
    const throwing = looseTool('look', () => 1, {
      args: z.looseObject({ a: z.string().refine((text) => JSON.parse(text) !== 0) }),
    })
    expect(await start(throwing, { a: '{' }).outcome).toMatchObject({ ok: false })
    const slow = looseTool('look', () => 1, { args: z.looseObject({ a: z.string().refine(async () => true) }) })
    expect((await start(slow, { a: 'x' }).outcome).ok).toBeDefined()
  })

  it('T2: a result that the schema does not allow', async () => {
    expect(await start(looseTool('look', () => 5, { outputSchema: z.string() })).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_OUTPUT_INVALID' },
    })
  })

  it('T1: the body reads what its schema gives: defaults and transforms, once', async () => {
    const seen: unknown[] = []
    const args = z.object({ n: z.string().transform(Number), unit: z.string().default('ms') })
    await start(
      looseTool('look', (_, given) => void seen.push(given), { args }),
      { n: '5' },
    ).outcome
    expect(seen).toEqual([{ n: 5, unit: 'ms' }])
  })

  it('the body is told where it runs', async () => {
    let told: Pick<ToolState, 'threadId' | 'idempotencyKey'> | undefined
    await start(looseTool('look', ({ threadId, idempotencyKey }) => void (told = { threadId, idempotencyKey }))).outcome
    expect(told).toEqual({ threadId: 'thread-1', idempotencyKey: 'key-1' })
  })
})

describe('a body that was ended has lost its result', () => {
  it('T2: time-out, with a signal that says so; what comes later is dropped', async () => {
    const late = deferred<string>()
    let signal: AbortSignal | undefined
    const tool = looseTool(
      'look',
      (state) => {
        signal = state.signal
        return late.promise
      },
      { timeoutMs: 100 },
    )
    const { clock, outcome } = start(tool)
    clock.advance(99)
    expect(signal?.aborted).toBe(false)
    clock.advance(1)
    expect(await outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_TIMED_OUT', message: 'look did not finish within 100 ms' },
    })
    expect(signal?.reason).toMatchObject({ code: 'TOOL_TIMED_OUT' })
    late.resolve('too late')
    await late.promise
  })

  it('abort, also of a body that never looks at its signal', async () => {
    const late = deferred<string>()
    const { cancel, outcome } = start(looseTool('look', () => late.promise))
    cancel.abort(new SkeinError('CANCELLED', 'no longer wanted'))
    expect(await outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
    late.reject(new Error('nobody hears this'))
  })

  it('an abort before the start', async () => {
    const cancel = createCancel()
    cancel.abort(new SkeinError('CANCELLED', 'never mind'))
    const tool = looseTool('look', async () => 'done')
    const { outcome } = start(tool, {}, { cancel })
    expect(await outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
  })

  it('a body that finished leaves no timer behind', async () => {
    const { clock, outcome } = start(looseTool('look', async () => 'quick', { timeoutMs: 100 }))
    await outcome
    expect(clock.pending).toBe(0)
  })

  it('a time-out drops what the body did; its limit stands still while it waits for its snapshot', async () => {
    const gate = deferred()
    const late = deferred()
    const tool = looseTool(
      'look',
      async ({ kv }) => {
        await kv.get('seen')
        await kv.set('done', true)
        await late.promise
      },
      { timeoutMs: 100 },
    )
    const { clock, returned } = start(tool, {}, { snapshot: testSnapshot({ gate: gate.promise }) })
    clock.advance(1_000)
    expect(clock.pending).toBe(0)
    gate.resolve()
    await until('it goes on', () => clock.pending > 0)
    clock.advance(100)
    const { outcome, thrown, ...rest } = await returned
    expect(outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_TIMED_OUT' } })
    expect(thrown).toMatchObject({ fields: { code: 'TOOL_TIMED_OUT' } })
    expect(rest).toEqual({ reads: { values: [{ key: 'kv/seen', version: 0 }] } })
  })

  it('what a body says after its end is not heard', async () => {
    const heard: ToolOutput[] = []
    const late = deferred()
    const said = deferred()
    const tool = looseTool('look', ({ log }) => {
      log('in time')
      void late.promise.then(() => log('too late')).then(() => said.resolve())
      return 'done'
    })
    await start(tool, {}, { heard }).outcome
    late.resolve()
    await said.promise
    expect(heard).toEqual([{ type: 'log', text: 'in time' }])
  })
})

describe('generators', () => {
  it('T8: a body that was ended is made to return at its next yield', async () => {
    const goes = deferred()
    const returned = deferred()
    async function* body() {
      try {
        yield 1
        await goes.promise
        yield 2
        throw new Error('it went on')
      } finally {
        returned.resolve()
      }
    }
    const heard: ToolOutput[] = []
    const first = deferred()
    const { cancel, outcome } = start(
      looseTool('look', body),
      {},
      {
        emit(output) {
          heard.push(output)
          first.resolve()
        },
      },
    )
    await first.promise
    cancel.abort(new SkeinError('CANCELLED', 'enough'))
    expect(await outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
    goes.resolve()
    await returned.promise
    expect(heard).toEqual([{ type: 'preliminary', event: 1 }])
  })

  it('a body that yields without waiting hears an abort', async () => {
    async function* body() {
      for (let n = 0; ; n++) yield n
    }
    const { cancel, outcome } = start(looseTool('look', body))
    await turn()
    cancel.abort(new SkeinError('CANCELLED', 'enough'))
    expect(await outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
  })
})

describe('what the model reads', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('no words')
      },
    ],
    ['gives no text', () => JSON.parse('5')],
  ])('toModelOutput that %s costs a line in the log, not the result', async (_, toModelOutput) => {
    const heard: ToolOutput[] = []
    expect(
      await start(
        looseTool('look', () => 'fine', { toModelOutput }),
        {},
        { heard },
      ).returned,
    ).toEqual({ outcome: { ok: true, value: 'fine' } })
    expect(heard).toMatchObject([{ type: 'log', text: expect.stringContaining('toModelOutput') }])
  })
})

describe('T13: tools that are not there', () => {
  it('invoking one that nobody defined is an error', async () => {
    const tool = looseTool('look', ({ invokeTool }) => invokeTool('nobody', {}), { uses: ['nobody'] })
    expect(await start(tool).outcome).toMatchObject({
      ok: false,
      failure: { code: 'UNKNOWN_TOOL', message: expect.stringContaining('nobody') },
    })
  })

  it('what only the runtime knows can be queued', async () => {
    const tool = looseTool('look', ({ queueTool }) => queueTool('subagent', { any: 1 }), { uses: ['subagent'] })
    expect((await start(tool).returned).queued).toEqual([{ tool: 'subagent', args: { any: 1 } }])
  })
})

it("T12: the runtime's own tools reach the todo list and the args of their call", async () => {
  const tool = looseTool('look', async (state) => {
    const todo: TodoValue = Reflect.get(state, todoValue)
    const before = await todo.get()
    await todo.set(['write'])
    return { before, after: await todo.get(), args: Reflect.get(state, callArgs) }
  })
  const returned = await start(tool, { a: 'b' }, { snapshot: testSnapshot({ values: { todo: [] } }) }).returned
  expect(returned).toEqual({
    outcome: { ok: true, value: { before: [], after: ['write'], args: { a: 'b' } } },
    reads: { values: [{ key: 'todo', version: 7 }] },
    changes: { values: [{ key: 'todo', value: ['write'] }] },
  })
})
