/** Foreign tools through one adapter: real tools of LangChain and of the AI SDK, and objects of many shapes. */
import { DynamicStructuredTool, DynamicTool, StructuredTool, tool as langChainTool } from '@langchain/core/tools'
import { RunnableLambda } from '@langchain/core/runnables'
import { anthropic } from '@ai-sdk/anthropic'
import { dynamicTool, jsonSchema, tool as aiTool } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import * as z3 from 'zod/v3'
import { createApp } from '../../../src/agent/app.js'
import type { ToolDefinition } from '../../../src/agent/define.js'
import { SkeinError } from '../../../src/core/failure.js'
import { isObject } from '../../../src/core/json.js'
import { checkArgs } from '../../../src/tools/args.js'
import { fromTools } from '../../../src/tools/foreign/from-tools.js'
import { runBody } from './fixtures/body.js'

/** What a model is told of the args by an app that has the tool. */
function told(tool: ToolDefinition | undefined): unknown {
  return tool && createApp([tool], 'the test').parameters.get(tool.name)
}

const only = (
  tools: Parameters<typeof fromTools>[0],
  options?: Parameters<typeof fromTools>[1],
): ToolDefinition | undefined => fromTools(tools, options)[0]
const value = async (tool: ToolDefinition | undefined, args?: unknown): Promise<unknown> => {
  const { outcome } = await runBody(tool, args)
  return outcome.ok ? outcome.value : outcome.failure
}

describe('LangChain', () => {
  const add = langChainTool(({ a, b }: { a: number; b: number }) => ({ sum: a + b }), {
    name: 'add',
    description: 'adds',
    schema: z.object({ a: z.number().describe('first'), b: z.number().default(1) }),
  })

  it('D9: a tool keeps its name, description, schema and value', async () => {
    const tool = only([add])
    expect(tool).toMatchObject({
      kind: 'tool',
      name: 'add',
      description: 'adds',
      where: 'host',
      sideEffect: true,
      commutes: true,
    })
    expect(told(tool)).toEqual({
      type: 'object',
      properties: { a: { type: 'number', description: 'first' }, b: { type: 'number', default: 1 } },
      required: ['a'],
    })
    expect(await value(tool, { a: 2 })).toEqual({ sum: 3 })
    expect(await value(tool, '{"a":"2","b":"5"}')).toEqual({ sum: 7 })
    expect(await value(tool, { b: 2 })).toMatchObject({ code: 'TOOL_INPUT_INVALID', data: { fields: [{ path: 'a' }] } })
  })

  it('D9: content and artifact are the value, the content is what the model reads', async () => {
    const search = langChainTool(() => ['two hits', { hits: [1, 2] }], {
      name: 'search',
      description: '',
      schema: z.object({}),
      responseFormat: 'content_and_artifact',
    })
    const ran = await runBody(only([search]))
    expect(ran.outcome).toEqual({ ok: true, value: { content: 'two hits', artifact: { hits: [1, 2] } } })
    expect(ran.text).toBe('two hits')
  })

  it('an image in content is kept in the value and told by its size', async () => {
    const data = Buffer.from('12345').toString('base64')
    const content = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
    ]
    const look = langChainTool(() => content, { name: 'look', description: '', schema: z.object({}) })
    const ran = await runBody(only([look]))
    expect(ran.outcome).toEqual({ ok: true, value: content })
    expect(ran.text).toBe('look\n[image_url image/png, 5 bytes, not shown]')
  })

  it('D9: DynamicTool, a subclass of StructuredTool, JSON Schema and a runnable as a tool', async () => {
    class Shout extends StructuredTool {
      name = 'shout'
      description = 'shouts'
      schema = z.object({ text: z.string() })
      private readonly end = '!'
      protected _call({ text }: { text: string }): Promise<string> {
        return Promise.resolve(text.toUpperCase() + this.end)
      }
    }
    const parameters = {
      type: 'object',
      properties: { n: { type: 'integer', minimum: 1 } },
      required: ['n'],
      additionalProperties: false,
    }
    const [echo, shout, twice, reverse] = fromTools([
      new DynamicTool({
        name: 'echo',
        description: 'says it again',
        func: (input: string) => Promise.resolve(`${typeof input}: ${input}`),
      }),
      new Shout(),
      new DynamicStructuredTool({
        name: 'twice',
        description: '',
        schema: parameters,
        func: ({ n }: { n: number }) => Promise.resolve(n * 2),
      }),
      RunnableLambda.from(({ text }: { text: string }) => [...text].reverse().join('')).asTool({
        name: 'reverse',
        description: 'back',
        schema: z.object({ text: z.string() }),
      }),
    ])
    expect(told(echo)).toEqual({ type: 'object', properties: { input: { type: 'string' } } })
    expect(await value(echo, { input: 'hi' })).toBe('string: hi')
    expect(await value(shout, { text: 'hi' })).toBe('HI!')
    expect(told(twice)).toEqual(parameters)
    expect(await value(twice, { n: '4' })).toBe(8)
    expect(await value(twice, { n: 0 })).toMatchObject({ code: 'TOOL_INPUT_INVALID' })
    expect(await value(reverse, { text: 'abc' })).toBe('cba')
  })

  it('a schema that transforms is applied once, by the tool', async () => {
    const days = langChainTool(({ on }: { on: number }) => on, {
      name: 'days',
      description: '',
      schema: z.object({ on: z.string().transform((text) => text.length) }),
    })
    expect(await value(only([days]), { on: 'friday' })).toBe(6)
  })

  it('D9: the abort signal arrives, a throw is an error, and what a generator yields is progress', async () => {
    const stop = new AbortController()
    const seen: unknown[] = []
    const wait = langChainTool(
      (_input, config) =>
        new Promise((resolve) => {
          seen.push(config.configurable?.['thread_id'])
          config.signal?.addEventListener('abort', () => resolve('late'))
          stop.abort(new Error('enough'))
        }),
      { name: 'wait', description: '', schema: z.object({}) },
    )
    const fails = langChainTool(
      () => {
        throw new RangeError('no luck')
      },
      { name: 'fails', description: '', schema: z.object({}) },
    )
    const counts = langChainTool(
      async function* counts() {
        yield 1
        yield 2
        return 'done'
      },
      { name: 'counts', description: '', schema: z.object({}) },
    )
    expect(await runBody(only([wait]), {}, { signal: stop.signal })).toMatchObject({ outcome: { ok: false } })
    expect(seen).toEqual(['thread-1'])
    expect(await value(only([fails]))).toMatchObject({ code: 'TOOL_THREW', message: 'RangeError: no luck' })
    expect(await runBody(only([counts]))).toMatchObject({ outcome: { ok: true, value: 'done' }, progress: [1, 2] })
  })
})

