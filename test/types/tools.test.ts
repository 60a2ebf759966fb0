/** Types flow from a tool's schemas to its body and out again. Checked by the compiler; a wrong use is an error. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/agent/define.js'
import type { Definition, ToolDefinition, ToolState } from '../../src/agent/define.js'
import type {
  InferToolContext,
  InferToolEvent,
  InferToolInput,
  InferToolOutput,
  ToolCallOf,
} from '../../src/agent/infer.js'

const args = z.object({
  query: z.string(),
  limit: z.number().default(5),
  when: z.string().transform(Number).optional(),
})
type Parsed = { query: string; limit: number; when?: number | undefined }

const search = defineTool({
  name: 'search',
  description: 'Searches',
  args,
  cache: {
    keyFn: (given) => {
      expectTypeOf(given).toEqualTypeOf<Parsed>()
      return given.query
    },
  },
  needsApproval: (given) => given.limit > 100,
  execute: async (state, given) => {
    expectTypeOf(given).toEqualTypeOf<Parsed>()
    expectTypeOf(state).toEqualTypeOf<ToolState<never, never>>()
    return { hits: [given.query], thread: state.threadId }
  },
  toModelOutput: (output) => {
    expectTypeOf(output).toEqualTypeOf<{ hits: string[]; thread: string }>()
    return ''
  },
})

const count = defineTool({
  name: 'count',
  description: 'Counts',
  args: z.object({ to: z.number() }),
  eventSchema: z.object({ at: z.number(), of: z.number().default(10) }),
  contextSchema: z.object({ last: z.number(), seen: z.array(z.string()) }),
  sharedSchema: z.object({ total: z.number() }),
  needsApproval: ({ to }, { local, shared }) => {
    expectTypeOf(local).toEqualTypeOf<{ last: number; seen: string[] }>()
    return to > shared.total
  },
  async *execute(state, { to }) {
    expectTypeOf(state.local).toEqualTypeOf<{ last: number; seen: string[] }>()
    expectTypeOf(state.shared).toEqualTypeOf<{ total: number }>()
    for (let at = 0; at < to; at++) yield { at }
    state.setContext({ last: to })
    state.setShared({ total: state.shared.total + to })
    return 'counted' as const
  },
})

const decide = defineTool({
  name: 'decide',
  description: 'Decides',
  args: z.object({ question: z.string() }),
  outputSchema: z.object({ verdict: z.enum(['yes', 'no']), on: z.string().transform(Number) }),
  onToolCalled: (_, { question }) => (question === '' ? { verdict: 'no', on: '1' } : null),
  onResponseReceived: (_, answer) => ({ verdict: answer === 'aye' ? 'yes' : 'no', on: '2' }),
  toModelOutput: ({ verdict, on }) => `${verdict satisfies 'yes' | 'no'} ${on.toFixed()}`,
})

const paint = defineTool({ name: 'paint', description: 'Paints', args: z.object({}), execute: false })

describe('what a body sees', () => {
  it('D8: the parsed args, and nothing of it is any', () => {
    expectTypeOf<InferToolInput<typeof search>>().toEqualTypeOf<Parsed>()
    expectTypeOf<InferToolInput<typeof search>>().not.toBeAny()
  })

  it('D8: contexts by their schemas; without one there is none to set', () => {
    expectTypeOf<InferToolContext<typeof count>>().toEqualTypeOf<{ last: number; seen: string[] }>()
    expectTypeOf<InferToolContext<typeof search>>().toEqualTypeOf<never>()
    const wrong = (): readonly unknown[] => [
      defineTool({
        name: 'wrong',
        description: '',
        args,
        contextSchema: z.object({ last: z.number() }),
        execute: (state) => {
          // @ts-expect-error a number is wanted
          state.setContext({ last: 'five' })
          // @ts-expect-error there is no such field
          state.setContext({ first: 5 })
          // @ts-expect-error there is no sharedSchema
          state.setShared({ total: 5 })
          // @ts-expect-error there is no sharedSchema
          return state.shared.total
        },
      }),
    ]
    expect(wrong()).toHaveLength(1)
  })

  it('D8: a field that the args do not have does not compile', () => {
    const wrong = [
      // @ts-expect-error it is called query
      defineTool({ name: 'wrong', description: '', args, execute: (_, { text }) => text }),
      // @ts-expect-error there is no such field of a tool
      defineTool({ name: 'wrong', description: '', args, execute: () => 1, timeout: 5 }),
    ]
    expect(wrong).toHaveLength(2)
  })
})

describe('what comes of a body', () => {
  it('D8: what it returns, or what outputSchema makes of it', () => {
    expectTypeOf<InferToolOutput<typeof search>>().toEqualTypeOf<{ hits: string[]; thread: string }>()
    expectTypeOf<InferToolOutput<typeof count>>().toEqualTypeOf<'counted'>()
    expectTypeOf<InferToolOutput<typeof decide>>().toEqualTypeOf<{ verdict: 'yes' | 'no'; on: number }>()
    expectTypeOf<InferToolOutput<typeof paint>>().toEqualTypeOf<unknown>()
  })

  it('D8: a body that says how it went gives what it says', () => {
    const halves = defineTool({
      name: 'halves',
      description: '',
      args,
      execute: (_, { limit }) =>
        limit % 2 === 0
          ? { status: 'success' as const, result: limit / 2 }
          : { status: 'error' as const, error: 'odd' },
    })
    expectTypeOf<InferToolOutput<typeof halves>>().toEqualTypeOf<number>()
    defineTool({
      name: 'checked',
      description: '',
      args,
      outputSchema: z.number(),
      execute: async (_, { limit }) => (limit % 2 === 0 ? limit / 2 : { status: 'error', error: 'odd' }),
    })
  })

  it('D8: a body that outputSchema does not allow does not compile', () => {
    const outputSchema = z.object({ total: z.number(), unit: z.enum(['ms', 's']).optional() })
    const wrong = [
      // @ts-expect-error total is a number
      defineTool({ name: 'wrong', description: '', args, outputSchema, execute: () => ({ total: 'five' }) }),
      defineTool({
        name: 'wrong',
        description: '',
        args,
        outputSchema,
        // @ts-expect-error total is sometimes not a number
        execute: async (_, { limit, query }) => ({ total: limit > 5 ? limit : query }),
      }),
      defineTool({
        name: 'wrong',
        description: '',
        args,
        outputSchema,
        // @ts-expect-error there is no such unit
        execute: async (_, { limit }) => ({ total: limit, unit: 'min' }),
      }),
      defineTool({
        name: 'wrong',
        description: '',
        args,
        outputSchema,
        onToolCalled: () => null,
        // @ts-expect-error what a person answered must fit too
        onResponseReceived: () => 'five',
      }),
    ]
    const right = defineTool({
      name: 'right',
      description: '',
      args,
      outputSchema,
      execute: (_, { limit }) => ({ total: limit, unit: 'ms' }),
    })
    expect([...wrong, right]).toHaveLength(5)
  })

  it('D8: events by eventSchema; without one there are none', () => {
    expectTypeOf<InferToolEvent<typeof count>>().toEqualTypeOf<{ at: number; of: number }>()
    expectTypeOf<InferToolEvent<typeof search>>().toEqualTypeOf<never>()
    async function* wrong(): AsyncGenerator<string, number> {
      yield 'one'
      return 1
    }
    // @ts-expect-error an event is a number
    defineTool({ name: 'wrong', description: '', args, eventSchema: z.number(), execute: wrong })
    // @ts-expect-error there is no eventSchema
    defineTool({ name: 'wrong', description: '', args, execute: wrong })
    defineTool({ name: 'right', description: '', args, eventSchema: z.string(), execute: wrong })
  })
})

describe('tools together', () => {
  const tools = [search, count, decide] as const
  type Called = ToolCallOf<typeof tools>

  it('D8: a typed union of calls, with the args as a model sends them', () => {
    expectTypeOf<Called['tool']>().toEqualTypeOf<'search' | 'count' | 'decide'>()
    expectTypeOf<Extract<Called, { tool: 'count' }>>().toEqualTypeOf<{
      readonly tool: 'count'
      readonly args: { to: number }
    }>()
    expectTypeOf<Extract<Called, { tool: 'search' }>['args']>().toEqualTypeOf<{
      query: string
      limit?: number | undefined
      when?: string | undefined
    }>()
    const told = (call: Called): string => {
      if (call.tool === 'count') return call.args.to.toFixed()
      return call.tool === 'search' ? call.args.query : call.args.question
    }
    expect(told({ tool: 'count', args: { to: 5 } })).toBe('5')
    expectTypeOf<{ tool: 'count'; args: { query: 'x' } }>().not.toExtend<Called>()
    expectTypeOf<{ tool: 'other'; args: { to: 5 } }>().not.toExtend<Called>()
  })

  it('D8: a definition of any kind is a definition', () => {
    const list: readonly ToolDefinition[] = [search, count, decide, paint]
    const all: readonly Definition[] = list
    expectTypeOf(list[0]?.args).not.toBeAny()
    expect(all.map(({ name }) => name)).toEqual(['search', 'count', 'decide', 'paint'])
    expectTypeOf(search.name).toEqualTypeOf<'search'>()
  })
})
