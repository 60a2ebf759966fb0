/** K1–K3: hooks before a step and before the end of a turn, as their app and its watchers see them. */
import { expect, it } from 'vitest'
import { defineHook } from '../../../../src/agent/define-hook.js'
import { eventsOf, hookedApp } from '../../../helpers/hooked.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = looseTool('look', () => 'found')
const textsOf = (messages: readonly { readonly text: string }[]): readonly string[] => messages.map(({ text }) => text)

onEveryStore('hooks before a step', (world) => {
  it('K1: a message that is added stays; one that is added once is in one request', async () => {
    const { app, model } = hookedApp({
      script: [calls('look'), 'done'],
      tools: [look],
      hooks: [
        defineHook({
          name: 'adds',
          on: 'before_step',
          run: ({ steps }) => ({
            add: [
              { text: `stays ${steps}`, role: 'system' },
              { text: `once ${steps}`, once: true },
            ],
          }),
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('done')
    expect(model.requests.map(({ messages }) => textsOf(messages))).toEqual([
      ['go', 'stays 0', 'once 0'],
      ['go', 'stays 0', '', 'found', 'stays 1', 'once 1'],
    ])
    expect(textsOf(await thread.messages({ silent: 'show' }))).toEqual([
      'go',
      'stays 0',
      '',
      'found',
      'stays 1',
      'done',
    ])
    expect(await eventsOf(thread, 'hook.decided')).toMatchObject([
      { point: 'step', step: 1, asked: [{ hook: 'adds' }] },
      { point: 'step', step: 2, asked: [{ hook: 'adds' }] },
    ])
  })

  it('K1: hides messages from the model and from nobody else, by what it read; each hook sees what those before hid', async () => {
    const seen: string[][] = []
    const { app, model } = hookedApp({
      script: ['one', 'two', 'three'],
      hooks: [
        defineHook({
          name: 'first',
          on: 'before_step',
          run: async ({ messages }) => ({
            hide: (await messages()).filter(({ text }) => text.includes('secret')).map(({ id }) => id),
          }),
        }),
        defineHook({
          name: 'second',
          on: 'before_step',
          run: async ({ messages }) => void seen.push([...textsOf(await messages())]),
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    for (const text of ['the secret', 'hello', 'again']) await thread.send(text).result()
    expect(model.requests.map(({ messages }) => textsOf(messages))).toEqual([
      [],
      ['one', 'hello'],
      ['one', 'hello', 'two', 'again'],
    ])
    expect(seen).toEqual([[], ['one', 'hello'], ['one', 'hello', 'two', 'again']])
    expect(textsOf(await thread.messages())).toEqual(['the secret', 'one', 'hello', 'two', 'again', 'three'])
    expect((await eventsOf(thread, 'hook.decided')).map(({ hide }) => hide?.length)).toEqual([1, undefined, undefined])
  })

  it('K1, K2: a block ends the turn with hook_blocked and its reason; no further hook is asked, and the next turn goes on', async () => {
    const asked: string[] = []
    const { app, model } = hookedApp({
      script: ['fine'],
      hooks: [
        defineHook({
          name: 'guard',
          on: 'before_step',
          run: async ({ messages }, { key }) => {
            asked.push(key)
            return (await messages()).at(-1)?.text === 'bad' ? { block: 'not today' } : undefined
          },
        }),
        defineHook({ name: 'later', on: 'before_step', run: () => void asked.push('later') }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'blocked' })
    expect(await thread.send('bad').result()).toMatchObject({ stopReason: 'hook_blocked', detail: 'not today' })
    expect(model.requests).toHaveLength(0)
    expect(await thread.status()).toBe('idle')
    expect(await thread.send('good').result()).toMatchObject({ stopReason: 'completed', text: 'fine' })
    expect(asked).toEqual(['blocked/hook/step/1/guard', 'blocked/hook/step/2/guard', 'later'])
  })

  it('K1: the hooks of a prompt replace those of its agent', async () => {
    const asked: string[] = []
    const hook = (name: string) => defineHook({ name, on: 'before_step', run: () => void asked.push(name) })
    const { app } = hookedApp({
      script: ['done'],
      hooks: [hook('a'), hook('b'), hook('c')],
      ofAgent: ['a'],
      ofPrompt: ['c', 'b'],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    expect(asked).toEqual(['c', 'b'])
  })

  it('K2: a hook that throws, is late or returns nonsense is reported, and the turn goes on without it', async () => {
    const { app, model } = hookedApp({
      script: ['done'],
      hooks: [
        defineHook({
          name: 'throws',
          on: 'before_step',
          run: () => {
            throw new Error('oops')
          },
        }),
        defineHook({
          name: 'late',
          on: 'before_step',
          timeoutMs: 500,
          run: () => new Promise<undefined>(() => undefined),
        }),
        defineHook({ name: 'nonsense', on: 'before_step', run: () => JSON.parse('{"hide":"all"}') }),
        defineHook({ name: 'adds', on: 'before_step', run: () => ({ add: { text: 'hi' } }) }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('both warnings', () => {
      world.clock.advance(500)
      return world.warnings.length >= 2
    })
    expect(await run.result()).toMatchObject({ stopReason: 'completed' })
    expect(textsOf(model.requests[0]?.messages ?? [])).toEqual(['go', 'hi'])
    const [decided] = await eventsOf(thread, 'hook.decided')
    expect(decided?.asked).toMatchObject([
      { hook: 'throws', failure: { code: 'HOOK_FAILED', message: 'oops' } },
      { hook: 'late', failure: { code: 'HOOK_FAILED', message: 'it was late: it may take 500 ms' } },
      { hook: 'nonsense', failure: { code: 'HOOK_FAILED', message: expect.stringContaining('hide') } },
      { hook: 'adds' },
    ])
    expect(world.warnings).toHaveLength(3)
    expect(world.warnings[0]).toContain('the hook throws failed')
  })

  it("K2: with onError: 'block' a hook that fails ends the turn", async () => {
    const { app, model } = hookedApp({
      script: ['done'],
      hooks: [
        defineHook({
          name: 'guard',
          on: 'before_step',
          onError: 'block',
          run: () => {
            throw new Error('the service is away')
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({
      stopReason: 'hook_blocked',
      detail: 'the hook guard failed: the service is away',
    })
    expect(model.requests).toHaveLength(0)
  })
})

onEveryStore('hooks before the end of a turn', (world) => {
  it('K1: the turn goes on with what the hook says, and ends when it says nothing', async () => {
    const { app, model } = hookedApp({
      script: ['half', 'whole'],
      hooks: [
        defineHook({
          name: 'complete',
          on: 'stop',
          run: ({ text, reason, mayGoOn }) =>
            reason === 'completed' && mayGoOn && text === 'half' ? { goOn: 'And the rest?' } : undefined,
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'completed', text: 'whole', steps: 2 })
    expect(textsOf(model.requests[1]?.messages ?? [])).toEqual(['go', 'half', 'And the rest?'])
    expect(await eventsOf(thread, 'hook.decided')).toMatchObject([
      { point: 'stop', step: 1, goOn: 'And the rest?' },
      { point: 'stop', step: 2, asked: [{ hook: 'complete' }] },
    ])
  })

  it('K1: at most eight times in one turn, and never past a limit', async () => {
    const allowed: boolean[] = []
    const more = defineHook({
      name: 'more',
      on: 'stop',
      run: ({ mayGoOn }) => {
        allowed.push(mayGoOn)
        return { goOn: 'more' }
      },
    })
    const { app, model } = hookedApp({ script: () => 'again', hooks: [more] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'completed', steps: 9 })
    expect(allowed).toEqual([...Array.from({ length: 8 }, () => true), false])
    expect((await eventsOf(thread, 'hook.decided')).at(-1)?.asked).toMatchObject([
      { hook: 'more', failure: { message: expect.stringContaining('cannot go on') } },
    ])
    await world.close(skein)
    const limited = await world.open(app, { limits: { maxSteps: 3 } })
    const other = await limited.threads.create({ agent: 'helper' })
    expect(await other.send('go').result()).toMatchObject({ stopReason: 'completed', steps: 3 })
    expect(model.requests).toHaveLength(12)
  })

  it('K1: a message that comes while the hook is asked is read in the same turn', async () => {
    let isAsked: () => void = () => undefined
    const asking = new Promise<void>((resolve) => (isAsked = resolve))
    let answer: () => void = () => undefined
    const answering = new Promise<void>((resolve) => (answer = resolve))
    const { app, model } = hookedApp({
      script: ['first', 'second'],
      hooks: [
        defineHook({
          name: 'waits',
          on: 'stop',
          run: async () => {
            isAsked()
            await answering
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await asking
    await thread.send('and this', { delivery: 'steer' }).accepted()
    answer()
    expect(await run.result()).toMatchObject({ text: 'second', steps: 2 })
    expect(textsOf(model.requests[1]?.messages ?? [])).toEqual(['go', 'first', 'and this'])
  })

  it('K1: nobody is asked about a turn that was cancelled, or that failed', async () => {
    const asked: string[] = []
    const { app } = hookedApp({
      script: [{ error: 'no' }],
      hooks: [defineHook({ name: 'end', on: 'stop', run: ({ reason }) => void asked.push(reason) })],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'failed' })
    expect(asked).toEqual([])
  })
})
