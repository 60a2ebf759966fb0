/**
 * Thoughts go back to the provider that gave them, where they were, through journal and restart. Each real package
 * speaks to a server that refuses what its provider refuses.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterEach, describe, expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, ModelSource, ToolDefinition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import type { AnswerRequest } from '../helpers/model-server.js'
import { closeServers, strict } from './providers.js'
import type { ProviderName, Spoken } from './providers.js'
import { items } from './refusals.js'
import { asChat } from './speech.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } }
const weather = looseTool('weather', (_state, { city }) => `rain in ${String(city)}`)

function appOf(
  model: ModelSource,
  more: { readonly tools?: readonly ToolDefinition[]; readonly fallback?: ModelSource } = {},
): readonly Definition[] {
  const { tools = [weather], fallback } = more
  return [
    ...tools,
    defineModel({
      name: 'main',
      model,
      providerOptions: thinking,
      maxRetries: 0,
      ...(fallback && { fallback: ['other'] }),
    }),
    ...(fallback ? [defineModel({ name: 'other', model: fallback, maxRetries: 0 })] : []),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'main', tools: tools.map(({ name }) => name) }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
}

async function open(app: readonly Definition[], backend = memory()): Promise<Skein> {
  const skein = await createSkein({ app, backend })
  opened.push(skein)
  return skein
}

/** Thought, words and two calls; a thought and a call; the answer. */
const replies: Readonly<Record<'anthropic' | 'openai responses' | 'deepseek' | 'google', readonly Spoken[]>> = {
  anthropic: [
    {
      pieces: [
        { think: 'Two cities.', mark: 'sig-1' },
        { redacted: 'opaque-1' },
        { say: 'Looking.' },
        { call: 'weather', args: { city: 'Oslo' }, id: 'toolu_1' },
        { call: 'weather', args: { city: 'Rome' }, id: 'toolu_2' },
      ],
    },
    {
      pieces: [
        { think: 'One more.', mark: 'sig-2' },
        { call: 'weather', args: { city: 'Bern' }, id: 'toolu_3' },
      ],
    },
    { pieces: [{ think: 'Done.', mark: 'sig-3' }, { say: 'Rain.' }] },
    { pieces: [{ say: 'Still rain.' }] },
  ],
  'openai responses': [
    {
      pieces: [
        { think: 'Two cities.', mark: 'enc-1' },
        { call: 'weather', args: { city: 'Oslo' }, id: 'call_a' },
        { call: 'weather', args: { city: 'Rome' }, id: 'call_b' },
      ],
    },
    {
      pieces: [
        { think: '', mark: 'enc-2' },
        { call: 'weather', args: { city: 'Bern' }, id: 'call_c' },
      ],
    },
    { pieces: [{ think: 'Done.', mark: 'enc-3' }, { say: 'Rain.' }] },
    { pieces: [{ think: '', mark: 'enc-4' }, { say: 'Still rain.' }] },
  ],
  deepseek: [
    {
      pieces: [
        { think: 'Two cities.' },
        { say: 'Looking.' },
        { call: 'weather', args: { city: 'Oslo' }, id: 'c1' },
        { call: 'weather', args: { city: 'Rome' }, id: 'c2' },
      ],
    },
    { pieces: [{ think: 'One more.' }, { call: 'weather', args: { city: 'Bern' }, id: 'c3' }] },
    { pieces: [{ think: 'Done.' }, { say: 'Rain.' }] },
    { pieces: [{ think: 'Same.' }, { say: 'Still rain.' }] },
  ],
  google: [
    {
      pieces: [
        { think: 'Two cities.' },
        { call: 'weather', args: { city: 'Oslo' }, id: 'g1', mark: 'tsig-1' },
        { call: 'weather', args: { city: 'Rome' }, id: 'g2' },
      ],
    },
    { pieces: [{ call: 'weather', args: { city: 'Bern' }, id: 'g3', mark: 'tsig-2' }] },
    { pieces: [{ say: 'Rain.', mark: 'tsig-3' }] },
    { pieces: [{ say: 'Still rain.' }] },
  ],
}

const names = Object.keys(replies) as readonly (keyof typeof replies)[]

