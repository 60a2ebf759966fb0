/** The wall clock of a turn: an absolute instant that outlives the process. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { ScriptedReply } from '../../../../src/models/scripted.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const limits = { maxWallClockMs: 10_000 }

onEveryStore('maxWallClockMs', (world) => {
  it('L1: a turn that takes too long ends with a reason and what there is of it', async () => {
    const began = deferred<AbortSignal>()
    const slow = looseTool('slow', ({ signal }) => {
      began.resolve(signal)
      return deferred().promise
    })
    const { app } = tinyApp({
      script: [{ text: 'I try.', calls: [{ tool: 'slow', args: {} }] }, 'next'],
      tools: [slow],
    })
    const skein = await world.open(app, { limits })
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const signal = await began.promise
    await until('the call', async () => (await thread.status()) === 'acting')
    world.clock.advance(9_999)
    await quiet()
    expect(await thread.status()).toBe('acting')
    world.clock.advance(1)
    expect(await run.result()).toMatchObject({ stopReason: 'deadline', text: 'I try.' })
    expect(signal.aborted).toBe(true)
    expect(await thread.send('again').text()).toBe('next')
  })

  it('L1: it ends all that the turn waits for, however far below and however late that began', async () => {
    const began = deferred<AbortSignal>()
    const lingers = deferred()
    const slow = looseTool('slow', ({ signal }) => {
      began.resolve(signal)
      return deferred().promise
    })
    const lags = looseTool('lags', () => lingers.promise)
    const ask = (agent: string) => ({ tool: agent, args: { message: 'go' } })
    const level = (
      name: string,
      replies: readonly ScriptedReply[],
      tools: NonNullable<Prompt['tools']>,
    ): readonly Definition[] => [
      defineModel({ name: `${name}_m`, model: scriptedModel(replies) }),
      definePrompt({ name: `${name}_p`, prompt: 'x', model: `${name}_m`, tools }),
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ]
    const app = [
      slow,
      lags,
      ...level('lead', [calls('lags'), calls(ask('boss'))], ['lags', { name: 'boss' }]),
      ...level('boss', [calls(ask('writer'))], [{ name: 'writer' }]),
      ...level('writer', [calls('slow')], ['slow']),
    ]
    const skein = await world.open(app, { limits })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('the first call', async () => (await lead.status()) === 'acting')
    world.clock.advance(9_000)
    lingers.resolve() // those below begin now, and each would have ten seconds of its own
    const signal = await began.promise
    world.clock.advance(1_000)
    expect(await run.result()).toMatchObject({ stopReason: 'deadline' })
    await until('the end of all', async () => {
      const { threads } = await skein.threads.list({ root: 'lead' })
      return threads.every(({ status }) => !['thinking', 'acting', 'waiting'].includes(status)) && signal.aborted
    })
    expect(world.clock.pending).toBe(0)
  })

  it('L1: a turn that ends in time leaves no wake behind, and the next has its own deadline', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app, { limits })
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    expect(world.clock.pending).toBe(0)
    world.clock.advance(60_000)
    expect((await thread.send('go').result()).stopReason).toBe('completed')
  })

  it('L1, P1: the deadline still stands after a restart', async () => {
    const began = [deferred(), deferred()]
    let runs = 0
    const make = () =>
      tinyApp({
        script: () => calls('slow'),
        tools: [
          looseTool('slow', () => {
            began[runs++]?.resolve()
            return deferred().promise
          }),
        ],
      }).app
    const first = await world.open(make(), { limits, closeGraceMs: 0 })
    const { id } = await first.threads.create({ agent: 'helper' })
    const { id: run } = (await first.threads.get(id)).send('go')
    await began[0]?.promise
    await until('the call', async () => (await (await first.threads.get(id)).status()) === 'acting')
    const closed = world.close(first)
    world.clock.advance(0)
    await closed
    world.clock.advance(4_000)
    // A host with another limit does not move what was fixed when the turn began.
    const second = await world.open(make(), { limits: { maxWallClockMs: 99_999 } })
    await began[1]?.promise
    const thread = await second.threads.get(id)
    world.clock.advance(5_999)
    await quiet()
    expect(await thread.status()).toBe('acting')
    world.clock.advance(1)
    expect((await thread.run(run).result()).stopReason).toBe('deadline')
  })

  it('L1, P1: a deadline that passed while nobody was there ends the turn at once', async () => {
    const began = deferred()
    const make = () =>
      tinyApp({
        script: () => calls('slow'),
        tools: [
          looseTool('slow', () => {
            began.resolve()
            return deferred().promise
          }),
        ],
      }).app
    const first = await world.open(make(), { limits, closeGraceMs: 0 })
    const { id } = await first.threads.create({ agent: 'helper' })
    const { id: run } = (await first.threads.get(id)).send('go')
    await began.promise
    await until('the call', async () => (await (await first.threads.get(id)).status()) === 'acting')
    const closed = world.close(first)
    world.clock.advance(0)
    await closed
    world.clock.advance(20_000)
    const second = await world.open(make())
    await until('the deadline to be heard of', () => {
      world.clock.advance(0)
      return second.host.threadsAwake === 1
    })
    await until('the end', async () => {
      world.clock.advance(0)
      return (await (await second.threads.get(id)).status()) === 'idle'
    })
    expect((await (await second.threads.get(id)).run(run).result()).stopReason).toBe('deadline')
  })

  it('L1, P1: a host that takes over a paused turn keeps its deadline, though it wakes nobody', async () => {
    const { app } = tinyApp({
      script: async () => {
        await deferred().promise
        return 'never'
      },
    })
    const first = await world.open(app, { limits })
    const { id } = await first.threads.create({ agent: 'helper' })
    const paused = await first.threads.get(id)
    await paused.pause()
    const run = paused.send('go')
    await run.accepted()
    await world.close(first)
    const second = await world.open(app)
    await quiet()
    expect(second.host.threadsAwake).toBe(0)
    const thread = await second.threads.get(id)
    world.clock.advance(10_000)
    await until('the end', async () => {
      world.clock.advance(0)
      return (await thread.info()).wakeAt === undefined
    })
    expect((await thread.run(run.id).result()).stopReason).toBe('deadline')
  })

  it('L1, F8: it ends a paused turn too, also one that nobody holds in memory', async () => {
    const { app } = tinyApp({
      script: async () => {
        await deferred().promise
        return 'never'
      },
    })
    const skein = await world.open(app, { limits, maxResident: 0 })
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.pause()
    const run = thread.send('go')
    await run.accepted()
    await until('the thread to be let go', () => skein.host.threadsAwake === 0)
    world.clock.advance(10_000)
    await until('the end', async () => {
      world.clock.advance(0)
      return (await thread.info()).wakeAt === undefined
    })
    expect((await run.result()).stopReason).toBe('deadline')
    expect(await thread.status()).toBe('paused')
  })
})
