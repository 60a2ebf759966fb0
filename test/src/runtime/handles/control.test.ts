/** Create, cancel, pause, resume, terminate, settled. */
import { expect, it } from 'vitest'
import { appOn, calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import { scriptedModel } from '../../../../src/models/scripted.js'

/** An agent whose tool waits until the test lets it go. */
function slowApp(script: Parameters<typeof tinyApp>[0]['script'] = [calls('slow'), 'done', 'done again']) {
  const end = deferred<string>()
  const began = deferred<AbortSignal>()
  const slow = looseTool('slow', ({ signal }) => {
    began.resolve(signal)
    return end.promise
  })
  return { ...tinyApp({ script, tools: [slow, looseTool('look', () => 'looked')] }), end, began: began.promise }
}

onEveryStore('create', (world) => {
  it('F8: the same id is the same thread, twenty times at once and after a restart', async () => {
    const { app } = tinyApp({ script: [] })
    let skein = await world.open(app)
    const all = await Promise.all(
      Array.from({ length: 20 }, () => skein.threads.create({ agent: 'helper', id: 'mine', tags: ['x'] })),
    )
    expect(new Set(all.map(({ id }) => id))).toEqual(new Set(['mine']))
    expect(all.every(({ agent, tags }) => agent === 'helper' && tags[0] === 'x')).toBe(true)
    expect(await skein.threads.create({ agent: 'helper', id: 'mine' })).toMatchObject({ tags: ['x'] })
    await world.close(skein)
    skein = await world.open(app)
    expect(await skein.threads.create({ agent: 'helper', id: 'mine' })).toMatchObject({ id: 'mine', tags: ['x'] })
    const { threads } = await skein.threads.list()
    expect(threads.map(({ thread, seq }) => [thread, seq])).toEqual([['mine', 1]])
  })

  it('F8: with another agent it is refused, also when both come at once', async () => {
    const model = scriptedModel([])
    const app = [...appOn(model), ...appOn(model, { agent: 'other' }).filter(({ kind }) => kind !== 'model')]
    const skein = await world.open(app)
    await skein.threads.create({ agent: 'helper', id: 'mine' })
    await expect(skein.threads.create({ agent: 'other', id: 'mine' })).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('with agent helper, not other'),
    })
    const both = await Promise.allSettled(
      ['helper', 'other'].map((agent) => skein.threads.create({ agent, id: 'race' })),
    )
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('F1: threads are listed by agent, tag and status', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const one = await skein.threads.create({ agent: 'helper', tags: ['a', 'b'] })
    await skein.threads.create({ agent: 'helper', tags: ['b'] })
    await one.terminate()
    const found = async (filter: object) => (await skein.threads.list(filter)).threads.length
    expect(
      await Promise.all(
        [{ tag: 'a' }, { tag: 'b' }, { status: 'terminated' }, { status: 'idle' }, { agent: 'nobody' }].map(found),
      ),
    ).toEqual([1, 2, 1, 1, 0])
  })
})

onEveryStore('cancel', (world) => {
  it('F7: with a run, only the turn of that run is ended', async () => {
    const { app, end, began } = slowApp([calls('slow'), 'done'])
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began
    await thread.cancel({ run: 'another' })
    end.resolve('in time')
    expect(await run.result()).toMatchObject({ stopReason: 'completed', text: 'done' })
  })

  it('F7: the signal reaches the body, the open call is answered, and a late result is dropped', async () => {
    const { app, model, end, began } = slowApp([calls('slow', 'look'), 'done'])
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const signal = await began
    await until('the quick result', async () => (await run.pendingToolCalls()).length === 1)
    expect(await thread.cancel({ reason: 'changed my mind' })).toBe(true)
    expect(signal.aborted).toBe(true)
    expect(await run.result()).toMatchObject({ stopReason: 'cancelled' })
    end.resolve('too late')
    await quiet()
    const [, , first, second] = await thread.messages()
    expect(first).toMatchObject({ call: 'call_1_0', failed: { code: 'CANCELLED' } })
    expect(first?.text).toContain('changed my mind')
    expect(second).toMatchObject({ call: 'call_1_1', text: 'looked' })
    expect(await thread.cancel()).toBe(false)
    // The turn ended, the thread did not.
    expect(await thread.send('next').text()).toBe('done')
    expect(model.requests[1]?.messages).toHaveLength(5)
  })

  it('F7: cancel ends a model that is speaking, and only this turn', async () => {
    const speaking = deferred()
    const signals: AbortSignal[] = []
    const model = {
      name: 'mine',
      call: async (_: unknown, { signal }: { signal: AbortSignal }) => {
        signals.push(signal)
        if (signals.length === 1) await speaking.promise
        return {
          text: `answer ${signals.length}`,
          calls: [],
          usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
          finish: 'stop' as const,
        }
      },
    }
    const skein = await world.open(appOn(model))
    const thread = await skein.threads.create({ agent: 'helper' })
    const [run, next] = [thread.send('one'), thread.send('two', { delivery: 'new_turn' })]
    await next.accepted()
    await thread.cancel()
    expect(signals[0]?.aborted).toBe(true)
    expect((await run.result()).stopReason).toBe('cancelled')
    expect(await next.text()).toBe('answer 2')
    speaking.resolve()
    await quiet()
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['one', 'two', 'answer 2'])
  })
})