describe('the AI SDK', () => {
  it('D9: a record of tools: zod, jsonSchema, dynamicTool', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { $ref: '#/$defs/city' } },
      required: ['city'],
      $defs: { city: { type: 'string', enum: ['Oslo', 'Rome'] } },
    } as const
    const [weather, lookup, anything] = fromTools({
      weather: aiTool({
        description: 'the weather',
        inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
        execute: ({ city, days }, { toolCallId }) => ({ city, days, toolCallId }),
      }),
      lookup: aiTool({ inputSchema: jsonSchema<{ city: string }>(parameters), execute: ({ city }) => city }),
      anything: dynamicTool({ description: '', inputSchema: z.object({}), execute: async (input) => input }),
    })
    expect([weather?.name, lookup?.name, anything?.name]).toEqual(['weather', 'lookup', 'anything'])
    expect(weather?.description).toBe('the weather')
    expect(await value(weather, { city: 'Oslo' })).toEqual({ city: 'Oslo', days: 3, toolCallId: 'key-1' })
    expect(told(lookup)).toEqual(parameters)
    expect(await value(lookup, { city: 'Rome' })).toBe('Rome')
    expect(await value(lookup, { city: 'Paris' })).toMatchObject({
      code: 'TOOL_INPUT_INVALID',
      data: { fields: [{ path: 'city' }] },
    })
    expect(await value(anything, { a: 1 })).toEqual({})
  })

  it('the wrapper’s own check, though asynchronous, is asked before the body runs', async () => {
    let runs = 0
    const even = jsonSchema<{ n: number }>(
      { type: 'object', properties: { n: { type: 'number' } } },
      {
        validate: async (sent) =>
          isObject(sent) && Number(sent['n']) % 2 === 0
            ? { success: true, value: { n: Number(sent['n']) / 2 } }
            : { success: false, error: new Error('n is odd') },
      },
    )
    const half = only({
      half: aiTool({
        inputSchema: even,
        execute: ({ n }) => {
          runs++
          return n
        },
      }),
    })
    expect(await value(half, { n: 8 })).toBe(4)
    expect(await value(half, { n: 7 })).toMatchObject({
      code: 'TOOL_INPUT_INVALID',
      message: 'the args are invalid: (args): n is odd. Send them again, corrected.',
    })
    expect(runs).toBe(1)
  })

  it('D9: approval, output schema, abort signal and streamed results are carried over', async () => {
    const [asks, always, checked, streams] = fromTools({
      asks: aiTool({
        inputSchema: z.object({ eur: z.number() }),
        needsApproval: ({ eur }) => eur > 100,
        execute: () => 'paid',
      }),
      always: aiTool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 }),
      checked: aiTool({
        inputSchema: z.object({}),
        outputSchema: z.object({ n: z.number() }),
        execute: () => JSON.parse('{"n":"many"}'),
      }),
      streams: aiTool({
        inputSchema: z.object({}),
        async *execute(_input, { abortSignal }) {
          yield 'a'
          yield 'b'
          yield `c ${abortSignal?.aborted}`
        },
      }),
    })
    const decide = asks?.needsApproval
    const state = { threadId: 't', local: undefined, shared: undefined }
    expect(
      typeof decide === 'function' && [await decide({ eur: 101 }, state), await decide({ eur: 100 }, state)],
    ).toEqual([true, false])
    expect(always?.needsApproval).toBe(true)
    expect(await value(checked)).toMatchObject({ code: 'TOOL_OUTPUT_INVALID' })
    expect(await runBody(streams)).toMatchObject({
      outcome: { ok: true, value: 'c false' },
      progress: ['a', 'b', 'c false'],
    })
  })

  it('D9: what the model reads is what toModelOutput says', async () => {
    const data = Buffer.from('123').toString('base64')
    const [text, json, shows] = fromTools({
      text: aiTool({
        inputSchema: z.object({}),
        execute: () => 5,
        toModelOutput: ({ output }) => ({ type: 'text', value: `five is ${output}` }),
      }),
      json: aiTool({
        inputSchema: z.object({}),
        execute: () => 5,
        toModelOutput: ({ output }) => ({ type: 'json', value: { n: output } }),
      }),
      shows: aiTool({
        inputSchema: z.object({}),
        execute: () => 'x',
        toModelOutput: () => ({
          type: 'content',
          value: [
            { type: 'text', text: 'see' },
            { type: 'image-data', data, mediaType: 'image/png' },
          ],
        }),
      }),
    })
    expect((await runBody(text)).text).toBe('five is 5')
    expect((await runBody(json)).text).toBe('{"n":5}')
    expect((await runBody(shows)).text).toBe('see\n[image-data image/png, 3 bytes, not shown]')
  })

  it('D9: a tool without a body is answered by the caller; one of the provider is refused', () => {
    expect(
      only({ ask: aiTool({ inputSchema: z.object({ question: z.string() }), needsApproval: true }) }),
    ).not.toHaveProperty('needsApproval')
    expect(
      createApp(fromTools({ ask: aiTool({ inputSchema: z.object({ question: z.string() }) }) }), 'the test').tools.get(
        'ask',
      ),
    ).toMatchObject({ execute: false })
    expect(() => fromTools({ bash: anthropic.tools.bash_20250124({}) })).toThrow(
      /tools\.bash .*run by the model's provider \(anthropic\.bash_20250124\)/,
    )
  })
})

