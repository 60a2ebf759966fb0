/** Types flow from a tool's schema to its body, and none of them is `any`. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/index.js'
import type { AgentDefinition, Definition, ModelDefinition, PromptDefinition, createSkein, Run, RunResult, Skein, SkeinEvent, Thread, ToolDefinition, ToolState } from '../../../src/index.js'

const search = defineTool({
  name: 'search',
  description: 'Searches',
  args: z.object({ query: z.string(), limit: z.number().default(5), when: z.string().transform(Number).optional() }),
  execute: async (state, args) => {
    expectTypeOf(state).toEqualTypeOf<ToolState>()
    expectTypeOf(args).toEqualTypeOf<{ query: string; limit: number; when?: number | undefined }>()
    expectTypeOf(args).not.toBeAny()
    return { hits: [args.query], state: state.threadId }
  },
})

describe('defineTool', () => {
  it('D8: execute sees the parsed args', () => {
    type Args = Parameters<typeof search.execute>[1]
    expectTypeOf<Args['limit']>().toEqualTypeOf<number>()
    expectTypeOf<Args['when']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<Args>().not.toBeAny()
  })

  it('D8: what it returns is known', () => {
    expectTypeOf(search).toExtend<ToolDefinition<typeof search.args, { hits: string[]; state: string }>>()
    type Returned = Awaited<ReturnType<typeof search.execute>>
    expectTypeOf<Returned['hits']>().toEqualTypeOf<string[]>()
    expectTypeOf<Returned>().not.toBeAny()
  })

  it('D8: a definition of any args is a definition', () => {
    expectTypeOf(search).toExtend<Definition>()
    const list: readonly Definition[] = [search]
    expectTypeOf(list[0]).not.toBeAny()
    expect(list).toHaveLength(1)
  })

  it('D8: wrong words do not compile', () => {
    expectTypeOf<'dual_ai'>().not.toExtend<AgentDefinition['type']>()
    expectTypeOf<{ depth: number }>().not.toExtend<PromptDefinition>()
    expectTypeOf<string>().not.toExtend<ModelDefinition['model']>()
  })
})

describe('the surface', () => {
  it('D8: nothing of it is any', () => {
    expectTypeOf<typeof createSkein>().returns.resolves.toEqualTypeOf<Skein>()
    expectTypeOf<Skein['threads']['create']>().returns.resolves.toEqualTypeOf<Thread>()
    expectTypeOf<Thread['send']>().returns.toEqualTypeOf<Run>()
    expectTypeOf<Run['result']>().returns.resolves.toEqualTypeOf<RunResult>()
    expectTypeOf<RunResult['stopReason']>().not.toBeAny()
    expectTypeOf<SkeinEvent>().not.toBeAny()
    type Results = Extract<SkeinEvent, { type: 'tool.result' }>
    expectTypeOf<Results['outcome']>().not.toBeAny()
    expectTypeOf<Results['seq']>().toEqualTypeOf<number>()
    type Streamed = Run['textStream'] extends AsyncIterable<infer Item> ? Item : never
    expectTypeOf<Streamed>().toEqualTypeOf<string>()
  })
})
