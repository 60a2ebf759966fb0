/** Limits of a turn: where it stops, and what it keeps. */
import { expect, it } from 'vitest'
import type { Message } from '../../../../src/core/records/message.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const results = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
const usage = (inputTokens: number, outputTokens = 0, costUsd = 0) => ({ inputTokens, outputTokens, costUsd })
const look = looseTool('look', (_, { at }) => `saw ${String(at)}`)
const at = (...places: readonly number[]) => places.map((place) => ({ tool: 'look', args: { at: place } }))

onEveryStore('limits of a turn', (world) => {
  it('L1: maxTokens stops before the next model call, with what there is; another turn has its own', async () => {
    const { app, model } = tinyApp({
      tools: [look],
      script: ({ step }) => ({ text: `step ${step}`, calls: at(step), usage: usage(60, 40) }),
    })
    const skein = await world.open(app, { limits: { maxTokens: 250 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    const result = await thread.send('go').result()
    // One model call past the limit at most: 300 of 250.
    expect(result).toMatchObject({
      stopReason: 'max_tokens',
      detail: '300 tokens of 250',
      text: 'step 2',
      steps: 3,
      usage: usage(180, 120),
    })
    expect(results(await thread.messages())).toEqual(['saw 0', 'saw 1', 'saw 2'])
    expect(await thread.status()).toBe('idle')
    expect((await thread.send('again').result()).stopReason).toBe('max_tokens')
    expect(model.requests).toHaveLength(6)
  })

  it('L1: maxCostUsd and maxSteps do the same; a last reply is complete whatever it cost', async () => {
    const script = ({ messages }: { messages: readonly Message[] }) =>
      messages.at(-1)?.text === 'short'
        ? { text: 'done', usage: usage(1, 1, 9) }
        : { calls: at(1), usage: usage(1, 1, 0.1) }
    const { app } = tinyApp({ tools: [look], script })
    const skein = await world.open(app, { limits: { maxCostUsd: 0.3, maxSteps: 5 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'max_cost', steps: 3 })
    expect(await thread.send('short').result()).toMatchObject({ stopReason: 'completed', text: 'done' })
    await world.close(skein)
    const free = await world.open(app, { limits: { maxSteps: 5 } })
    expect(await (await free.threads.get(thread.id)).send('go').result()).toMatchObject({
      stopReason: 'max_steps',
      detail: '5 steps of 5',
      steps: 5,
    })
  })

  it('L1: calls past maxToolCalls are answered and not run; asking for more with none left ends the turn', async () => {
    const ran: unknown[] = []
    const tool = looseTool('look', (_, { at: place }) => {
      ran.push(place)
      return `saw ${String(place)}`
    })
    const { app } = tinyApp({
      tools: [tool],
      script: ({ step }) => ({
        text: `step ${step}`,
        calls: [at(1, 2), [{ tool: 'nowhere', args: {} }, ...at(3, 4, 5)], at(6)][step] ?? [],
      }),
    })
    const skein = await world.open(app, { limits: { maxToolCalls: 3 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({
      stopReason: 'max_tool_calls',
      detail: '3 calls of 3',
      text: 'step 2',
      steps: 3,
    })
    expect(ran).toEqual([1, 2, 3])
    const texts = results(await thread.messages())
    expect(texts.slice(3, 4)).toEqual(['saw 3'])
    expect(texts.slice(4)).toEqual(
      Array.from({ length: 3 }, () =>
        expect.stringMatching(
          /TOOL_SKIPPED: look was not run: 3 calls are allowed in one turn; answer with what you have/,
        ),
      ),
    )
  })

  it('L1: a model that answers when it is told so completes; queued calls count too', async () => {
    const queue = looseTool(
      'queue',
      (state) => {
        state.queueTool('look', { at: 9 })
        return 'queued'
      },
      { uses: ['look'] },
    )
    const { app } = tinyApp({
      tools: [look, queue],
      script: ({ step }) => (step === 0 ? calls('queue', ...at(1, 2)) : 'so be it'),
    })
    const skein = await world.open(app, { limits: { maxToolCalls: 2 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'completed', text: 'so be it' })
    expect(results(await thread.messages()).map((text) => text.slice(0, 18))).toEqual([
      'queued',
      'saw 1',
      'Error TOOL_SKIPPED',
      'Error TOOL_SKIPPED',
    ])
  })

  it('T5, L1: a cached hit is a call like any other, and its body does not run', async () => {
    let ran = 0
    const cached = looseTool('look', () => ++ran, { cache: true })
    const { app } = tinyApp({
      tools: [cached],
      script: ({ step }) => (step < 2 ? calls(...at(1, 1)) : 'so be it'),
    })
    const skein = await world.open(app, { limits: { maxToolCalls: 3 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason: 'completed' })
    expect((await run.toolCalls()).map(({ fromCache = false }) => fromCache)).toEqual([false, true, true, false])
    const texts = results(await thread.messages())
    expect(texts.slice(0, 3)).toEqual(['1', '1', '1'])
    expect(texts[3]).toMatch(/TOOL_SKIPPED: look was not run: 3 calls are allowed/)
    expect(ran).toBe(1)
  })

  it('L1: 0 means zero: no model call, no call', async () => {
    const { app, model } = tinyApp({ tools: [look], script: () => ({ text: 'I look', calls: at(1) }) })
    for (const limits of [{ maxTokens: 0 }, { maxCostUsd: 0 }, { maxSteps: 0 }]) {
      const skein = await world.open(app, { limits })
      const thread = await skein.threads.create({ agent: 'helper' })
      expect(await thread.send('go').result()).toMatchObject({
        stopReason: { maxTokens: 'max_tokens', maxCostUsd: 'max_cost', maxSteps: 'max_steps' }[
          Object.keys(limits)[0] ?? ''
        ],
        text: '',
        steps: 0,
      })
      await world.close(skein)
    }
    expect(model.requests).toHaveLength(0)
    const skein = await world.open(app, { limits: { maxToolCalls: 0 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'max_tool_calls', text: 'I look', steps: 1 })
    expect(results(await thread.messages())).toEqual([expect.stringMatching(/TOOL_SKIPPED/)])
  })

  it('what a turn may spend is fixed when it starts: a restart with other limits, or none, changes nothing', async () => {
    let hold = (): void => undefined
    const held = new Promise<void>((resolve) => (hold = resolve))
    const slow = looseTool('look', () => held)
    const make = (tool = slow) =>
      tinyApp({ tools: [tool], script: ({ step }) => ({ text: `step ${step}`, calls: at(step), usage: usage(10) }) })
        .app
    const skein = await world.open(make(), { limits: { maxTokens: 15 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go', { id: 'm' }).accepted()
    while ((await thread.status()) !== 'acting') await new Promise(setImmediate)
    const closed = world.close(skein)
    world.clock.advance(60_000)
    await closed
    hold()
    const again = await world.open(make(look))
    expect(await (await again.threads.get(thread.id)).run('m').result()).toMatchObject({
      stopReason: 'max_tokens',
      steps: 2,
    })
  })
})
