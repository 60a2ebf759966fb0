/**
 * Rate limits of a provider, as threads meet them: they wait in line, are seen there, and end their wait like any
 * other.
 */
import { expect, it } from 'vitest'
import type { SkeinEvent } from '../../../../src/core/records/event.js'
import { failure } from '../../../../src/core/failure.js'
import type { ScriptedReply } from '../../../../src/models/scripted.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { tinyApp } from '../../../helpers/app.js'
import { quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const limited = (retryAfterMs: number): ScriptedReply => ({
  error: { ...failure('MODEL_RATE_LIMITED', 'slow down', { retry: true }), data: { status: 429, retryAfterMs } },
})

/** Refuses while it has a limit. */
class Provider {
  limit: number | undefined
  readonly asked: string[] = []
  readonly app = tinyApp({
    script: ({ thread }): ScriptedReply => {
      this.asked.push(thread)
      return this.limit === undefined ? 'done' : limited(this.limit)
    },
  }).app
}

async function send(skein: Skein, id: string) {
  const thread = await skein.threads.create({ agent: 'helper', id })
  const run = thread.send('go', { id: `${id}-go` })
  await run.accepted()
  return { thread, run }
}

onEveryStore('admission', (world) => {
  it('L5, B7: a thread that is limited makes all wait for that model; the places are seen, and all go on in order', async () => {
    const model = new Provider()
    const skein = await world.open(model.app)
    model.limit = 10_000
    const first = await send(skein, 'a')
    await until('it is limited', () => model.asked.length === 1)
    const told: SkeinEvent[] = []
    void (async () => {
      for await (const event of first.thread.events()) told.push(event)
    })()
    const rest = [await send(skein, 'b'), await send(skein, 'c')]
    await until('it is told', () => told.some(({ type }) => type === 'model.waiting'))
    model.limit = undefined
    const at = world.clock.now() + 10_000
    expect(told.find(({ type }) => type === 'model.waiting')).toMatchObject({
      thread: 'a',
      run: 'a-go',
      model: 'scripted',
      place: 1,
      until: at,
    })
    const asking = skein.modelWaits()
    world.clock.advance(250)
    expect(await asking).toEqual([
      { thread: 'a', model: 'scripted', place: 1, until: at },
      { thread: 'b', model: 'scripted', place: 2, until: at },
      { thread: 'c', model: 'scripted', place: 3, until: at },
    ])
    world.clock.advance(9_749)
    await quiet()
    expect(model.asked).toEqual(['a'])
    world.clock.advance(1)
    expect(await Promise.all([first, ...rest].map(({ run }) => run.text()))).toEqual(['done', 'done', 'done'])
    expect(model.asked).toEqual(['a', 'a', 'b', 'c'])
    await until('the end of the wait is told', () =>
      told.some((event) => event.type === 'model.waiting' && event.place === 0),
    )
  })

  it('L5: cancel, terminate and a deadline end a wait at once, and the thread goes on with the next message', async () => {
    const model = new Provider()
    const skein = await world.open(model.app, { limits: { maxWallClockMs: 3_000 } })
    model.limit = 60_000
    const [one, two, three] = [await send(skein, 'a'), await send(skein, 'b'), await send(skein, 'c')]
    await until('one is limited', () => model.asked.length > 0)
    await quiet()
    const asked = model.asked.length
    await one.thread.cancel({ reason: 'enough' })
    expect(await one.run.result()).toMatchObject({ stopReason: 'cancelled' })
    await two.thread.terminate()
    expect(await two.run.result()).toMatchObject({ stopReason: 'terminated' })
    world.clock.advance(3_000)
    expect(await three.run.result()).toMatchObject({ stopReason: 'deadline' })
    expect(model.asked).toHaveLength(asked)
    model.limit = undefined
    world.clock.advance(60_000)
    expect(await one.thread.send('again').text()).toBe('done')
  })

  it('a wait of more than five minutes fails the turn, of all that wait, and resume tries again', async () => {
    const model = new Provider()
    const skein = await world.open(model.app)
    model.limit = 301_000
    const one = await send(skein, 'a')
    expect(await one.run.result()).toMatchObject({ stopReason: 'failed', failure: { code: 'MODEL_RATE_LIMITED' } })
    const two = await send(skein, 'b')
    expect(await two.run.result()).toMatchObject({ stopReason: 'failed', failure: { code: 'MODEL_RATE_LIMITED' } })
    expect(model.asked).toEqual(['a'])
    model.limit = undefined
    world.clock.advance(300_000)
    expect(await two.thread.send('again').text()).toBe('done')
  })

  it('a host that closes leaves no one waiting: the turn goes on where the store is opened again', async () => {
    const model = new Provider()
    const skein = await world.open(model.app)
    model.limit = 10_000
    await send(skein, 'a')
    await until('it is limited', () => model.asked.length === 1)
    await world.close(skein)
    model.limit = undefined
    const again = await world.open(model.app)
    expect(await (await again.threads.get('a')).run('a-go').text()).toBe('done')
  })
})
