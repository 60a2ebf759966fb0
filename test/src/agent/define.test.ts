/** Definitions are plain data; the types of what is built from them are known. */
import { createApp } from '../../../src/agent/app.js'
import { defineHook } from '../../../src/agent/define-hook.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { AgentDefinition, ModelDefinition, PromptDefinition } from '../../../src/agent/define.js'
import type { createSkein, Run, RunResult, Skein, SkeinEvent, Thread } from '../../../src/index.js'

describe('define…', () => {
  it('D1: gives what it was given, with its kind, and runs nothing', () => {
    const boom = (): never => {
      throw new Error('it ran')
    }
    const args = z.object({})
    expect(defineTool({ name: 'a', description: '', args, execute: boom, needsApproval: boom })).toEqual({
      kind: 'tool',
      name: 'a',
      description: '',
      args,
      execute: boom,
      needsApproval: boom,
    })
    expect(defineModel({ name: 'a', model: boom })).toEqual({ kind: 'model', name: 'a', model: boom })
    expect(definePrompt({ name: 'a', prompt: 'p', model: 'm' })).toEqual({
      kind: 'prompt',
      name: 'a',
      prompt: 'p',
      model: 'm',
    })
    expect(defineAgent({ name: 'a', type: 'ai_human', sideA: { prompt: 'p' } })).toEqual({
      kind: 'agent',
      name: 'a',
      type: 'ai_human',
      sideA: { prompt: 'p' },
    })
  })

  it('a name may be left to the file', () => {
    expect(defineTool({ description: '', args: z.object({}), execute: false }).name).toBe('')
    expect(definePrompt({ prompt: 'p', model: 'm' }).name).toBe('')
  })

  it('D8: wrong words do not compile', () => {
    expectTypeOf<'human_human'>().not.toExtend<AgentDefinition['type']>()
    expectTypeOf<{
      kind: 'agent'
      name: 'a'
      type: 'dual_ai'
      sideA: { prompt: 'p' }
    }>().not.toExtend<AgentDefinition>()
    expectTypeOf<{ depth: number }>().not.toExtend<PromptDefinition>()
    expectTypeOf<string>().not.toExtend<ModelDefinition['model']>()
  })
})

describe('the surface', () => {
  it('D8: what is built from definitions has a type', () => {
    expectTypeOf<typeof createSkein>().returns.resolves.toEqualTypeOf<Skein>()
    expectTypeOf<Skein['threads']['create']>().returns.resolves.toEqualTypeOf<Thread>()
    expectTypeOf<Thread['send']>().returns.toEqualTypeOf<Run>()
    expectTypeOf<Run['result']>().returns.resolves.toEqualTypeOf<RunResult<unknown>>()
    type Results = Extract<SkeinEvent, { type: 'tool.result' }>
    expectTypeOf<Results['seq']>().toEqualTypeOf<number>()
    type Streamed = Run['textStream'] extends AsyncIterable<infer Item> ? Item : never
    expectTypeOf<Streamed>().toEqualTypeOf<string>()
  })
})

describe('defineHook', () => {
  it('D1: a hook is plain data, and its mistakes are found when the app is loaded', () => {
    const run = (): never => {
      throw new Error('it ran')
    }
    const look = defineTool({ name: 'look', args: z.object({}), execute: run })
    const guard = defineHook({ name: 'guard', on: 'before_call', tools: [look], run })
    expect(guard).toEqual({ kind: 'hook', name: 'guard', on: 'before_call', tools: ['look'], run })
    expect(definePrompt({ name: 'p', prompt: '', model: 'm', hooks: [guard, 'other'] }).hooks).toEqual([
      'guard',
      'other',
    ])
    const base = [
      look,
      defineModel({ name: 'm', model: run }),
      definePrompt({ name: 'p', prompt: '', model: 'm', hooks: ['guard', 'missing'] }),
      defineAgent({ name: 'a', type: 'ai_human', sideA: { prompt: 'p' } }),
    ]
    const wrong = [
      guard,
      { ...defineHook({ name: 'ends', on: 'stop', onError: 'block', run }), show: 'after' as const },
      { ...defineHook({ name: 'typo', on: 'stop', run }), timeout: 5 },
      defineHook({ name: 'nothing', on: 'after_call', tools: ['nowhere'], run }),
    ]
    expect(() => createApp([...base, ...wrong], 'the app')).toThrow(
      expect.objectContaining({
        data: expect.objectContaining({
          mistakes: [
            expect.stringContaining('hook "ends": `show` is for the point \'after_step\''),
            expect.stringContaining("hook \"ends\": `onError: 'block'` is not for the point 'stop'"),
            'hook "typo": timeout: there is no such field; did you mean timeoutMs?',
            expect.stringContaining('prompt "p" names the hook "missing"; there are: guard'),
            expect.stringContaining('hook "nothing" names the tool "nowhere"'),
          ],
        }),
      }),
    )
  })
})
