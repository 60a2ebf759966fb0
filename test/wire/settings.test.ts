/** Settings, caching, usage and cost on the wire. */
import { afterEach, describe, expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, ModelDefinition, ModelSource, Prompt } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { isObject } from '../../src/core/json.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { calls, looseTool } from '../helpers/app.js'
import { closeServers, strict } from './providers.js'
import type { ProviderName } from './providers.js'
import { items } from './refusals.js'
import type { Body } from './refusals.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

interface More {
  readonly model?: Partial<ModelDefinition>
  readonly prompt?: Partial<Prompt>
}

async function start(model: ModelSource, { model: ofModel = {}, prompt = {} }: More = {}) {
  const app: readonly Definition[] = [
    looseTool('look', () => 'a house'),
    defineModel({ name: 'main', model, maxRetries: 0, ...ofModel }),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'main', ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  opened.push(skein)
  return skein.threads.create({ agent: 'helper' })
}

const said = { pieces: [{ say: 'Hello.' }] }

async function askedOf(name: ProviderName, more: More, model?: string): Promise<Body> {
  const { model: source, taken } = await strict(name, [said], model)
  expect(await (await start(source, more)).send('Hi.').result()).toMatchObject({
    text: 'Hello.',
    stopReason: 'completed',
  })
  return taken[0] ?? {}
}

describe('settings', () => {
  const settings = { temperature: 0.3, maxOutputTokens: 500 }
  test.each([
    ['anthropic', 'claude-3-5-haiku-latest', { temperature: 0.3, max_tokens: 500 }],
    ['openai chat', 'gpt-4.1', { temperature: 0.3, max_tokens: 500 }],
    ['deepseek', 'deepseek-chat', { temperature: 0.3, max_tokens: 500 }],
    ['google', 'gemini-3-pro', { generationConfig: { temperature: 0.3, maxOutputTokens: 500 } }],
    ['openai responses', 'gpt-4.1', { temperature: 0.3, max_output_tokens: 500 }],
  ] as const)(
    'D5: %s %s is told temperature and maxOutputTokens, of the model or of the prompt',
    async (name, model, expected) => {
      expect(await askedOf(name, { model: settings }, model)).toMatchObject(expected)
      expect(
        await askedOf(name, { model: { temperature: 1, maxOutputTokens: 9 }, prompt: settings }, model),
      ).toMatchObject(expected)
    },
  )

  // Of specification v4 on, the package itself knows how much a model may think at most.
  const most = expect.toBeOneOf([24_576, 32_768])
  test.each([
    ['google', 'gemini-3-pro', { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } }],
    ['google', 'gemini-2.5-pro', { generationConfig: { thinkingConfig: { thinkingBudget: most } } }],
    ['openai responses', 'gpt-5', { reasoning: { effort: 'high' } }],
    ['anthropic', 'claude-test', { output_config: { effort: 'high' } }],
    ['deepseek', 'deepseek-reasoner', { reasoning_effort: 'high' }],
  ] as const)('D5: %s %s is told how hard to think', async (name, model, expected) => {
    expect(await askedOf(name, { prompt: { reasoning: 'high' } }, model)).toMatchObject(expected)
  })

  test('providerOptions of model and prompt are one, and stronger than our own', async () => {
    const body = await askedOf('openai responses', {
      model: { providerOptions: { openai: { store: true, user: 'me' } } },
      prompt: { providerOptions: { openai: { user: 'you' } } },
    })
    expect(body).toMatchObject({ store: true, user: 'you' })
  })
})

function marked(body: Body | undefined): number {
  return JSON.stringify(body ?? {}).split('"cache_control"').length - 1
}