describe('any object with a method', () => {
  class Counter {
    readonly name = 'count'
    private total = 0
    add(n: number): number {
      this.total += n
      return this.total
    }
  }

  it.each(['func', 'invoke', 'call', '_call', 'run'])(
    '%s is called on its object, with the args and the signal',
    async (method) => {
      const counter = new Counter()
      const stop = new AbortController()
      Object.assign(counter, {
        [method](this: Counter, args: { n: number }, { signal }: { signal: AbortSignal }) {
          return { total: this.add(args.n), same: signal === stop.signal }
        },
      })
      const tool = only([counter])
      await runBody(tool, { n: 1 }, { signal: stop.signal })
      expect((await runBody(tool, { n: 2 }, { signal: stop.signal })).outcome).toEqual({
        ok: true,
        value: { total: 3, same: true },
      })
    },
  )

  it('D9: schemas in their usual places; without one, any object', async () => {
    const z3Schema = z3.z.object({
      a: z3.z.coerce.number().describe('A'),
      tags: z3.z.array(z3.z.enum(['x', 'y'])).optional(),
      deep: z3.z.object({ n: z3.z.number().int().min(1).nullable() }).strict(),
    })
    const [zod3, parameters, bare] = fromTools([
      { name: 'zod3', schema: z3Schema, func: (input: unknown) => input },
      {
        name: 'openai',
        parameters: { type: 'object', properties: { q: { type: 'string' } } },
        run: (input: unknown) => input,
      },
      { name: 'bare', call: (input: unknown) => input },
    ])
    expect(told(zod3)).toEqual({
      type: 'object',
      properties: {
        a: { type: 'number', description: 'A' },
        tags: { type: 'array', items: { enum: ['x', 'y'] } },
        deep: {
          type: 'object',
          properties: { n: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] } },
          required: ['n'],
          additionalProperties: false,
        },
      },
      required: ['a', 'deep'],
    })
    expect(await value(zod3, { a: '5', tags: 'x', deep: { n: null } })).toEqual({
      a: 5,
      tags: ['x'],
      deep: { n: null },
    })
    expect(await value(zod3, { a: 1, deep: { n: 0 } })).toMatchObject({
      code: 'TOOL_INPUT_INVALID',
      data: { fields: [{ path: 'deep.n' }] },
    })
    expect(told(parameters)).toEqual({ type: 'object', properties: { q: { type: 'string' } } })
    expect(await value(bare, { any: ['thing'] })).toEqual({ any: ['thing'] })
  })

  it('a result that looks like Skein’s own is still a plain value', async () => {
    expect(await value(only([{ name: 'patient', run: () => ({ status: 'error', error: 'fever' }) }]))).toEqual({
      status: 'error',
      error: 'fever',
    })
    expect(await value(only([{ name: 'nothing', run: () => undefined }]))).toBeNull()
  })

  it('a stream that is aborted is told to end', async () => {
    const stop = new AbortController()
    let ended = false
    async function* count() {
      try {
        for (let n = 0; ; n++) yield n
      } finally {
        ended = true
      }
    }
    const ran = await runBody(
      only([{ name: 'count', run: count }]),
      {},
      { signal: stop.signal, progress: (n) => n === 2 && stop.abort(new SkeinError('CANCELLED', 'enough')) },
    )
    expect(ran).toMatchObject({ outcome: { ok: false, failure: { code: 'CANCELLED' } }, progress: [0, 1, 2] })
    expect(ended).toBe(true)
  })
})

