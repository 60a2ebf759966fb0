/** L3: a conversation that becomes too long for its model is reduced, rarely, and what was archived can be had back. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import type { Definition, Prompt, ToolDefinition } from '../../../../src/agent/define.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { ModelRequest } from '../../../../src/models/port.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { ScriptedModel, ScriptedReply } from '../../../../src/models/scripted.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'
import { deferred } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = defineTool({
  name: 'look',
  description: 'Looks',
  args: z.object({ number: z.number(), length: z.number().default(800) }),
  sideEffect: false,
  execute: (_, { number, length }) => `page ${number} `.padEnd(length, `${number}.`),
})

type Script = (request: ModelRequest) => ScriptedReply

interface LongApp {
  readonly script: Script
  readonly context?: Prompt['context']
  readonly prompt?: Partial<Prompt>
  readonly tools?: readonly ToolDefinition[]
  readonly more?: readonly Definition[]
}

/** A model of 2,000 tokens: it is looked at with 1,500 and reduced to 800. */
function longApp({ script, context, prompt = {}, tools = [look], more = [] }: LongApp): {
  readonly app: readonly Definition[]
  readonly model: ScriptedModel
} {
  const model = scriptedModel(script)
  const app = [
    ...tools,
    ...more,
    defineModel({ name: 'm', model, contextTokens: 2_000, maxRetries: 0 }),
    definePrompt({
      name: 'p',
      prompt: 'You look.',
      model: 'm',
      tools: tools.map(({ name }) => name),
      ...(context !== undefined && { context }),
      ...prompt,
    }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', maxSteps: 1_000 } }),
  ]
  return { app, model }
}

const charsIn = (messages: readonly Message[]): number =>
  messages.reduce(
    (all, { text, calls = [] }) =>
      all + text.length + calls.reduce((sum, { args }) => sum + JSON.stringify(args).length, 0),
    0,
  )

const lookAt = (number: number, length?: number): ScriptedReply => ({
  calls: [{ tool: 'look', args: { number, ...(length !== undefined && { length }) } }],
})

/** Looks `pages` times; `reports`: says how many tokens its request had. */
const reader =
  (pages: number, reports: boolean): Script =>
  ({ step, messages, summary }) => {
    const usage = { inputTokens: reports ? 100 + Math.round(charsIn(messages) / 4) : 0, outputTokens: reports ? 10 : 0 }
    if (summary) return { text: `read up to page ${step}`, usage }
    return step < pages ? { ...Object(lookAt(step)), usage } : { text: `read ${pages} pages`, usage }
  }

async function reductions(thread: Thread) {
  const found = []
  for await (const event of thread.events({ until: 'now' })) if (event.type === 'context.reduced') found.push(event)
  return found
}

const isMarker = ({ role, text }: Message): boolean => role === 'tool' && text.startsWith('[archived: ')
const isSummary = ({ text }: Message): boolean => text.startsWith('<summary>\n')

onEveryStore('a long conversation', (world) => {
  it.each([true, false])('L3: is reduced at the trigger to the target; usage is reported: %s', async (reports) => {
    const { app, model } = longApp({ script: reader(40, reports) })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    expect(await thread.send('read it all').text()).toBe('read 40 pages')
    const tokens = model.requests.map(({ messages }) => charsIn(messages) / 4 + (reports ? 100 : 0))
    // Not over the trigger but for the newest batch, and reduced to the target, give or take the summary.
    expect(Math.max(...tokens)).toBeLessThanOrEqual(1_500 + 220)
    const found = await reductions(thread)
    expect(found.length).toBeGreaterThan(3)
    expect(found.length).toBeLessThan(20)
    for (const { size, next } of found) {
      expect(size).toBeLessThanOrEqual(800)
      expect(next).toBe(1_500)
    }
    // The transcript is whole.
    expect(await thread.messages()).toHaveLength(82)
    expect((await thread.messages()).some(isMarker)).toBe(false)
  })

  it('L3: requests are append-only between reductions, and a summary is the request and one message more', async () => {
    const { app, model } = longApp({ script: reader(60, true) })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('read it all').text()
    const requests = model.requests.map(({ messages, tools, summary, system, toolChoice }) => ({
      texts: messages.map((message) => JSON.stringify(message)),
      frame: JSON.stringify([system, tools, toolChoice]),
      summary: summary === true,
    }))
    const pairs = requests.slice(1).map((request, index) => ({ request, before: requests[index] }))
    const appended = pairs.filter(({ request: { texts }, before }) =>
      before?.texts.every((text, at) => text === texts[at]),
    )
    // Tools come first in a request: they are the same from the first step on.
    expect(new Set(requests.map(({ frame }) => frame)).size).toBe(1)
    expect(appended.filter(({ request }) => request.summary)).toEqual(pairs.filter(({ request }) => request.summary))
    const broken = pairs.length - appended.length
    // What was summarised is not lost: the summary stands where it was.
    const first = requests.findIndex(({ summary }) => summary)
    for (const { texts } of requests.slice(first + 1))
      expect(JSON.parse(texts[0] ?? '')).toMatchObject({ role: 'user', text: expect.stringMatching(/^<summary>\n/) })
    const found = await reductions(thread)
    expect(broken).toBe(found.length)
    expect(requests.filter(({ summary }) => summary).length).toBe(found.filter(({ summary }) => summary).length)
  })

  it('L3, T12: a marker names a call whose result get_tool_response gives back, also past a summary and after a restart', async () => {
    const script: Script = ({ step, messages, summary }) => {
      if (summary) return 'a summary'
      const said = messages.findLast(({ role, text }) => role === 'user' && !text.startsWith('<summary>'))?.text ?? ''
      const [, id] = /^fetch (\S+)$/.exec(said) ?? []
      if (id === undefined) return step < 30 ? lookAt(step) : 'read'
      return messages.at(-1)?.role === 'tool'
        ? (messages.at(-1)?.text ?? '')
        : { calls: [{ tool: 'get_tool_response', args: { id } }] }
    }
    const { app } = longApp({ script })
    const skein = await world.open(app, { snapshotEvery: 20 })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('read it all').text()
    const results = (await thread.messages()).filter(({ role }) => role === 'tool')
    const last = (await reductions(thread)).findLast(({ summary }) => summary)
    expect(last?.summary?.before).toBeGreaterThan(20)
    for (const at of [0, 7, 13]) expect(await thread.send(`fetch call_${at + 1}_0`).text()).toBe(results[at]?.text)
    await world.close(skein)
    const again = await world.open(app, { snapshotEvery: 20 })
    const same = await again.threads.get('t')
    for (const at of [1, 17]) expect(await same.send(`fetch call_${at + 1}_0`).text()).toBe(results[at]?.text)
    // What is in the conversation as it is, and what never was, is not given.
    const newest = (await same.messages()).findLast(({ role }) => role === 'tool')?.call
    expect(await same.send(`fetch ${newest}`).text()).toContain('was not cut and not archived')
    expect(await same.send('fetch call_999_0').text()).toContain('was not cut and not archived')
  })

  it('L3: markers alone, where they free enough; `retention: keep` is never one', async () => {
    const script: Script = ({ step, summary }) => {
      expect(summary).toBeUndefined()
      return step < 8 ? { calls: [...Object(lookAt(step, 700)).calls, { tool: 'keep', args: {} }] } : 'read'
    }
    const keep = {
      ...defineTool({ name: 'keep', description: 'x', args: z.object({}), execute: () => 'k'.repeat(600) }),
      retention: 'keep' as const,
    }
    const { app, model } = longApp({ script, tools: [look, keep], context: { targetTokens: 1_200 } })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('read it').text()
    const found = await reductions(thread)
    expect(found.length).toBeGreaterThan(0)
    expect(found.every(({ summary }) => summary === undefined)).toBe(true)
    const messages = model.requests.at(-1)?.messages ?? []
    expect(messages.filter(isMarker).length).toBeGreaterThan(0)
    expect(messages.filter(isMarker).every(({ tool }) => tool === 'look')).toBe(true)
  })

  it('L3: the summary begins with the request, word for word, and with what was said to steer', async () => {
    const gate = deferred()
    const script: Script = ({ step, summary }) => {
      if (step === 5) gate.resolve()
      if (summary) return 'what happened'
      return step < 60 ? lookAt(step) : 'read'
    }
    const { app, model } = longApp({ script })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('read all of it')
    await gate.promise
    await thread.send('in French').accepted()
    await run.text()
    const texts = model.requests.map(({ messages }) => messages[0]).filter((message) => message && isSummary(message))
    expect(texts[0]?.text).toMatch(
      /^<summary>\nThe request: read all of it\n\n(in French\n\n)?what happened\n<\/summary>$/,
    )
    expect(texts.at(-1)?.text).toBe('<summary>\nThe request: read all of it\n\nin French\n\nwhat happened\n</summary>')
    // The request of an earlier turn is no longer open.
    await thread.send('now sum it up').text()
    const later = model.requests.at(-1)?.messages[0]
    expect(later?.text).toContain('The request: ')
  })

  it.each<[string, ScriptedReply]>([
    ['fails', { error: 'the provider refused' }],
    ['has no text', { calls: [{ tool: 'look', args: { number: 1 } }] }],
  ])(
    'L3: a summary that %s costs nothing but the room: what was archived counts, and it is not tried at every step',
    async (_, reply) => {
      const script: Script = ({ step, summary }) => {
        if (summary) return reply
        return step < 24 ? lookAt(step, 450) : 'read'
      }
      const { app, model } = longApp({ script })
      const skein = await world.open(app)
      const thread = await skein.threads.create({ agent: 'helper', id: 't' })
      expect(await thread.send('read it').result()).toMatchObject({ stopReason: 'completed', text: 'read' })
      const found = await reductions(thread)
      expect(found[0]?.failure?.code).toBe('MODEL_REJECTED')
      expect(found[0]?.next).toBeGreaterThan(1_500)
      const asked = model.requests.filter(({ summary }) => summary).length
      expect(asked).toBeGreaterThan(0)
      expect(asked).toBeLessThan(6)
      expect(await thread.messages()).toHaveLength(50)
    },
  )

  it('L3, O2, L1: a summary is paid for: usage, limits and budgets have it, and it is no step', async () => {
    const script: Script = ({ step, summary }) => {
      const usage = { inputTokens: 0, outputTokens: 100, costUsd: 0.01 }
      return summary ? { text: 'so far', usage } : { ...Object(step < 90 ? lookAt(step, 450) : { text: 'read' }) }
    }
    const cheap = scriptedModel(() => ({
      text: 'in short',
      usage: { inputTokens: 50, outputTokens: 50, costUsd: 0.5 },
    }))
    const more = [defineModel({ name: 'cheap', model: cheap })]
    const { app } = longApp({ script, more, context: { summary: { model: 'cheap', prompt: 'Be short.' } } })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't', budget: { tokens: 250 } })
    const result = await thread.send('read it').result()
    expect(result).toMatchObject({ stopReason: 'budget_spent' })
    const found = await reductions(thread)
    expect(found).toHaveLength(3)
    expect(cheap.requests[0]?.messages.at(-1)?.text).toBe('Be short.')
    const { own, byModel } = await thread.usage()
    expect(own).toMatchObject({ inputTokens: 150, outputTokens: 150, costUsd: 1.5 })
    expect(byModel).toEqual([{ model: 'cheap', inputTokens: 150, outputTokens: 150, costUsd: 1.5 }])
    await world.close(skein)
    const limited = await world.open(app, { limits: { maxTokens: 100 } })
    const other = await limited.threads.create({ agent: 'helper', id: 'u' })
    expect(await other.send('read it').result()).toMatchObject({ stopReason: 'max_tokens' })
    expect(await reductions(other)).toHaveLength(1)
  })

  it('L3, F3: a secret that the model says again is masked in the summary', async () => {
    const secret = 'sk-nobody-may-read-this-one'
    const spy = {
      ...defineTool({
        name: 'spy',
        description: 'x',
        args: z.object({}),
        variables: [{ name: 'TOKEN', type: 'secret' as const }],
        execute: () => 'x'.repeat(450),
      }),
    }
    const script: Script = ({ step, summary }) => {
      if (summary) return `the token is ${secret}`
      return step < 15 ? { calls: [{ tool: 'spy', args: { step } }] } : 'done'
    }
    const { app, model } = longApp({ script, tools: [spy] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't', env: { TOKEN: secret } })
    await thread.send('go').text()
    const summaries = (await reductions(thread)).flatMap(({ summary }) => summary?.text ?? [])
    expect(summaries.length).toBeGreaterThan(0)
    for (const text of summaries) expect(text).not.toContain(secret)
    const said = JSON.stringify(model.requests.map(({ messages }) => messages))
    expect(said).not.toContain(secret)
  })

  it('L3, C1: a summary under way is aborted by cancel; a paused thread starts none', async () => {
    const asked = [deferred(), deferred()]
    const held = deferred()
    const reached = deferred()
    let aborts = 0
    const model = {
      name: 'm',
      call: async ({ step, summary }: ModelRequest, { signal }: { readonly signal: AbortSignal }) => {
        const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
        if (!summary) {
          const requested = [{ tool: 'wait', args: { step } }]
          return { text: '', calls: requested, usage, finish: 'tool_calls' as const }
        }
        asked[aborts]?.resolve()
        return new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => {
            aborts++
            reject(signal.reason)
          })
        })
      },
    }
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      args: z.object({ step: z.number() }),
      async execute(_, { step }) {
        if (step === 12) {
          reached.resolve()
          await held.promise
        }
        return 'x'.repeat(step === 12 ? 2_000 : 450)
      },
    })
    const app = [
      wait,
      defineModel({ name: 'm', model, contextTokens: 2_000 }),
      definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['wait'] }),
      defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', maxSteps: 100 } }),
    ]
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await reached.promise
    await thread.pause()
    held.resolve()
    await thread.settled()
    expect(aborts).toBe(0)
    await thread.resume()
    await asked[0]?.promise
    await thread.cancel()
    expect((await run.result()).stopReason).toBe('cancelled')
    expect(aborts).toBe(1)
    // The next turn begins with it.
    const next = thread.send('go on')
    await asked[1]?.promise
    await thread.cancel()
    expect((await next.result()).stopReason).toBe('cancelled')
    expect(await reductions(thread)).toHaveLength(0)
  })

  it('L3: `context: false` and a model without `contextTokens` leave everything as it was', async () => {
    const { app, model } = longApp({ script: reader(20, false), context: false })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('read it').text()
    expect(await reductions(thread)).toHaveLength(0)
    expect(model.requests.at(-1)?.messages).toHaveLength(41)
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['look'])
  })
})
