/** Structured output on the wire: by the provider's own mode where the model says so, else by the tool `response`. */
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, ModelDefinition, ModelSource } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { isObject } from '../../src/core/json.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { closeServers, strict } from './providers.js'
import { items } from './refusals.js'
import type { Body } from './refusals.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

const outputSchema = z.object({ city: z.string(), degrees: z.number() })
const look = looseTool('look', () => 'a thermometer')

interface Options {
  readonly mode: NonNullable<ModelDefinition['structuredOutput']>
  readonly tools?: readonly (typeof look)[]
}

async function start(model: ModelSource, { mode, tools = [] }: Options) {
  const app: readonly Definition[] = [
    look,
    defineModel({ name: 'main', model, maxRetries: 0, structuredOutput: mode }),
    definePrompt({ name: 'p', prompt: 'You measure.', model: 'main', tools, outputSchema }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  opened.push(skein)
  return skein.threads.create({ agent: 'helper' })
}

const fieldOf = (body: unknown, ...path: readonly string[]): unknown =>
  path.reduce((value: unknown, key) => (isObject(value) ? value[key] : undefined), body)

const output = { city: 'Oslo', degrees: -3 }
const said = [{ say: JSON.stringify(output) }]
const wrong = [{ say: '{"city":"Oslo","degrees":"cold"}' }]
const formOf = {
  'openai responses': (body: Body) => fieldOf(body, 'text', 'format', 'schema', 'properties'),
  'openai chat': (body: Body) => fieldOf(body, 'response_format', 'json_schema', 'schema', 'properties'),
  // The packages of today send JSON Schema, those before the provider's own form of it.
  google: (body: Body) =>
    fieldOf(body, 'generationConfig', 'responseJsonSchema', 'properties') ??
    fieldOf(body, 'generationConfig', 'responseSchema', 'properties'),
  anthropic: (body: Body) => fieldOf(body, 'output_config', 'format', 'schema', 'properties'),
} as const
const names = Object.keys(formOf) as readonly (keyof typeof formOf)[]

test.each(names)(
  'T12: %s gives the output by its own mode, corrects it, and reads it again as it said it',
  async (name) => {
    const { model, taken, refused } = await strict(
      name,
      [{ pieces: wrong }, { pieces: said }, { pieces: said }],
      ...(name === 'anthropic' ? ['claude-sonnet-4-5'] : []),
    )
    const thread = await start(model, { mode: 'native' })
    expect(await thread.send('Oslo?').result()).toMatchObject({ stopReason: 'completed', output, steps: 2 })
    expect(await thread.send('And now?').result()).toMatchObject({ stopReason: 'completed', output, steps: 1 })
    expect(refused).toEqual([])
    for (const body of taken) {
      expect(Object.keys(Object(formOf[name](body)))).toEqual(['city', 'degrees'])
      expect(items(body['tools'])).toEqual([])
    }
    expect(JSON.stringify(taken[1])).toMatch(/cold.*degrees/)
    expect(JSON.stringify(taken[2])).toContain('-3')
    expect(JSON.stringify(taken[2])).not.toMatch(/tool_use|tool_call|function_call|functionCall/)
  },
)

test('T12: a model of Anthropic without such a mode is given it by its package, which asks for a tool', async () => {
  const { model, taken, refused } = await strict(
    'anthropic',
    [{ pieces: [{ call: 'json', args: output, id: 'c1' }] }],
    'claude-3-haiku-20240307',
  )
  const thread = await start(model, { mode: 'native' })
  expect(await thread.send('Oslo?').result()).toMatchObject({ stopReason: 'completed', output, steps: 1 })
  expect(items(taken[0]?.['tools'])).toMatchObject([{ name: 'json' }])
  expect(refused).toEqual([])
})

test.each(['openai responses', 'openai chat'] as const)(
  'T12: %s takes tools beside its own mode, where the model says so',
  async (name) => {
    const { model, taken, refused } = await strict(name, [
      { pieces: [{ call: 'look', args: {}, id: 'c1' }] },
      { pieces: said },
    ])
    const thread = await start(model, { mode: 'native_with_tools', tools: [look] })
    expect(await thread.send('Oslo?').result()).toMatchObject({ stopReason: 'completed', output, steps: 2 })
    for (const body of taken) {
      expect(items(body['tools'])).toHaveLength(1)
      expect(formOf[name](body)).toBeDefined()
    }
    expect(refused).toEqual([])
  },
)

test.each(names)(
  'T12: beside tools %s is asked by the tool response, unless the model says otherwise',
  async (name) => {
    const mark = name === 'google' ? { mark: 's1' } : {}
    const { model, taken, refused } = await strict(name, [
      { pieces: [{ call: 'look', args: {}, id: 'c1', ...mark }] },
      { pieces: [{ call: 'response', args: output, id: 'c2', ...mark }] },
    ])
    const thread = await start(model, { mode: 'native', tools: [look] })
    expect(await thread.send('Oslo?').result()).toMatchObject({ stopReason: 'completed', output, steps: 2 })
    for (const body of taken) expect(formOf[name](body)).toBeUndefined()
    expect(refused).toEqual([])
  },
)

test('T12: a sentence in place of an output is asked again, and a text that was cut is told apart', async () => {
  const { model, taken } = await strict('openai chat', [
    { pieces: [{ say: 'It is cold.' }] },
    { pieces: said },
    { pieces: [{ say: '{"city":"Os' }], finish: 'length' },
  ])
  const thread = await start(model, { mode: 'native' })
  expect(await thread.send('Oslo?').result()).toMatchObject({ stopReason: 'completed', output, steps: 2 })
  expect(JSON.stringify(taken[1])).toContain('in the form that was asked for')
  expect(await thread.send('Again?').result()).toMatchObject({ stopReason: 'reply_cut', text: '{"city":"Os' })
})