describe('schemas', () => {
  const withSchema = (schema: unknown): ToolDefinition | undefined =>
    only([{ name: 'any', schema, run: (input: unknown) => input }])

  it('what zod cannot check is left to the tool', () => {
    const accepts = (schema: object, args: unknown): boolean =>
      checkArgs('any', withSchema(schema)?.args ?? z.never(), args).ok
    expect(
      accepts({ type: 'object', properties: { at: { type: 'string', format: 'uri-reference' } } }, { at: './a' }),
    ).toBe(true)
    expect(
      accepts(
        { type: 'object', properties: { name: { type: 'string', pattern: String.raw`^\p{L}+$` } } },
        { name: 'Ærø' },
      ),
    ).toBe(true)
    expect(accepts({ type: 'object', dependentRequired: { a: ['b'] } }, { a: 1 })).toBe(true)
    expect(accepts({ type: 'object', dependentRequired: { a: ['b'] } }, [])).toBe(false)
    expect(
      accepts(
        {
          $schema: 'http://json-schema.org/draft-07/schema#',
          type: 'object',
          properties: { a: { $ref: '#/definitions/a' } },
          definitions: { a: { type: 'number' } },
        },
        { a: [] },
      ),
    ).toBe(false)
    expect(
      accepts(
        { type: 'object', properties: { child: { $ref: '#' }, n: { type: 'number' } } },
        { child: { child: { n: [] } } },
      ),
    ).toBe(false)
  })

  it('an asynchronous rule of zod is asked by the body', async () => {
    const tool = withSchema(z.object({ id: z.string().refine(async (id) => id === 'known', 'unknown id') }))
    expect(await value(tool, { id: 'known' })).toEqual({ id: 'known' })
    expect(await value(tool, { id: 'other' })).toMatchObject({
      code: 'TOOL_INPUT_INVALID',
      data: { fields: [{ path: 'id', message: 'unknown id' }] },
    })
  })

  it('JSON Schema is told as it was written, and args pass unchanged', async () => {
    const leaf = fc.oneof(
      fc.record(
        { type: fc.constant('string'), description: fc.string(), maxLength: fc.nat() },
        { requiredKeys: ['type'] },
      ),
      fc.record({ type: fc.constant('array'), items: fc.constant({ type: 'number' }), uniqueItems: fc.boolean() }),
      fc.record({ 'x-note': fc.string(), title: fc.string(), default: fc.jsonValue() }),
    )
    const names = fc.string({ minLength: 1 }).filter((name) => name !== '__proto__')
    const schemas = fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(names, leaf),
        title: fc.string(),
        $defs: fc.dictionary(names, leaf),
        additionalProperties: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    )
    fc.assert(
      fc.property(schemas, (schema) => {
        const plain: unknown = JSON.parse(JSON.stringify(schema))
        expect(told(withSchema(plain))).toEqual(plain)
      }),
      { numRuns: 60 },
    )
  })
})

