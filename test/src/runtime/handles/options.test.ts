/** Options of handles: one shape for each command, signals that end a wait, and what is disposed of. */
import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import { SkeinError } from '../../../../src/core/failure.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'it was kept',
    (thrown: unknown) => thrown,
  )

onEveryStore('options of a thread', (world) => {
  it.each([
    ['cancel', 'enough'],
    ['cancel', { why: 'enough' }],
    ['pause', 'lunch'],
    ['pause', { reason: 'lunch', trees: true }],
    ['resume', { reason: 'on' }],
    ['terminate', 'over'],
    ['terminate', { tree: true }],
  ] as const)('F7: %s(%j) is no option, and nothing is changed', async (name, options) => {
    const { app } = tinyApp({ script: ['done'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    const command: Thread[typeof name] = thread[name]
    const thrown = await rejection(Reflect.apply(command, thread, [options]))
    expect(SkeinError.is(thrown, 'BAD_OPTION') && thrown.message).toContain(name)
    expect(await thread.info()).toMatchObject({ status: 'idle', seq: 1 })
  })

  it.each([[5_000], [{}], [{ delayMs: 1, at: 1 }], [{ delayMs: 1, once: true }], [{ at: Number.NaN }], [{ at: 1e18 }]])(
    'F6: schedule with %j is no time',
    async (time) => {
      const { app } = tinyApp({ script: ['done'], tools: [looseTool('note', () => 'noted')] })
      const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
      const thrown = await rejection(Reflect.apply(thread.schedule, thread, ['note', {}, time]))
      expect(SkeinError.is(thrown, 'BAD_OPTION')).toBe(true)
      expect(await thread.schedules()).toEqual([])
    },
  )

  it('F6: a time may be given as such; one that has passed is now', async () => {
    const { app } = tinyApp({ script: () => 'done', tools: [looseTool('note', () => 'noted')] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    const at = world.clock.now() + 5_000
    await thread.schedule('note', { n: 1 }, { at })
    expect(await thread.schedules()).toMatchObject([{ tool: 'note', at }])
    await thread.schedule('note', { n: 2 }, { at: 1 })
    await until('the call', async () => {
      world.clock.advance(0)
      return (await thread.messages()).some(({ role }) => role === 'tool')
    })
  })
})

onEveryStore('a signal', (world) => {
  const waiting = async () => {
    const slow = deferred<string>()
    const { app } = tinyApp({ script: [calls('slow'), 'done'], tools: [looseTool('slow', () => slow.promise)] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('the call', async () => (await thread.status()) === 'acting')
    return { slow, thread, run }
  }

  it('R1: ends a wait with its reason and leaves nothing behind; the turn goes on', async () => {
    const { slow, thread, run } = await waiting()
    const stop = new AbortController()
    const { signal } = stop
    const waits = [
      run.result({ signal }),
      run.text({ signal }),
      run.toolCalls({ signal }),
      thread.settled({ signal }),
      thread.settled({ tree: true, signal }),
    ].map(rejection)
    await until('the waits', () => getEventListeners(signal, 'abort').length > 0)
    const why = new Error('no time')
    stop.abort(why)
    expect(await Promise.all(waits)).toEqual(waits.map(() => why))
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(await Promise.all([run.result({ signal }), thread.settled({ signal })].map(rejection))).toEqual([why, why])
    slow.resolve('late')
    expect(await run.text()).toBe('done')
  })

  it('R1: one that is never aborted changes nothing and is let go of', async () => {
    const { slow, thread, run } = await waiting()
    const { signal } = new AbortController()
    const waits = Promise.all([run.result({ signal }), run.toolCalls({ signal }), thread.settled({ signal })])
    slow.resolve('late')
    const [result, made, info] = await waits
    expect([result.text, made.length, info.status]).toEqual(['done', 1, 'idle'])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('F1: ends the wait for a thread that nobody creates now', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const aborted = AbortSignal.abort(new Error('too late'))
    await expect(skein.threads.create({ agent: 'helper', id: 'never', signal: aborted })).rejects.toThrow('too late')
    await expect(skein.threads.get('never')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await skein.threads.create({ agent: 'helper', id: 'made', signal: new AbortController().signal })
    expect(await (await skein.threads.get('made')).status()).toBe('idle')
  })
})

onEveryStore('what is opened', (world) => {
  it('P1: is closed when it is disposed of, once', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    expect(skein.host).toMatchObject({ threadsAwake: 0, profile: { name: expect.any(String) } })
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    await client[Symbol.asyncDispose]()
    await expect(client.threads.list()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await skein[Symbol.asyncDispose]()
    await skein.close()
    await expect(skein.threads.list()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})