/** What the provider compares: the request without the marks. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'cache_control')
      .map(([key, each]) => [key, bare(each)]),
  )
}

describe('caching', () => {
  const looks = { pieces: [{ call: 'look', args: {}, id: 'c' }] }
  const replies = [looks, looks, looks, said, said]

  test('Anthropic keeps system and conversation, with three marks at most, and each request begins as the one before', async () => {
    const { model, taken } = await strict('anthropic', replies)
    const thread = await start(model, { prompt: { tools: ['look'] } })
    await thread.send('Look thrice.').text()
    await thread.send('And?').text()
    expect(taken.map(marked)).toEqual([2, 3, 3, 3, 3])
    for (const [at, body] of taken.slice(1).entries()) {
      const [before, now] = [items(bare(taken[at]?.['messages'])), items(bare(body['messages']))]
      expect([body['tools'], bare(body['system'])]).toEqual([taken[at]?.['tools'], bare(taken[at]?.['system'])])
      expect(now.slice(0, before.length)).toEqual(before)
      // The end of the last request is marked: that is where the cache is found.
      expect(marked({ at: items(body['messages'])[before.length - 1] })).toBe(1)
    }
  })

  test('not for a single question, and not where it is turned off', async () => {
    expect(marked(await askedOf('anthropic', {}))).toBe(0)
    expect(marked(await askedOf('anthropic', { prompt: { tools: ['look'] } }))).toBe(2)
    expect(marked(await askedOf('anthropic', { prompt: { tools: ['look'] }, model: { promptCache: false } }))).toBe(0)
    expect(marked(await askedOf('anthropic', { prompt: { tools: ['look'], promptCache: false } }))).toBe(0)
  })
})

describe('usage and cost', () => {
  const price = { inputUsd: 10, outputUsd: 100, cachedInputUsd: 1, cacheWriteUsd: 12 }

  test.each([
    [
      'anthropic',
      { input_tokens: 100, cache_read_input_tokens: 800, cache_creation_input_tokens: 100 },
      { inputTokens: 1_000, cachedInputTokens: 800, cacheWriteTokens: 100, microUsd: 1_000 + 800 + 1_200 + 700 },
    ],
    [
      'openai responses',
      {
        input_tokens: 1_000,
        input_tokens_details: { cached_tokens: 800 },
        output_tokens_details: { reasoning_tokens: 4 },
      },
      { inputTokens: 1_000, cachedInputTokens: 800, reasoningTokens: 4, microUsd: 2_000 + 800 + 700 },
    ],
    [
      'openai chat',
      { prompt_tokens: 1_000, prompt_tokens_details: { cached_tokens: 800 } },
      { inputTokens: 1_000, cachedInputTokens: 800, microUsd: 2_000 + 800 + 700 },
    ],
    [
      'deepseek',
      {
        prompt_tokens: 1_000,
        prompt_tokens_details: { cached_tokens: 800 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
      { inputTokens: 1_000, cachedInputTokens: 800, reasoningTokens: 3, microUsd: 2_000 + 800 + 700 },
    ],
    [
      'google',
      { promptTokenCount: 1_000, cachedContentTokenCount: 800 },
      { inputTokens: 1_000, cachedInputTokens: 800, microUsd: 2_000 + 800 + 700 },
    ],
  ] as const)(
    'O2: %s: cached tokens are counted, and cost what they cost',
    async (name, usage, { microUsd, ...expected }) => {
      const { model } = await strict(name, [{ ...said, usage }])
      const thread = await start(model, { model: { costPerMillion: price } })
      const { usage: used } = await thread.send('Hi.').result()
      expect(used).toMatchObject({ ...expected, outputTokens: 7 })
      expect(used.costUsd).toBeCloseTo(microUsd / 1e6, 12)
      expect((await thread.usage()).own).toEqual(used)
    },
  )

  test('O2, S1: what a child has used is told to its parent, its cached tokens and thoughts too', async () => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 800, cache_creation_input_tokens: 100 }
    const { model } = await strict('anthropic', [{ ...said, usage }])
    const lead = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'told' : calls({ tool: 'kid', args: { message: 'Hi.' } }),
    )
    const skein = await createSkein({
      backend: memory(),
      app: [
        defineModel({ name: 'lead_model', model: lead }),
        defineModel({ name: 'main', model, maxRetries: 0, costPerMillion: price }),
        definePrompt({ name: 'lead_prompt', prompt: 'x', model: 'lead_model', tools: [{ name: 'kid' }] }),
        definePrompt({ name: 'kid_prompt', prompt: 'x', model: 'main' }),
        defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
        defineAgent({
          name: 'kid',
          type: 'ai_human',
          sideA: { prompt: 'kid_prompt' },
          exposeAsTool: true,
          toolDescription: 'x',
        }),
      ],
    })
    opened.push(skein)
    const result = await (await skein.threads.create({ agent: 'lead' })).send('Go.').result()
    expect(result).toMatchObject({
      text: 'told',
      subtreeUsage: { inputTokens: 1_000, cachedInputTokens: 800, cacheWriteTokens: 100 },
    })
  })

  test('O2: what the provider says that it cost is what it cost', async () => {
    const { model } = await strict('deepseek', [{ ...said, usage: { cost: 0.0421 } }])
    const thread = await start(model, { model: { costPerMillion: price } })
    expect((await thread.send('Hi.').result()).usage.costUsd).toBe(0.0421)
  })
})