describe('what a caller says', () => {
  const tools = { a: { run: () => 1 }, b: { run: () => 2 } }

  it('of all tools, and of one over that', () => {
    const [a, b] = fromTools(tools, {
      sideEffect: false,
      where: 'worker',
      timeoutMs: 5,
      byName: { b: { sideEffect: true, idempotent: true, description: 'B' } },
    })
    expect(a).toMatchObject({ sideEffect: false, where: 'worker', timeoutMs: 5 })
    expect(
      createApp(
        fromTools(tools, { sideEffect: false, onUnknown: 'ask', byName: { b: { sideEffect: true } } }),
        'the test',
      ).tools.get('b'),
    ).toMatchObject({ onUnknown: 'ask' })
    expect(b).toMatchObject({ sideEffect: true, commutes: true, idempotent: true, where: 'worker', description: 'B' })
    expect(only(tools, { commutes: false })).toMatchObject({ sideEffect: true, commutes: false })
  })

  it.each([
    [[tools.a], 'tools[0] has no name'],
    [
      [{ name: 'x', run: () => 1 }, 7],
      'tools[1] is not a tool: expected a LangChain tool, an AI SDK tool, or an object with func | invoke | call ' +
        '| _call | run, got number',
    ],
    [[null], 'tools[0] is not a tool'],
    [[{ name: 'x', title: 'y' }], 'tools[0] ("x") is not a tool: expected a LangChain tool'],
    [{ x: () => 1 }, 'tools.x ("x") is not a tool'],
    [
      [
        { name: 'x', run: () => 1 },
        { name: 'y', run: () => 1 },
        { name: 'x', func: () => 1 },
      ],
      'tools[0] and tools[2] are both named "x"',
    ],
    [[{ name: 'x', run: () => 1, schema: 'text' }], 'its schema is neither zod nor JSON Schema'],
    [
      [{ name: 'x', run: () => 1, schema: z.object({ at: z.date() }) }],
      'tools[0] ("x") is not a tool: Date cannot be represented',
    ],
    [[{ kind: 'tool', name: 'x' }], 'a definition of Skein already'],
    [{ x: { inputSchema: jsonSchema(Promise.resolve({})), execute: () => 1 } }, 'its schema is not at hand'],
    [new DynamicTool({ name: 'x', description: '', func: () => Promise.resolve('') }), 'a single one: write [tool]'],
  ])('D9: a thing that is no tool is refused by its place (%#)', (given, message) => {
    const attempt = (): unknown => fromTools(given as Parameters<typeof fromTools>[0])
    expect(attempt).toThrow(SkeinError)
    expect(attempt).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(message) }))
  })

  it('D9: a name that no tool has is refused', () => {
    expect(() => fromTools(tools, { byName: { c: {} } })).toThrow('fromTools has no tool "c"; there are: a, b')
  })
})
