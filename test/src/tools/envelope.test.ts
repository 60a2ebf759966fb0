/** Args that are one of several: told to providers in an envelope, which they all take, and taken out of it again. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { Schema } from '../../../src/core/schema.js'
import { checkArgs } from '../../../src/tools/args.js'
import { fromTools } from '../../../src/tools/foreign/from-tools.js'
import { onEveryStore } from '../../helpers/world.js'

const shape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number() }),
  z.object({ kind: z.literal('named'), input: z.string() }),
])
const toolOf = (args: Schema) => defineTool({ name: 'draw', description: 'x', args, execute: (_state, given) => given })
const told = (args: Schema) => createApp([toolOf(args)], 'the test').parameters.get('draw')

describe('what a provider reads', () => {
  it.each([
    ['a discriminated union', shape],
    ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.number() })])],
    ['an intersection', z.intersection(shape, z.object({ b: z.number() }))],
  ])('T1, D1: %s is an object with one field at its top', (_, args) => {
    expect(told(args)).toMatchObject({
      type: 'object',
      required: ['input'],
      additionalProperties: false,
      properties: { input: expect.any(Object) },
    })
    for (const keyword of ['anyOf', 'oneOf', 'allOf']) expect(told(args)).not.toHaveProperty(keyword)
  })

  it('D1: a union that holds itself, and definitions, point to where they are now', () => {
    const leaf = z.object({ leaf: z.string() }).meta({ id: 'leaf' })
    const tree: z.ZodType = z.union([leaf, z.object({ left: z.lazy(() => tree), right: z.lazy(() => tree) })])
    const text = JSON.stringify(told(tree))
    expect(text).not.toContain('"#"')
    expect(text).toContain('#/properties/input')
    expect(told(tree)).toMatchObject({ type: 'object', $defs: { leaf: {} } })
  })

  it('D1: anything is said to be an object; what is one stays as it is', () => {
    expect(told(z.any())).toEqual({ type: 'object' })
    expect(told(z.object({ a: z.string() }))).toMatchObject({ type: 'object', properties: { a: { type: 'string' } } })
  })

  it('D9: a foreign tool with a union is told the same way', () => {
    const app = createApp(fromTools({ draw: { inputSchema: shape, execute: () => 1 } }), 'the test')
    expect(app.parameters.get('draw')).toMatchObject({ type: 'object', required: ['input'] })
    expect(
      checkArgs('draw', app.tools.get('draw')?.args ?? z.never(), { input: { kind: 'circle', radius: 1 } }),
    ).toEqual({ ok: true, args: { kind: 'circle', radius: 1 } })
  })

  it('D1: alternatives at the top of a prompt’s input are refused with words', () => {
    const definitions = [
      defineModel({ name: 'm', model: scriptedModel([]) }),
      definePrompt({
        name: 'p',
        prompt: 'x',
        model: 'm',
        requiredSchema: shape,
        exposeAsTool: true,
        toolDescription: 'x',
      }),
    ]
    expect(() => createApp(definitions, 'the test')).toThrow(
      /its requiredSchema must be an object .* put the alternatives into a field/,
    )
  })
})

describe('what a tool gets', () => {
  const { args } = toolOf(shape)
  told(args)
  it.each([
    ['in the envelope', { input: { kind: 'circle', radius: 2 } }],
    ['as text', '{"input":{"kind":"circle","radius":2}}'],
    ['in the envelope as text', { input: '{"kind":"circle","radius":2}' }],
    ['without it', { kind: 'circle', radius: 2 }],
  ])('T1: an envelope %s', (_, sent) => {
    expect(checkArgs('draw', args, sent)).toEqual({ ok: true, args: { kind: 'circle', radius: 2 } })
  })

  it('a field of its own of that name is no envelope', () => {
    expect(checkArgs('draw', args, { input: { kind: 'named', input: 'x' } })).toEqual({
      ok: true,
      args: { kind: 'named', input: 'x' },
    })
    expect(checkArgs('draw', args, { kind: 'named', input: 'x' })).toEqual({
      ok: true,
      args: { kind: 'named', input: 'x' },
    })
    const loose = z.union([z.object({ input: z.object({ a: z.number() }) }), z.object({ b: z.number() })])
    told(loose)
    expect(checkArgs('draw', loose, { input: { a: 1 } })).toEqual({ ok: true, args: { input: { a: 1 } } })
    expect(checkArgs('draw', loose, { input: { input: { a: 1 } } })).toEqual({ ok: true, args: { input: { a: 1 } } })
  })

  it('T1: what is wrong is told of what is inside', () => {
    expect(checkArgs('draw', args, { input: { kind: 'circle', radius: 'wide' } })).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_INPUT_INVALID', data: { fields: [{ path: 'radius' }] } },
    })
  })
})

onEveryStore('a turn', (world) => {
  it('T1: a model calls a tool with a union, and its body gets what is inside', async () => {
    const model = scriptedModel(({ step, messages }) =>
      step === 0
        ? { calls: [{ tool: 'draw', args: { input: { kind: 'circle', radius: 3 } } }] }
        : (messages.at(-1)?.text ?? ''),
    )
    const app = [
      toolOf(shape),
      defineModel({ name: 'm', model }),
      definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['draw'] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'p' } }),
    ]
    const skein = await world.open(app)
    const { text } = await (await skein.threads.create({ agent: 'lead' })).send('go').result()
    expect(JSON.parse(text)).toEqual({ kind: 'circle', radius: 3 })
    expect(model.requests[0]?.tools[0]?.parameters).toMatchObject({ type: 'object', required: ['input'] })
    await world.close(skein)
  })
})
