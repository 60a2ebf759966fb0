/** Messages: steering, turns of their own, injected and silent ones, repeated ids, paging. */
import { expect, it } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { StoredEntry } from '../../../../src/backend/port.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { tapped } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { Message } from '../../../../src/core/records/message.js'

const texts = (messages: readonly Message[] | undefined): readonly string[] => (messages ?? []).map(({ text }) => text)

it('F4: what came before a turn is not read again to find the run that a message joined', async () => {
  const read: number[] = []
  const entry = (each: StoredEntry): StoredEntry => {
    read.push(each.first)
    return each
  }
  const slow = deferred<string>()
  const { app } = tinyApp({
    script: ({ messages }) => (messages.at(-1)?.text === 'go' ? calls('slow') : 'done'),
    tools: [looseTool('slow', () => slow.promise)],
  })
  await using skein = await createSkein({ app, backend: tapped(memory(), { entry }) })
  const thread = await skein.threads.create({ agent: 'helper' })
  for (let turn = 0; turn < 5; turn++) await thread.send('hello').result()
  const { seq } = await thread.info()
  const first = thread.send('go', { id: 'first' })
  await until('the call', async () => (await thread.status()) === 'acting')
  read.length = 0
  const joined = ['a', 'b', 'c'].map((id) => thread.send('hurry', { id }))
  await Promise.all(joined.map((run) => run.accepted()))
  slow.resolve('slow result')
  const results = await Promise.all([first, ...joined].map((run) => run.result()))
  expect(new Set(results.map(({ text }) => text))).toEqual(new Set(['done']))
  // The entry before the turn may be read, and none of the turns before.
  expect(Math.min(...read)).toBeGreaterThan(seq - 5)
})

