/** L4: a turn that makes the same call again and again stops, with a reason that names the call. */
import { expect, it } from 'vitest'
import { looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const fails = looseTool('search', () => {
  throw new Error('no such index')
})
const works = looseTool('look', () => 'the same again')
const call = (tool: string, args = {}) => ({ calls: [{ tool, args }] })

onEveryStore('repetition', (world) => {
  it('L4: eight equal calls that failed stop the turn, and the reason names the call', async () => {
    const { app, model } = tinyApp({ tools: [fails], script: () => call('search', { b: 1, a: 'x' }) })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({
      stopReason: 'repetition',
      detail: 'the call search {"a":"x","b":1} failed 8 times within 32 calls',
      steps: 8,
    })
    expect(model.requests).toHaveLength(8)
    expect(await thread.status()).toBe('idle')
    // Another turn counts anew.
    expect(await thread.send('go on').result()).toMatchObject({ stopReason: 'repetition', steps: 8 })
  })

  it('L4: sixteen equal calls stop the turn whatever came of them; other args are other calls', async () => {
    const script = ({ step, messages }: { step: number; messages: readonly { text: string }[] }) =>
      messages.some(({ text }) => text === 'differently') && step < 56 ? call('look', { step }) : call('look')
    const { app } = tinyApp({ tools: [works], script })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const stopped = { stopReason: 'repetition', detail: 'the call look {} was made 16 times within 32 calls' }
    expect(await thread.send('go').result()).toMatchObject({ ...stopped, steps: 16 })
    expect(await thread.send('differently').result()).toMatchObject({ ...stopped, steps: 72 })
  })

  it('L4: long args are told apart by every character, and not by the order of their fields', async () => {
    const text = 'x'.repeat(100_000)
    const equal = (step: number) =>
      step % 2 === 0 ? { text, list: [1, { a: 'b', c: null }] } : { list: [1, { c: null, a: 'b' }], text }
    const other = (step: number) => ({ text: `${text}${String.fromCharCode(97 + step)}${text}` })
    const { app } = tinyApp({
      tools: [fails],
      script: ({ step, messages }) => {
        if (messages.some((message) => message.text === 'differently'))
          return step < 20 ? call('search', other(step)) : 'done'
        return call('search', equal(step))
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'repetition', steps: 8 })
    const second = await skein.threads.create({ agent: 'helper' })
    expect(await second.send('differently').result()).toMatchObject({ stopReason: 'completed', steps: 21 })
  })

  it('L4: a loop of two calls is caught, also where both are made in one step', async () => {
    const { app } = tinyApp({
      tools: [fails, works],
      script: ({ step }) => call(step % 2 === 0 ? 'look' : 'search'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const result = await thread.send('go').result()
    expect(result).toMatchObject({ stopReason: 'repetition', steps: 16 })
    expect(result.detail).toBe('the call search {} failed 8 times within 32 calls')
    await world.close(skein)
    const both = tinyApp({
      tools: [fails, works],
      script: () => ({ calls: [...call('look').calls, ...call('search').calls] }),
    })
    const again = await world.open(both.app)
    expect(await (await again.threads.get(thread.id)).send('go').result()).toMatchObject({ steps: 8 })
  })

  it('L4: a tool that polls is not counted; numbers are options, and false is never', async () => {
    const polls = { ...works, repeats: true }
    const { app } = tinyApp({ tools: [polls, fails], script: ({ step }) => (step < 40 ? call('look') : 'done') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'completed', steps: 41 })
    await world.close(skein)

    const failing = tinyApp({ tools: [fails], script: ({ step }) => (step < 60 ? call('search') : 'done') })
    const strict = await world.open(failing.app, { limits: { repetition: { failing: 3 } } })
    expect(await (await strict.threads.get(thread.id)).send('go').result()).toMatchObject({ steps: 3 })
    await world.close(strict)
    const never = await world.open(failing.app, { limits: { repetition: false } })
    expect(await (await never.threads.get(thread.id)).send('go').result()).toMatchObject({ stopReason: 'completed' })
  })

  it('L4, P1: what was counted survives a restart', async () => {
    const fifth = deferred()
    const first = tinyApp({
      tools: [fails],
      script: ({ step }) => {
        if (step < 4) return call('search')
        fifth.resolve()
        return new Promise(() => undefined)
      },
    })
    const skein = await world.open(first.app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    run.result().catch(() => undefined)
    await fifth.promise
    await world.close(skein)
    const second = tinyApp({ tools: [fails], script: () => call('search') })
    const again = await world.open(second.app)
    const result = await (await again.threads.get(thread.id)).run(run.id).result()
    expect(result).toMatchObject({ stopReason: 'repetition', steps: 8 })
  })

  it('L4: a number that could never be reached is refused', async () => {
    const { app } = tinyApp({ tools: [works], script: () => 'done' })
    await expect(world.open(app, { limits: { repetition: { same: 33 } } })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('limits.repetition.same'),
    })
  })
})