describe.each(names)('%s', (name) => {
  test('R1: thoughts go back with the calls that followed them, in this turn and in the next', async () => {
    const { model, refused, taken } = await strict(name, replies[name])
    const skein = await open(appOf(model))
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('Compare Oslo and Rome.').result()).toMatchObject({
      text: 'Rain.',
      stopReason: 'completed',
      steps: 3,
    })
    expect(await thread.send('And now?').result()).toMatchObject({ text: 'Still rain.', stopReason: 'completed' })
    expect(refused).toEqual([])
    expect(taken).toHaveLength(4)
  })

  test('P1: and after a restart', async () => {
    const { model, refused } = await strict(name, replies[name])
    const backend = memory()
    const first = await open(appOf(model), backend)
    const thread = await first.threads.create({ id: 'kept', agent: 'helper' })
    await thread.send('Compare Oslo and Rome.').result()
    await first.close()
    const second = await open(appOf(model), backend)
    expect(await (await second.threads.get('kept')).send('And now?').result()).toMatchObject({
      text: 'Still rain.',
      stopReason: 'completed',
    })
    expect(refused).toEqual([])
  })

  test('KP1: another model is not told them', async () => {
    const { model } = await strict(name, replies[name])
    const backend = memory()
    const first = await open(appOf(model), backend)
    await (await first.threads.create({ id: 'kept', agent: 'helper' })).send('Compare Oslo and Rome.').result()
    await first.close()
    const other = await strict(name === 'anthropic' ? 'openai chat' : 'anthropic', [{ pieces: [{ say: 'Hello.' }] }])
    const second = await open(appOf(other.model), backend)
    expect(await (await second.threads.get('kept')).send('And now?').result()).toMatchObject({
      text: 'Hello.',
      stopReason: 'completed',
    })
    expect(other.refused).toEqual([])
    expect(JSON.stringify(other.taken)).not.toMatch(/Two cities|sig-1|enc-1|opaque-1/)
  })

  // The package gives Gemini a word in place of a signature, which Gemini takes and the server here does not.
  test.skipIf(name === 'google')('KP1: nor is another model of the same provider', async () => {
    const { model } = await strict(name, replies[name])
    const backend = memory()
    const first = await open(appOf(model), backend)
    await (await first.threads.create({ id: 'kept', agent: 'helper' })).send('Compare Oslo and Rome.').result()
    await first.close()
    const said = name === 'deepseek' ? [{ think: 'Hm.' }, { say: 'Hello.' }] : [{ say: 'Hello.' }]
    const other = await strict(name, [{ pieces: said }], 'another-model')
    const second = await open(appOf(other.model), backend)
    expect(await (await second.threads.get('kept')).send('And now?').result()).toMatchObject({
      text: 'Hello.',
      stopReason: 'completed',
    })
    expect(JSON.stringify(other.taken)).not.toMatch(/Two cities|sig-1|enc-1|opaque-1/)
  })
})

test('anthropic hears thought, redacted thought, words and calls in the order in which it gave them', async () => {
  const { model, taken } = await strict('anthropic', replies.anthropic)
  const skein = await open(appOf(model))
  await (await skein.threads.create({ agent: 'helper' })).send('Compare.').result()
  const told = items(items(taken[1]?.['messages'])[1]?.['content'])
  expect(told.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'text', 'tool_use', 'tool_use'])
  expect(told.slice(0, 2)).toEqual([
    { type: 'thinking', thinking: 'Two cities.', signature: 'sig-1' },
    { type: 'redacted_thinking', data: 'opaque-1' },
  ])
})

test('OpenAI is asked to store nothing, and gives its thoughts encrypted', async () => {
  const { model, taken } = await strict('openai responses', replies['openai responses'])
  const skein = await open(appOf(model))
  await (await skein.threads.create({ agent: 'helper' })).send('Compare.').result()
  expect(taken[0]).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
  expect(
    items(taken[2]?.['input'])
      .filter(({ type }) => type === 'reasoning')
      .map((item) => item['encrypted_content']),
  ).toEqual(['enc-1', 'enc-2'])
})

