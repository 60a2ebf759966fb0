/** Calls on the wire: ids that are given twice, schemas, and results that match what they answer. */
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import type { Definition, ModelSource, Prompt, ToolDefinition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { closeServers, providerNames, strict } from './providers.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

async function start(model: ModelSource, tools: readonly ToolDefinition[], prompt: Partial<Prompt> = {}) {
  const app: readonly Definition[] = [
    ...tools,
    defineModel({ name: 'main', model, maxRetries: 0 }),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'main', tools: tools.map(({ name }) => name), ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  opened.push(skein)
  return skein.threads.create({ agent: 'helper' })
}

describe.each(providerNames)('%s', (name) => {
  test('AT3, T10: two calls with one id are two calls, and each gets its own result', async () => {
    const mark = name === 'google' ? { mark: 's1' } : {}
    const { model, refused } = await strict(name, [
      {
        pieces: [
          ...(name === 'deepseek' ? [{ think: 'Hm.' }] : []),
          { call: 'weather', args: { city: 'Oslo' }, id: 'same', ...mark },
          { call: 'weather', args: { city: 'Rome' }, id: 'same' },
        ],
      },
      { pieces: [{ say: 'Done.' }] },
    ])
    const asked: unknown[] = []
    const keys = new Set<string>()
    const weather = looseTool('weather', ({ idempotencyKey }, { city }) => {
      keys.add(idempotencyKey)
      asked.push(city)
      return `rain in ${String(city)}`
    })
    const thread = await start(model, [weather])
    expect(await thread.send('Compare.').result()).toMatchObject({ text: 'Done.', stopReason: 'completed' })
    expect(asked.sort()).toEqual(['Oslo', 'Rome'])
    expect(keys.size).toBe(2)
    expect(refused).toEqual([])
  })

  test('T1: args that are a choice go out as one field of an object, and come back as what they are', async () => {
    const args = z.union([
      z.object({ city: z.string() }),
      z.object({ lat: z.number(), lon: z.number(), note: z.string().optional() }),
    ])
    const thinks = name === 'deepseek' ? [{ think: 'Hm.' }] : []
    const mark = name === 'google' ? { mark: 's1' } : {}
    const { model, refused } = await strict(name, [
      {
        pieces: [
          ...thinks,
          { call: 'weather', args: { input: { city: 'Oslo' } }, id: 'a', ...mark },
          { call: 'weather', args: { lat: 1, lon: 2 }, id: 'b' },
        ],
      },
      { pieces: [{ say: 'Done.' }] },
    ])
    const made: unknown[] = []
    const weather = defineTool({
      name: 'weather',
      description: 'x',
      args,
      execute: (_state, given) => void made.push(given),
    })
    const thread = await start(model, [weather])
    expect(await thread.send('Go.').result()).toMatchObject({ text: 'Done.', stopReason: 'completed' })
    expect(made).toEqual([{ city: 'Oslo' }, { lat: 1, lon: 2 }])
    expect(refused).toEqual([])
  })

  test('what a model says wrongly does not block its thread: names that are none, halves of characters', async () => {
    const thinks = name === 'deepseek' ? [{ think: 'Hm.' }] : []
    const mark = name === 'google' ? { mark: 's1' } : {}
    const odd = `half \uD83D of it`
    const { model, refused, taken } = await strict(name, [
      {
        pieces: [
          ...thinks,
          { call: 'functions.weather now!', args: { city: odd }, id: 'a', ...mark },
          { call: 'weather', args: { city: odd }, id: 'b' },
        ],
      },
      { pieces: [{ say: odd }] },
      { pieces: [{ say: 'Fine.' }] },
    ])
    const thread = await start(model, [looseTool('weather', (_state, { city }) => `rain in ${String(city)}`)])
    await thread.send(`Tell me ${odd}`).result()
    expect(await thread.send('Go on.').result()).toMatchObject({ text: 'Fine.', stopReason: 'completed' })
    expect(refused).toEqual([])
    expect(taken).toHaveLength(3)
  })

  test.each([
    ['length', 'reply_cut', 'length'],
    ['filter', 'reply_filtered', 'content_filter'],
  ] as const)('a reply that ends with %s is told apart', async (finish, stopReason, finishReason) => {
    const { model } = await strict(name, [{ pieces: [{ say: 'Half of' }], finish }])
    const thread = await start(model, [])
    expect(await thread.send('Go.').result()).toMatchObject({ text: 'Half of', stopReason, finishReason })
  })
})

describe.each(providerNames)('%s', (name) => {
  test('R3: a reply that was cut is gone on with: its model reads what it said, and that it was cut', async () => {
    const { model, taken, refused } = await strict(name, [
      { pieces: [{ say: 'The first half, ' }], finish: 'length' },
      { pieces: [{ say: 'and the second.' }] },
      { pieces: [{ say: 'Fine.' }] },
    ])
    const thread = await start(model, [])
    expect(await thread.send('Go.').result()).toMatchObject({ stopReason: 'reply_cut', finishReason: 'length' })
    await thread.resume()
    await thread.settled()
    const said = (await thread.messages()).map(({ text }) => text)
    expect(said).toEqual(['Go.', 'The first half, ', 'and the second.'])
    expect(JSON.stringify(taken[1])).toMatch(/The first half,.*Go on exactly where it ended/)
    expect(await thread.resume()).toBe(false)
    await thread.send('Thanks.').result()
    expect(JSON.stringify(taken[2])).not.toContain('Go on exactly')
    expect(refused).toEqual([])
  })
})

test('R3: what Anthropic paused goes on with what it has said, and nothing else', async () => {
  const { model, taken, refused } = await strict('anthropic', [
    { pieces: [{ say: 'Searching.' }], finish: 'pause' },
    { pieces: [{ say: 'Found.' }] },
  ])
  const thread = await start(model, [])
  await thread.send('Go.').result()
  await thread.resume()
  await thread.settled()
  expect((await thread.messages()).at(-1)).toMatchObject({ role: 'assistant', text: 'Found.' })
  expect(taken[1]?.['messages']).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: [{ text: 'Searching.' }] },
  ])
  expect(refused).toEqual([])
})

