/** K2, L3, R3, F4: hooks, reductions, stop rules and edits that meet in one turn. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineHook } from '../../../../src/agent/define-hook.js'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import type { Definition, Prompt } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../../../src/models/scripted.js'
import { deferred } from '../../../helpers/deferred.js'
import { eventsOf } from '../../../helpers/hooked.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = defineTool({
  name: 'look',
  description: 'Looks',
  args: z.object({ number: z.number() }),
  sideEffect: false,
  variables: [{ name: 'API_KEY', required: false }],
  execute: (_, { number }) => `page ${number} `.padEnd(480, 'z'),
})

const lookTwice = (step: number) => [step, step + 100].map((number) => ({ tool: 'look', args: { number } }) as const)

interface SteeredApp {
  readonly script: Script
  readonly prompt?: Partial<Prompt>
  readonly more?: readonly Definition[]
  readonly maxSteps?: number
}

/** A model of 2,000 tokens. */
function steeredApp({ script, prompt = {}, more = [], maxSteps = 100 }: SteeredApp): {
  readonly app: readonly Definition[]
  readonly model: ScriptedModel
} {
  const model = scriptedModel(script)
  const app = [
    look,
    ...more,
    defineModel({ name: 'm', model, contextTokens: 2_000, maxRetries: 0 }),
    definePrompt({ name: 'p', prompt: 'You look.', model: 'm', tools: ['look'], ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', maxSteps } }),
  ]
  return { app, model }
}

onEveryStore('turns that are steered by several rules', (world) => {
  it('K2: a result that contains itself is a failure of its hook, and the turn goes on', async () => {
    const endless: Record<string, unknown> = { a: 1 }
    endless['self'] = endless
    const { app } = steeredApp({
      script: ({ step }) => (step === 0 ? { calls: lookTwice(0) } : 'done'),
      prompt: { hooks: ['odd'] },
      more: [defineHook({ name: 'odd', on: 'after_call', run: () => ({ result: Object(endless) }) })],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('done')
    const [first] = await eventsOf(thread, 'hook.decided')
    expect(first?.asked[0]?.failure?.message).toContain('it contains itself')
  })

  it('L3, F4: a message that is removed while a summary is written is not in it', async () => {
    const began = deferred()
    const goesOn = deferred()
    let summaries = 0
    const { app } = steeredApp({
      script: async ({ step, messages, summary }) => {
        const usage = { inputTokens: 0, outputTokens: summary ? 7 : 0 }
        if (summary) {
          const text = `of ${messages.map((message) => message.text.slice(0, 20)).join(' ')}`
          if (summaries++ === 0) {
            began.resolve()
            await goesOn.promise
          }
          return { text, usage }
        }
        return step < 8
          ? { calls: lookTwice(step), usage }
          : { text: messages.map(({ text }) => text).join(' '), usage }
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('the word is hunter', { id: 'm' })
    await began.promise
    await thread.remove('m')
    goesOn.resolve()
    const { text, usage } = await run.result()
    expect(text).toContain('<summary>')
    expect(text).not.toContain('hunter')
    // What was asked for in vain is paid for, too.
    expect(usage.outputTokens).toBe(7 * summaries)
  })

  it('R3, L3: there is no last answer where its summary spends what is left', async () => {
    const { app, model } = steeredApp({
      script: ({ step, summary, toolChoice }) => {
        const usage = { inputTokens: 0, outputTokens: summary ? 1_000 : 10 }
        if (summary) return { text: 'a summary', usage }
        return toolChoice === 'none' ? { text: 'the last', usage } : { calls: lookTwice(step), usage }
      },
      prompt: { lastAnswer: true },
      maxSteps: 7,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', budget: { tokens: 900 } })
    const { text, stopReason } = await thread.send('go').result()
    const asked = model.requests.map(({ summary }) => summary === true)
    expect({ text, stopReason, asked }).toEqual({
      text: '',
      stopReason: 'max_steps',
      asked: [...Array.from({ length: 7 }, () => false), true],
    })
  })

  it('K2, F3: tags, paths and ids that hooks give are masked', async () => {
    const secret = 'sk-live-1234567890'
    const { app } = steeredApp({
      script: () => 'hello',
      prompt: { hooks: ['begin', 'step'] },
      more: [
        defineHook({
          name: 'begin',
          on: 'thread_created',
          run: () => ({ tags: [`of ${secret}`], files: { [`/${secret}.txt`]: 'a' } }),
        }),
        defineHook({ name: 'step', on: 'before_step', run: () => ({ hide: [secret] }) }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', env: { API_KEY: secret } })
    await thread.send('go').text()
    const told = [await eventsOf(thread, 'thread.created'), await eventsOf(thread, 'hook.decided'), await thread.info()]
    expect(JSON.stringify(told)).not.toContain(secret)
  })
})