test('F3: a signed thought with a secret in it is masked, and is not sent as if it were whole', async () => {
  const token = 'hunter2-hunter2'
  const spoken: readonly Spoken[] = [
    {
      pieces: [
        { think: `The token is ${token}.`, mark: 'sig-1' },
        { call: 'login', args: {}, id: 'toolu_1' },
      ],
    },
    { pieces: [{ say: 'In.' }] },
  ]
  const { model, taken, refused } = await strict('anthropic', spoken)
  const login: ToolDefinition = {
    ...looseTool('login', () => 'ok'),
    variables: [{ name: 'TOKEN', type: 'secret', required: true }],
  }
  const skein = await open(appOf(model, { tools: [login] }))
  const thread = await skein.threads.create({ agent: 'helper', env: { TOKEN: token } })
  expect(await thread.send('Log in.').result()).toMatchObject({ text: 'In.', stopReason: 'completed' })
  expect(JSON.stringify(taken)).not.toContain(token)
  // Refused once with thinking on, and asked again without it.
  expect(refused).toEqual([expect.stringContaining('Expected `thinking`')])
  expect(taken[1]).toMatchObject({ thinking: { type: 'disabled' } })
})

describe('a thread is not stuck with what another model did in it', () => {
  const down: Spoken = { pieces: [{ say: 'never' }] }
  const failing = (name: ProviderName) =>
    strict(name, [(exchange) => exchange.fail(503, { error: { message: 'down', code: 503, status: 'DOWN' } }), down])

  test('DeepSeek is told something for thoughts that it never had', async () => {
    const main = await strict('deepseek', [
      (exchange) => exchange.fail(503, { error: { message: 'down' } }),
      { pieces: [{ think: 'Hm.' }, { say: 'Rain.' }] },
    ])
    const other = await strict('openai chat', [{ pieces: [{ call: 'weather', args: { city: 'Oslo' }, id: 'x' }] }])
    const skein = await open(appOf(main.model, { fallback: other.model }))
    expect(await (await skein.threads.create({ agent: 'helper' })).send('Oslo?').result()).toMatchObject({
      text: 'Rain.',
      stopReason: 'completed',
    })
    expect(main.refused).toEqual([expect.stringContaining('Missing `reasoning_content`')])
  })

  test('Claude goes on without thinking where the call before it was another model’s', async () => {
    const main = await failing('anthropic')
    const other = await strict('openai chat', [{ pieces: [{ call: 'weather', args: { city: 'Oslo' }, id: 'x' }] }])
    const skein = await open(appOf(main.model, { fallback: other.model }))
    expect(await (await skein.threads.create({ agent: 'helper' })).send('Oslo?').result()).toMatchObject({
      text: 'never',
      stopReason: 'completed',
    })
    expect(main.refused).toEqual([expect.stringContaining('Expected `thinking`')])
  })

  test('a server that takes no thoughts is asked without them, from then on at once', async () => {
    // groq: "property 'reasoning_content' is unsupported"; DeepSeek's R1 refused them as well.
    let refusals = 0
    let answered = 0
    const picky: AnswerRequest = (exchange) => {
      if (!JSON.stringify(exchange.body).includes('reasoning_content'))
        return asChat(replies.deepseek[answered++]?.pieces ?? [])(exchange)
      refusals++
      return exchange.fail(400, {
        error: { message: "'messages.2': property 'reasoning_content' is unsupported", type: 'invalid_request_error' },
      })
    }
    const { server } = await strict(
      'openai chat',
      Array.from({ length: 9 }, () => picky),
    )
    const skein = await open(
      appOf(createOpenAICompatible({ name: 'picky', baseURL: server.url, apiKey: 'k' })('picky')),
    )
    expect((await (await skein.threads.create({ agent: 'helper' })).send('Compare.').result()).stopReason).toBe(
      'completed',
    )
    expect([refusals, answered]).toEqual([1, 3])
  })

  test('thoughts that a provider does not know any more are left out', async () => {
    const { model } = await strict('openai responses', replies['openai responses'])
    const backend = memory()
    const first = await open(appOf(model), backend)
    await (await first.threads.create({ id: 'old', agent: 'helper' })).send('Compare.').result()
    await first.close()
    // Another server: it has issued none of them.
    const fresh = await strict('openai responses', [{ pieces: [{ say: 'Hello again.' }] }])
    const second = await open(appOf(fresh.model), backend)
    expect(await (await second.threads.get('old')).send('Still there?').result()).toMatchObject({
      text: 'Hello again.',
      stopReason: 'completed',
    })
    expect(fresh.refused).toEqual([expect.stringContaining('could not be verified')])
  })
})