onEveryStore('messages to a busy thread', (world) => {
  it('F4: a steering message is read at the next step and shares the run', async () => {
    const slow = deferred<string>()
    const { app, model } = tinyApp({ script: [calls('slow'), 'done'], tools: [looseTool('slow', () => slow.promise)] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go', { id: 'first' })
    await until('the call', async () => (await thread.status()) === 'acting')
    const steer = thread.send('hurry', { id: 'second' })
    await steer.accepted()
    slow.resolve('slow result')
    expect((await steer.result()).text).toBe('done')
    expect(texts(model.requests[1]?.messages)).toEqual(['go', '', 'slow result', 'hurry'])
    expect(await run.result()).toEqual(await steer.result())
  })

  it('F4: what is said while the model speaks is answered before the turn ends', async () => {
    const speaking = deferred()
    const { app, model } = tinyApp({
      script: async ({ step }) => (step === 0 ? (await speaking.promise, 'first') : 'second'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await run.accepted()
    await thread.send('wait').accepted()
    speaking.resolve()
    expect(await run.result()).toMatchObject({ text: 'second', steps: 2 })
    expect(texts(model.requests[1]?.messages)).toEqual(['go', 'first', 'wait'])
  })

  it('F4, R1: turns of their own wait their time, and each run has its own answer', async () => {
    const slow = deferred()
    const { app } = tinyApp({
      script: async ({ messages }) => {
        await slow.promise
        return `re ${messages.at(-1)?.text}`
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const runs = ['a', 'b', 'c'].map((text) => thread.send(text, { delivery: 'new_turn' }))
    await Promise.all(runs.map((run) => run.accepted()))
    slow.resolve()
    expect(await Promise.all(runs.map((run) => run.text()))).toEqual(['re a', 're b', 're c'])
    expect(texts(await thread.messages())).toEqual(['a', 're a', 'b', 're b', 'c', 're c'])
  })

  it('F4: an injected message starts nothing and is in the next request', async () => {
    const { app, model } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.inject('remember the milk', { role: 'system' })
    await quiet()
    expect(model.requests).toHaveLength(0)
    expect(await thread.status()).toBe('idle')
    await thread.send('go').result()
    expect(model.requests[0]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['system', 'remember the milk'],
      ['user', 'go'],
    ])
  })

  it('F4, M2: injected in the middle of a step, it comes after the results', async () => {
    const slow = deferred<string>()
    const { app, model } = tinyApp({ script: [calls('slow'), 'done'], tools: [looseTool('slow', () => slow.promise)] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('the call', async () => (await thread.status()) === 'acting')
    await thread.inject('aside')
    slow.resolve('result')
    await run.result()
    expect(texts(model.requests[1]?.messages)).toEqual(['go', '', 'result', 'aside'])
  })

  it('F4: a silent message is seen by the model and hidden in lists, unless they ask', async () => {
    const { app, model } = tinyApp({ script: ['done', 'done'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.inject('psst', { silent: true })
    await thread.send('go', { silent: true }).result()
    expect(texts(model.requests[0]?.messages)).toEqual(['psst', 'go'])
    expect(texts(await thread.messages())).toEqual(['done'])
    expect(texts(await thread.messages({ silent: 'show' }))).toEqual(['psst', 'go', 'done'])
  })
})

onEveryStore('one message, one turn', (world) => {
  it('F4: the same id is one message, one turn, one answer: at once, later, and after a restart', async () => {
    const { app, model } = tinyApp({ script: () => 'done' })
    let skein = await world.open(app)
    const { id } = await skein.threads.create({ agent: 'helper' })
    let thread = await skein.threads.get(id)
    const both = [thread.send('go', { id: 'm' }), thread.send('go', { id: 'm' })]
    expect(await Promise.all(both.map((run) => run.text()))).toEqual(['done', 'done'])
    expect(await thread.send('go', { id: 'm' }).text()).toBe('done')
    await world.close(skein)
    skein = await world.open(app)
    thread = await skein.threads.get(id)
    expect(await thread.send('something else', { id: 'm' }).text()).toBe('done')
    expect(model.requests).toHaveLength(1)
    expect(texts(await thread.messages())).toEqual(['go', 'done'])
  })

  it('F4: pages go on after a message, and an unknown one is an error', async () => {
    const { app } = tinyApp({ script: [] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    for (let n = 1; n <= 7; n++) await thread.inject(`${n}`, { id: `m${n}`, silent: n === 2 })
    const pages: (readonly string[])[] = []
    for (let after: string | undefined; ;) {
      const page = await thread.messages({ limit: 2, ...(after !== undefined && { after }) })
      if (page.length === 0) break
      pages.push(texts(page))
      after = page.at(-1)?.id
    }
    expect(pages).toEqual([
      ['1', '3'],
      ['4', '5'],
      ['6', '7'],
    ])
    await expect(thread.messages({ after: 'nobody' })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('F1: queued messages are listed too', async () => {
    const slow = deferred()
    const { app } = tinyApp({
      script: async () => {
        await slow.promise
        return 'done'
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('one')
    const next = thread.send('two', { delivery: 'new_turn' })
    await next.accepted()
    expect(texts(await thread.messages())).toEqual(['one', 'two'])
    slow.resolve()
    await Promise.all([run.result(), next.result()])
  })
})

onEveryStore('who is not there', (world) => {
  it.each(['', 'a b', 'x'.repeat(129), 'step_1', 'result_2_0'])('F4: %j is no id for a message', async (id) => {
    const { app } = tinyApp({ script: [] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await expect(thread.send('hello', { id }).accepted()).rejects.toThrow(/a message id is/)
    await expect(thread.inject('hello', { id })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect(await thread.messages()).toEqual([])
  })

  it('F8: unknown threads, agents and runs, and bad options are told before anything happens', async () => {
    const { app } = tinyApp({ script: [] })
    const skein = await world.open(app)
    await expect(skein.threads.get('nobody')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await expect(skein.threads.create({ agent: 'nobody' })).rejects.toMatchObject({
      code: 'UNKNOWN_AGENT',
      message: expect.stringContaining('helper'),
    })
    await expect(skein.threads.create({ agent: 'helper', id: 'no/slashes' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    await expect(skein.threads.create({ agent: 'helper', colour: 'red' } as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    expect((await skein.threads.list()).threads).toEqual([])
    const thread = await skein.threads.create({ agent: 'helper' })
    await expect(thread.run('nobody').result()).rejects.toMatchObject({ code: 'UNKNOWN_RUN' })
    await expect(world.open(app, { limits: { maxParallelTools: 0 } })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(world.open(app, { colour: 'red' } as never)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})
