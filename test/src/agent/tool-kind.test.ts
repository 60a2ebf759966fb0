/** What a tool is, read off its definition. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { ToolDefinition } from '../../../src/agent/define.js'
import { ignoresKey } from '../../../src/agent/checks/tools.js'
import { effectOf, kindOf, toolMetadata } from '../../../src/agent/effect.js'
import { fromTools } from '../../../src/tools/foreign/from-tools.js'
import { hostTools } from '../../../src/tools/own/host-tools.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { looseTool } from '../../helpers/app.js'

const base = { name: 'b', description: '', args: z.looseObject({ cents: z.number() }) }

describe('kinds', () => {
  it('D3: function, generator, manual and human, from the shape', () => {
    expect(kindOf(defineTool({ ...base, execute: () => 1 }))).toBe('function')
    expect(kindOf(defineTool({ ...base, execute: async () => 1 }))).toBe('function')
    const generator = defineTool({
      ...base,
      eventSchema: z.number(),
      async *execute() {
        yield 1
        return 2
      },
    })
    expect(kindOf(generator)).toBe('generator')
    expect(kindOf(defineTool({ ...base, execute: false }))).toBe('manual')
    expect(kindOf(defineTool({ ...base, outputSchema: z.string(), onToolCalled: () => null }))).toBe('human')
  })
})

describe('metadata', () => {
  it('T10: with its defaults', () => {
    expect(toolMetadata(looseTool('look', () => 1))).toEqual({
      name: 'look',
      kind: 'function',
      sideEffect: false,
      idempotent: true,
      commutes: false,
      onUnknown: 'tell',
      cpu: false,
      where: 'worker',
      uses: [],
    })
    expect(toolMetadata(looseTool('pay', () => 1, { sideEffect: true }))).toMatchObject({
      sideEffect: true,
      idempotent: false,
    })
    expect(
      toolMetadata(
        looseTool('put', () => 1, {
          sideEffect: true,
          idempotent: true,
          commutes: true,
          where: 'host',
          onUnknown: 'ask',
        }),
      ),
    ).toMatchObject({ idempotent: true, commutes: true, where: 'host', onUnknown: 'ask' })
  })

  it.each([
    [null],
    [undefined],
    [5],
    ['tool'],
    [() => 1],
    [[]],
    [{}],
    [{ kind: 'tool' }],
    [{ kind: 'tool', name: 'b' }],
    [definePrompt({ name: 'p', prompt: '', model: 'm' })],
    [defineModel({ name: 'm', model: scriptedModel([]) })],
  ])('T10: null for %o', (other) => {
    expect(toolMetadata(other)).toBeNull()
  })
})

describe('effects', () => {
  const app = (...tools: readonly ToolDefinition[]) => ({ tools: new Map(tools.map((tool) => [tool.name, tool])) })
  const tool = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition => looseTool(name, () => 1, more)

  it('inherited from what it uses, also by a detour', () => {
    const pay = tool('pay', { sideEffect: true })
    const shop = tool('shop', { uses: ['pay'], sideEffect: false })
    const plan = tool('plan', { uses: ['shop'] })
    expect(effectOf(plan, app(pay, shop, plan))).toEqual({ sideEffect: true, commutes: false, idempotent: false })
    expect(effectOf(shop, app(pay, shop, plan))).toMatchObject({ sideEffect: true })
    expect(effectOf({ ...plan, idempotent: true }, app(pay, shop))).toMatchObject({ idempotent: true })
  })

  it('a tool commutes if it says so, or if all that act do', () => {
    const log = tool('log', { sideEffect: true, commutes: true })
    const pay = tool('pay', { sideEffect: true })
    expect(effectOf(tool('a', { uses: ['log'] }), app(log, pay))).toMatchObject({ sideEffect: true, commutes: true })
    expect(effectOf(tool('a', { uses: ['log', 'pay'] }), app(log, pay))).toMatchObject({ commutes: false })
    expect(effectOf(tool('a', { uses: ['log', 'pay'], commutes: true }), app(log, pay))).toMatchObject({
      commutes: true,
    })
    expect(effectOf(tool('a', { uses: ['log'], sideEffect: true }), app(log, pay))).toMatchObject({ commutes: false })
  })

  it('any true makes true, only all false make false', () => {
    const said = fc.constantFrom(true, false, undefined)
    fc.assert(
      fc.property(said, fc.array(said, { maxLength: 4 }), (own, used) => {
        const saying = (name: string, value: boolean | undefined, uses: readonly string[]): ToolDefinition =>
          tool(name, { uses, ...(value !== undefined && { sideEffect: value }) })
        // A chain: each uses the next.
        const chain = [own, ...used].map((value, index) =>
          saying(`t${index}`, value, index < used.length ? [`t${index + 1}`] : []),
        )
        const all = [own, ...used]
        const free = all.every((value) => value === false) ? false : undefined
        const expected = all.includes(true) || free
        expect(effectOf(chain[0] ?? tool('t0'), app(...chain)).sideEffect).toBe(expected)
      }),
    )
  })

  it('a circle of uses comes to an end', () => {
    const a = tool('a', { uses: ['b'] })
    const b = tool('b', { uses: ['a'], sideEffect: true })
    expect(effectOf(a, app(a, b)).sideEffect).toBe(true)
  })
})

describe('the idempotency key', () => {
  it('T10: nothing is said of bodies that an adapter made', () => {
    const foreign = fromTools({
      method: { description: '', invoke: async () => 1 },
      sdk: { description: '', inputSchema: z.object({}), execute: async () => 1 },
      chain: { lc_namespace: ['langchain', 'tools'], description: '', schema: z.object({}), invoke: async () => 1 },
    })
    const acting = [...foreign, ...hostTools({ rootDir: '/' })].filter(({ sideEffect }) => sideEffect)
    expect(acting.map(({ name }) => name)).toEqual(expect.arrayContaining(['method', 'sdk', 'chain', 'bash', 'edit']))
    expect(acting.filter(ignoresKey)).toEqual([])
  })

  const charge = async (..._: readonly unknown[]): Promise<string> => 'charged'
  const acting = { ...base, sideEffect: true } as const

  it.each<[string, ToolDefinition]>([
    ['no parameter', defineTool({ ...acting, execute: () => charge() })],
    ['an unused state', defineTool({ ...acting, execute: async (_state, { cents }) => charge(cents) })],
    ['a state without parentheses', defineTool({ ...acting, execute: (state) => charge(state.threadId) })],
    [
      'a state that is used for other things',
      defineTool({ ...acting, execute: async (state, args) => (await state.files.exists('/x')) && charge(args) }),
    ],
    ['a state that is taken apart', defineTool({ ...acting, execute: ({ files }, { cents }) => charge(files, cents) })],
    [
      'a method',
      defineTool({
        ...acting,
        execute(state, { cents }) {
          return charge(state.threadId, cents)
        },
      }),
    ],
    ['a name that contains the other', defineTool({ ...acting, execute: (s, args) => charge(s.threadId, args) })],
  ])('T10: ignored by a body with %s', (_, tool) => {
    expect(ignoresKey(tool)).toBe(true)
  })

  it.each<[string, ToolDefinition]>([
    ['reads it', defineTool({ ...acting, execute: (state) => charge(state.idempotencyKey) })],
    ['takes it out', defineTool({ ...acting, execute: ({ idempotencyKey: key }) => charge(key) })],
    ['hands the state on', defineTool({ ...acting, execute: (state, args) => charge(state, args) })],
    ['hands the rest of it on', defineTool({ ...acting, execute: ({ files, ...rest }) => charge(files, rest) })],
    ['takes whatever comes', defineTool({ ...acting, execute: (...all) => charge(...all) })],
    ['cannot be read', defineTool({ ...acting, execute: charge.bind(undefined) })],
    ['is idempotent', defineTool({ ...acting, idempotent: true, execute: () => charge() })],
    ['leaves it to another tool', defineTool({ ...acting, uses: ['pay'], execute: () => charge() })],
    ['has no side effect', defineTool({ ...base, execute: () => charge() })],
    ['has a probe', defineTool({ ...acting, probe: () => null, execute: () => charge() })],
    ['is nobody', defineTool({ ...acting, execute: false })],
  ])('T10: not ignored by one that %s', (_, tool) => {
    expect(ignoresKey(tool)).toBe(false)
  })
})