onEveryStore('pause and resume', (world) => {
  it('F8: nothing new starts while paused, what runs lands, and resume goes on', async () => {
    const { app, model, end, began } = slowApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const signal = await began
    await thread.pause({ reason: 'lunch' })
    expect(await thread.status()).toBe('paused')
    end.resolve('landed')
    await until('the result', async () => (await run.pendingToolCalls()).length === 0)
    await quiet()
    expect(signal.aborted).toBe(false)
    expect(model.requests).toHaveLength(1)
    expect((await thread.messages()).at(-1)?.text).toBe('landed')
    await thread.pause()
    expect(await thread.resume()).toBe(true)
    expect(await run.text()).toBe('done')
    expect(await thread.resume()).toBe(false)
  })

  it('F8: calls of a reply that came while paused wait, and survive a restart', async () => {
    const speaking = deferred()
    let looked = 0
    const make = () =>
      tinyApp({
        script: async ({ step }) => (step === 0 ? (await speaking.promise, calls('look')) : 'done'),
        tools: [looseTool('look', () => ++looked)],
      }).app
    let skein = await world.open(make())
    const { id } = await skein.threads.create({ agent: 'helper' })
    let thread = await skein.threads.get(id)
    const run = thread.send('go')
    await run.accepted()
    await thread.pause()
    speaking.resolve()
    await until('the reply', async () => (await run.pendingToolCalls()).length === 1)
    await quiet()
    expect(looked).toBe(0)
    await world.close(skein)
    skein = await world.open(make())
    thread = await skein.threads.get(id)
    await quiet()
    expect(looked).toBe(0)
    await thread.resume()
    expect(await thread.run(run.id).text()).toBe('done')
    expect(looked).toBe(1)
  })

  it('F8: settled resolves when the thread rests, not before', async () => {
    const { app, end, began } = slowApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect((await thread.settled()).status).toBe('idle')
    await thread.send('go').accepted()
    await began
    let settled = false
    const settling = thread.settled().then((head) => {
      settled = true
      return head
    })
    await quiet()
    expect(settled).toBe(false)
    end.resolve('now')
    expect((await settling).status).toBe('idle')
  })
})

onEveryStore('terminate', (world) => {
  it('F7: aborts what runs, ends the run and all later work, and says why', async () => {
    const { app, model, end, began } = slowApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const [run, queued] = [thread.send('go'), thread.send('later', { delivery: 'new_turn' })]
    const signal = await began
    await queued.accepted()
    await thread.terminate({ reason: 'house closed' })
    expect(signal.aborted).toBe(true)
    expect((await run.result()).stopReason).toBe('terminated')
    expect((await queued.result()).stopReason).toBe('terminated')
    end.resolve('late')
    await quiet()
    await expect(thread.send('more').text()).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    await expect(thread.inject('more')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    expect([await thread.cancel(), await thread.resume()]).toEqual([false, false])
    await thread.pause()
    await thread.terminate()
    expect(await thread.status()).toBe('terminated')
    expect(model.requests).toHaveLength(1)
    expect((await thread.messages()).filter(({ role }) => role === 'tool')).toMatchObject([
      { failed: { code: 'CANCELLED' } },
    ])
  })

  it('F7: it stays terminated after a restart', async () => {
    const { app } = tinyApp({ script: [] })
    let skein = await world.open(app)
    const { id } = await skein.threads.create({ agent: 'helper' })
    await (await skein.threads.get(id)).terminate()
    await world.close(skein)
    skein = await world.open(app)
    await expect((await skein.threads.get(id)).send('go').text()).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })
})
