/**
 * Effects on the world whose thread starts over from its journal while they run, or before what came of them is
 * durable.
 */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { typesIn } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { World } from '../../../helpers/world.js'

/** A store that refuses what holds such a record, so often; the time until the thread starts over passes each time. */
function failing(world: World, type: string, times: number) {
  let failures = 0
  world.tap.commit = async (commit, go) => {
    if (typesIn(commit).includes(type) && failures < times) {
      failures++
      throw new Error('disk is full')
    }
    return go()
  }
  const before = world.warnings.length
  let seen = 0
  return async (): Promise<void> =>
    until('the store works again', () => {
      if (world.warnings.length - before > seen) world.clock.advance(50 * 2 ** seen++)
      return seen === times
    })
}

onEveryStore('effects of a thread that starts over', (world) => {
  it('OR1, TH5: what came of an effect is not lost, nor is it done twice, when the store fails to take it', async () => {
    const ran: string[] = []
    const pay = looseTool(
      'pay',
      ({ idempotencyKey }) => {
        ran.push(idempotencyKey)
        return 'paid'
      },
      { sideEffect: true },
    )
    const { app } = tinyApp({ script: ({ step }) => (step === 0 ? calls('pay') : 'done'), tools: [pay] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const mended = failing(world, 'call.returned', 3)
    const run = thread.send('go')
    await run.accepted()
    await mended()
    expect(await run.text()).toBe('done')
    expect([(await thread.messages()).map(({ text }) => text), ran.length]).toEqual([['go', '', 'paid', 'done'], 1])
  })

  it('OR2, TH5: a body goes on while its thread starts over, and is waited for', async () => {
    const [began, release] = [deferred(), deferred<string>()]
    let ran = 0
    const pay = looseTool(
      'pay',
      () => {
        ran++
        began.resolve()
        return release.promise
      },
      { sideEffect: true },
    )
    const { app } = tinyApp({ script: ({ step }) => (step === 0 ? calls('pay') : 'done'), tools: [pay] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began.promise
    const mended = failing(world, 'message.received', 2)
    await Promise.all([thread.send('hurry').accepted(), mended()])
    release.resolve('paid')
    expect(await run.text()).toBe('done')
    expect([(await thread.messages()).map(({ text }) => text), ran]).toEqual([['go', '', 'paid', 'hurry', 'done'], 1])
  })

  it('OR1: an abort of the call still ends a body that went on', async () => {
    const [began, ended] = [deferred(), deferred<string>()]
    const pay = looseTool(
      'pay',
      ({ signal }) => {
        signal.addEventListener('abort', () => ended.resolve('ended'))
        began.resolve()
        return ended.promise
      },
      { sideEffect: true },
    )
    const { app } = tinyApp({ script: ({ step }) => (step === 0 ? calls('pay') : 'done'), tools: [pay] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began.promise
    const mended = failing(world, 'message.received', 1)
    await Promise.all([thread.send('hurry').accepted(), mended()])
    await thread.cancel()
    expect(await ended.promise).toBe('ended')
    expect(await run.result()).toMatchObject({ stopReason: 'cancelled' })
  })
})