test('what Anthropic pauses is told apart', async () => {
  const { model } = await strict('anthropic', [{ pieces: [{ say: 'Searching.' }], finish: 'pause' }])
  expect(await (await start(model, [])).send('Go.').result()).toMatchObject({
    text: 'Searching.',
    stopReason: 'reply_paused',
    finishReason: 'paused',
  })
})

describe.each(['anthropic', 'openai responses'] as const)('%s', (name) => {
  test('a call whose args were cut is not made, though there is one', async () => {
    const cut = [
      { call: 'put', args: '{"text": "a long sto', id: 'c1' },
      { call: 'put', args: '', id: 'c2' },
    ]
    const { model, refused } = await strict(name, [
      { pieces: cut, finish: 'length' },
      { pieces: [{ say: 'Shorter.' }] },
    ])
    let made = 0
    const thread = await start(model, [looseTool('put', () => ++made)])
    expect(await thread.send('Go.').result()).toMatchObject({ text: 'Shorter.', stopReason: 'completed' })
    expect([made, refused]).toEqual([0, []])
  })
})

test('a forced call is made once, on the wire too', async () => {
  const { model, taken } = await strict('anthropic', [
    { pieces: [{ call: 'look', args: {}, id: 'c1' }] },
    { pieces: [{ say: 'Seen.' }] },
  ])
  const thread = await start(model, [looseTool('look', () => 'a house')], { toolChoice: 'required' })
  expect(await thread.send('Go.').result()).toMatchObject({ text: 'Seen.', steps: 2 })
  expect(taken.map((body) => body['tool_choice'])).toEqual([{ type: 'any' }, { type: 'auto' }])
})

test('a model that thinks is not forced to call a tool', async () => {
  const { model, refused, taken } = await strict('deepseek', [{ pieces: [{ think: 'Hm.' }, { say: 'No need.' }] }])
  const thread = await start(model, [looseTool('look', () => 'a house')], { toolChoice: 'required' })
  expect(await thread.send('Go.').result()).toMatchObject({ text: 'No need.', stopReason: 'completed' })
  expect(refused).toEqual(['deepseek-reasoner does not support this tool_choice'])
  expect(taken).toMatchObject([{ tool_choice: 'auto' }])
})

test('MP3: what a provider refuses for good says what can be done; then the thread goes on', async () => {
  const refusing = (status: number, message: string) =>
    strict('anthropic', [
      (exchange) => exchange.fail(status, { type: 'error', error: { type: 'invalid_request_error', message } }),
      { pieces: [{ say: 'Better.' }] },
    ])
  for (const [status, message, advice] of [
    [400, 'prompt is too long: 210000 tokens > 200000 maximum', 'give the model a fallback that takes more'],
    [401, 'invalid x-api-key', 'check the API key'],
    [400, 'this is not to my taste', 'name another model in the prompt, or a fallback'],
    [400, 'this is not to my taste', 'change the message that it refuses (thread.edit, thread.remove)'],
    [400, 'this is not to my taste', 'go back to before it (thread.rewind)'],
  ] as const) {
    const { model } = await refusing(status, message)
    const thread = await start(model, [])
    expect(await thread.send('Hi.').result()).toMatchObject({
      stopReason: 'failed',
      failure: { code: 'MODEL_REJECTED', message: expect.stringContaining(advice) },
    })
    expect(await thread.resume()).toBe(true)
    await thread.settled()
    expect((await thread.messages()).at(-1)?.text).toBe('Better.')
  }
})
