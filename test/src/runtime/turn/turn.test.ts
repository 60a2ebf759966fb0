/** A turn with calls: what runs, how many at once, in which order results are read, and what goes wrong in a tool. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Deferred } from '../../../helpers/deferred.js'
import { deferred, quiet, turns, until } from '../../../helpers/deferred.js'
import { appOn, calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'
import { SkeinError } from '../../../../src/core/failure.js'

onEveryStore('a turn', (world) => {
  it('F1, R1: a message, two calls and an answer', async () => {
    const { app, model } = tinyApp({
      script: [
        {
          text: 'I look.',
          calls: [
            { tool: 'look', args: '{"at":"a"}' },
            { tool: 'look', args: { at: 'b' } },
          ],
          usage: { inputTokens: 10, outputTokens: 2 },
        },
        { text: 'done', usage: { inputTokens: 20, outputTokens: 3 } },
      ],
      tools: [looseTool('look', (_, { at }) => ({ saw: at }))],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', tags: ['x'] })
    const run = thread.send('go')
    expect(await run.result()).toEqual({
      text: 'done',
      stopReason: 'completed',
      finishReason: 'stop',
      steps: 2,
      usage: { inputTokens: 30, outputTokens: 5, costUsd: 0 },
      subtreeUsage: { inputTokens: 30, outputTokens: 5, costUsd: 0 },
    })
    expect((await thread.messages()).map(({ role, text, call }) => [role, text, call])).toEqual([
      ['user', 'go', undefined],
      ['assistant', 'I look.', undefined],
      ['tool', '{"saw":"a"}', 'call_1_0'],
      ['tool', '{"saw":"b"}', 'call_1_1'],
      ['assistant', 'done', undefined],
    ])
    expect(model.requests.map(({ messages, step }) => [messages.length, step])).toEqual([
      [1, 0],
      [4, 1],
    ])
    expect(model.requests[0]).toMatchObject({ system: 'You help.', thread: thread.id, tools: [{ name: 'look' }] })
    expect(await run.toolCalls()).toMatchObject([
      { id: 'call_1_0', args: { at: 'a' }, outcome: { ok: true } },
      { id: 'call_1_1', args: { at: 'b' } },
    ])
    expect((await thread.usage()).own).toEqual({ inputTokens: 30, outputTokens: 5, costUsd: 0 })
    expect(await thread.info()).toMatchObject({
      status: 'idle',
      rest: true,
      agent: 'helper',
      tags: ['x'],
      root: thread.id,
      path: [thread.id],
    })
  })

  it('RC2, SL2: at most maxParallelTools bodies run, and results are read in call order whatever finishes first', async () => {
    const bodies: { at: unknown; end: Deferred<string> }[] = []
    const look = looseTool('look', (_, { at }) => {
      const end = deferred<string>()
      bodies.push({ at, end })
      return end.promise
    })
    const asked = Array.from({ length: 5 }, (_, at) => ({ tool: 'look', args: { at } }))
    const { app } = tinyApp({ script: [calls(...asked), 'done'], tools: [look] })
    const skein = await world.open(app, { limits: { maxParallelTools: 2 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('two bodies', () => bodies.length === 2)
    await quiet()
    expect(bodies.map(({ at }) => at)).toEqual([0, 1])
    bodies[1]?.end.resolve('b')
    await until('a third body', () => bodies.length === 3)
    bodies[2]?.end.resolve('c')
    await until('a fourth body', () => bodies.length === 4)
    bodies[3]?.end.resolve('d')
    await until('a fifth body', () => bodies.length === 5)
    bodies[4]?.end.resolve('e')
    bodies[0]?.end.resolve('a')
    await run.result()
    const results = (await thread.messages()).filter(({ role }) => role === 'tool')
    expect(results.map(({ call, text }) => `${call} ${text}`)).toEqual([
      'call_1_0 a',
      'call_1_1 b',
      'call_1_2 c',
      'call_1_3 d',
      'call_1_4 e',
    ])
  })

  it('RC2: maxParallelTools 1 is plain sequence', async () => {
    const log: string[] = []
    const look = looseTool('look', async (_, { at }) => {
      log.push(`begin ${at}`)
      await turns(3)
      log.push(`end ${at}`)
    })
    const { app } = tinyApp({
      script: [calls(...[0, 1, 2].map((at) => ({ tool: 'look', args: { at } }))), 'done'],
      tools: [look],
    })
    const skein = await world.open(app, { limits: { maxParallelTools: 1 } })
    await (await skein.threads.create({ agent: 'helper' })).send('go').result()
    expect(log).toEqual(['begin 0', 'end 0', 'begin 1', 'end 1', 'begin 2', 'end 2'])
  })

  it('RC2, SL2: two hundred calls in one step', async () => {
    let running = 0
    let most = 0
    const look = looseTool('look', async (_, { at }) => {
      most = Math.max(most, ++running)
      await turns(1)
      running--
      return at
    })
    const asked = Array.from({ length: 200 }, (_, at) => ({ tool: 'look', args: { at } }))
    const { app } = tinyApp({ script: [calls(...asked), 'done'], tools: [look] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect((await thread.send('go').result()).steps).toBe(2)
    expect(most).toBe(8)
    const results = (await thread.messages()).filter(({ role }) => role === 'tool')
    expect(results.map(({ text }) => Number(text))).toEqual(asked.map(({ args }) => args.at))
  })

  it('M1: the same call twice is two calls with ids and keys of their own', async () => {
    const keys: string[] = []
    const { app } = tinyApp({
      script: [calls({ tool: 'look', args: { at: 1 } }, { tool: 'look', args: { at: 1 } }), 'done'],
      tools: [looseTool('look', ({ idempotencyKey }) => void keys.push(idempotencyKey))],
    })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'helper' })).send('go')
    expect((await run.toolCalls()).map(({ id }) => id)).toEqual(['call_1_0', 'call_1_1'])
    expect(new Set(keys).size).toBe(2)
  })
})

onEveryStore('what goes wrong in a tool is its result', (world) => {
  it('T1: an unknown tool is answered with the names of those there are', async () => {
    const { app, model } = tinyApp({
      script: [calls('lok'), 'sorry'],
      tools: [looseTool('look', () => 1), looseTool('find', () => 2)],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('sorry')
    const [, , result] = model.requests[1]?.messages ?? []
    expect(result).toMatchObject({ role: 'tool', failed: { code: 'UNKNOWN_TOOL' } })
    expect(result?.text).toBe('Error UNKNOWN_TOOL: there is no tool "lok" here; the tools are: look, find')
  })

  it('T1: a tool of the app that the prompt does not name is not allowed', async () => {
    const { app } = tinyApp({ script: [calls('hidden'), 'sorry'], tools: [looseTool('look', () => 1)] })
    const skein = await world.open([...app, looseTool('hidden', () => 'secret')])
    const calledBy = await (await skein.threads.create({ agent: 'helper' })).send('go').toolCalls()
    expect(calledBy).toMatchObject([{ outcome: { ok: false, failure: { code: 'UNKNOWN_TOOL' } } }])
  })

  it('T1: broken JSON and bad fields never reach the body; the good call beside them runs', async () => {
    const seen: unknown[] = []
    const look = looseTool('look', (_, args) => void seen.push(args), { args: z.object({ n: z.number() }) })
    const { app } = tinyApp({
      script: [
        calls(
          { tool: 'look', args: '{"n": 1' },
          { tool: 'look', args: { n: 'x' } },
          { tool: 'look', args: { n: '3' } },
        ),
        'done',
      ],
      tools: [look],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const answered = await thread.send('go').toolCalls()
    expect(answered.map(({ args, outcome }) => [args, outcome?.ok])).toEqual([
      ['{"n": 1', false],
      [{ n: 'x' }, false],
      [{ n: 3 }, true],
    ])
    expect(answered[1]).toMatchObject({
      outcome: { failure: { code: 'TOOL_INPUT_INVALID', data: { fields: [{ path: 'n' }] } } },
    })
    expect(seen).toEqual([{ n: 3 }])
  })

  it('T2: a throw, a bad output and a reported error; the loop goes on', async () => {
    const tools = [
      looseTool('throws', () => {
        throw new Error('broken pipe')
      }),
      looseTool('lies', () => 'text', { outputSchema: z.number() }),
      looseTool('admits', () => ({ status: 'error', error: 'not today' })),
    ]
    const { app } = tinyApp({ script: [calls('throws', 'lies', 'admits'), 'done'], tools })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'helper' })).send('go')
    const codes = (await run.toolCalls()).map(({ outcome }) => outcome && !outcome.ok && outcome.failure.code)
    expect(codes).toEqual(['TOOL_THREW', 'TOOL_OUTPUT_INVALID', 'TOOL_FAILED'])
    expect(await run.text()).toBe('done')
  })

  it('T2: an error with live things attached is written like any other', async () => {
    const angry = looseTool('angry', () => {
      throw new SkeinError('TOOL_FAILED', 'no', { data: { big: 1n, call: () => 1 } })
    })
    const { app } = tinyApp({ script: [calls('angry'), 'done'], tools: [angry] })
    const skein = await world.open(app)
    expect(await (await skein.threads.create({ agent: 'helper' })).send('go').text()).toBe('done')
  })

  it('T2: a body that takes too long is told and its result is dropped', async () => {
    const late = deferred<string>()
    const began = deferred()
    let signal: AbortSignal | undefined
    const slow = looseTool(
      'slow',
      (state) => {
        signal = state.signal
        began.resolve()
        return late.promise
      },
      {
        timeoutMs: 1_000,
      },
    )
    const { app } = tinyApp({ script: [calls('slow'), 'done'], tools: [slow] })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'helper' })).send('go')
    await began.promise
    await quiet()
    expect(signal?.aborted).toBe(false)
    world.clock.advance(1_000)
    expect(await run.toolCalls()).toMatchObject([{ outcome: { ok: false, failure: { code: 'TOOL_TIMED_OUT' } } }])
    expect(signal?.aborted).toBe(true)
    late.resolve('late')
    await quiet()
    expect(await run.toolCalls()).toMatchObject([{ outcome: { ok: false, failure: { code: 'TOOL_TIMED_OUT' } } }])
  })
})

onEveryStore('a model that breaks its word', (world) => {
  const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  it.each([
    ['nothing', undefined],
    ['no usage', { text: 'hi', calls: [], finish: 'stop' }],
    [
      'usage that is no number',
      { text: 'hi', calls: [], finish: 'stop', usage: { ...usage, inputTokens: Number.NaN } },
    ],
    ['no calls', { text: 'hi', finish: 'stop', usage }],
    ['no text', { calls: [], finish: 'stop', usage }],
    ['kept that is none', { text: '', calls: [], finish: 'stop', usage, kept: { origin: 'x' } }],
    ['a call of nothing', { text: '', calls: [{ args: {} }], finish: 'stop', usage }],
  ])('%s in its reply fails the turn, and the thread goes on', async (_, broken) => {
    let asked = 0
    const model = {
      name: 'mine',
      call: async () => (asked++ === 0 ? broken : { text: 'better', calls: [], finish: 'stop', usage }) as never,
    }
    const skein = await world.open(appOn(model))
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({
      stopReason: 'failed',
      failure: { code: 'MODEL_REJECTED', message: expect.stringContaining('gave a reply that is none') },
    })
    expect(await thread.send('again').text()).toBe('better')
  })
})

onEveryStore('how a turn ends', (world) => {
  it('an empty reply is a clean end with its own reason', async () => {
    const { app } = tinyApp({ script: [''] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ text: '', stopReason: 'empty_reply', steps: 1 })
    expect(await thread.status()).toBe('idle')
  })

  it('L1: maxSteps stops after the calls of the last step, with what was said', async () => {
    const { app, model } = tinyApp({
      script: () => ({ text: 'again', calls: [{ tool: 'look', args: {} }] }),
      tools: [looseTool('look', () => 1)],
      maxSteps: 3,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ text: 'again', stopReason: 'max_steps', steps: 3 })
    expect(model.requests).toHaveLength(3)
    expect((await thread.messages()).at(-1)).toMatchObject({ role: 'tool', call: 'call_3_0' })
    // The next turn has its own count.
    expect(await thread.send('more').result()).toMatchObject({ stopReason: 'max_steps', steps: 3 })
  })

  it('a model that fails fails the turn; resume asks it again with the same transcript', async () => {
    const { app, model } = tinyApp({ script: [{ error: 'no such model' }, 'back'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({
      stopReason: 'failed',
      failure: { code: 'MODEL_REJECTED', message: 'no such model' },
    })
    await expect(run.text()).rejects.toMatchObject({ code: 'MODEL_REJECTED' })
    expect(await thread.status()).toBe('failed')
    expect(await thread.resume()).toBe(true)
    await thread.settled()
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['go', 'back'])
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 1])
    expect(await thread.resume()).toBe(false)
  })
})
