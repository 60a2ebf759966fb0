/** A definition in place of its name, and fields under other libraries' names. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/testing.js'

const spare = defineModel({ name: 'spare', model: scriptedModel([]) })
const fast = defineModel({ name: 'fast', model: scriptedModel([]), fallback: [spare, 'fast2'] })
const time = defineTool({ name: 'time', description: 'The time', args: z.object({}), execute: () => 1 })
const clock = defineTool({
  name: 'clock',
  description: 'The time, twice',
  args: z.object({}),
  uses: [time, 'read'],
  execute: () => 1,
})
const rules = definePrompt({ name: 'rules', prompt: 'Be kind.', model: fast, exposeAsTool: true })

describe('a definition in place of its name', () => {
  it('D5: tools, prompts, agents and models by themselves or by their names, in one list', () => {
    const other = defineAgent({ name: 'other', type: 'ai_human', sideA: { prompt: rules }, exposeAsTool: true })
    const lead = definePrompt({
      name: 'lead',
      prompt: '',
      model: fast,
      tools: [time, 'clock', rules, other, { name: 'other2', blocking: true }],
      toolChoice: { tool: time },
    })
    expect(lead).toMatchObject({
      model: 'fast',
      tools: ['time', 'clock', 'rules', 'other', { name: 'other2', blocking: true }],
      toolChoice: { tool: 'time' },
    })
    expect(fast.fallback).toEqual(['spare', 'fast2'])
    expect(clock.uses).toEqual(['time', 'read'])
  })

  it('D6: the prompt and the tools of a side', () => {
    const agent = defineAgent({
      name: 'a',
      type: 'dual_ai',
      sideA: { prompt: rules, stopTool: time, sessionStop: { name: 'clock', messageProperty: 'said' } },
      sideB: { prompt: 'rules', sessionFail: clock },
    })
    expect(agent).toMatchObject({
      sideA: { prompt: 'rules', stopTool: 'time', sessionStop: { name: 'clock' } },
      sideB: { prompt: 'rules', sessionFail: 'clock' },
    })
  })

  it('D8: a definition of another kind does not compile', () => {
    const wrong = [
      // @ts-expect-error a model is no tool
      definePrompt({ name: 'p', prompt: '', model: fast, tools: [fast] }),
      // @ts-expect-error a tool is no model
      definePrompt({ name: 'p', prompt: '', model: time }),
      // @ts-expect-error a tool is no prompt
      defineAgent({ name: 'a', type: 'ai_human', sideA: { prompt: time } }),
      // @ts-expect-error a prompt is no tool to use
      defineTool({ name: 't', description: '', args: z.object({}), uses: [rules], execute: () => 1 }),
    ]
    expect(wrong).toHaveLength(4)
  })

  it('D5: what is named and is not part of the app is told by its name', () => {
    const app = [
      spare,
      defineModel({ name: 'fast', model: scriptedModel([]) }),
      definePrompt({ name: 'lead', prompt: '', model: fast, tools: [time] }),
    ]
    expect(() => createApp(app, 'the app')).toThrow(
      'the app has a mistake:\n- prompt "lead" names the tool "time"; there are: ',
    )
  })
})

/** What is said of it. */
function mistakes(...definitions: readonly unknown[]): readonly string[] {
  try {
    createApp([spare, ...definitions] as readonly Definition[], 'the app')
  } catch (thrown) {
    return String(thrown).split('\n- ').slice(1)
  }
  return []
}

describe('one cause is one mistake', () => {
  const body = { kind: 'tool', name: 't', description: '', execute: () => 1 }

  it.each(['inputSchema', 'input', 'schema', 'argsSchema'])('D4: %s is called args', (field) => {
    expect(mistakes({ ...body, [field]: z.object({}) })).toEqual([
      `tool "t": ${field}: there is no such field; did you mean args?`,
    ])
  })

  it('D4: a zod schema as parameters is args', () => {
    expect(mistakes({ ...body, parameters: z.object({}) })).toEqual([
      'tool "t": parameters: a zod schema belongs in args (parameters is JSON Schema, for what zod cannot say); ' +
        'did you mean args?',
    ])
    expect(mistakes({ ...body, parameters: { type: 'object' } })).toEqual(['tool "t": args: must be a zod 4 schema'])
  })

  it('D4: beside args the other word is a field that is not there', () => {
    expect(mistakes({ ...body, args: z.object({}), inputSchema: z.object({}) })).toHaveLength(1)
  })

  it('D5: the text of a prompt under another name', () => {
    expect(mistakes({ kind: 'prompt', name: 'p', model: 'spare', system: 'You lead.' })).toEqual([
      'prompt "p": system: there is no such field; did you mean prompt?',
    ])
  })

  it('D5: what stands among the tools of a prompt', () => {
    const prompt = (tool: unknown) => mistakes({ kind: 'prompt', name: 'p', prompt: '', model: 'spare', tools: [tool] })
    expect(prompt({ name: 'dig', description: '', args: z.object({}), execute: () => 1 })).toEqual([
      'prompt "p": tools.0 looks like a tool: wrap it in defineTool',
    ])
    expect(prompt(5)).toEqual([
      'prompt "p": tools.0: must be the name of a tool, an agent or a prompt; definePrompt takes the definition ' +
        'itself, too',
    ])
    expect(prompt({ name: 'x', blockin: true })).toContain(
      'prompt "p": tools.0.blockin: there is no such field; did you mean blocking?',
    )
  })

  it('D1: what is no list is told when the app is loaded, not when the definition is made', () => {
    const told = (tools: unknown): unknown =>
      Reflect.apply(definePrompt, undefined, [{ name: 'p', prompt: '', model: 'spare', tools }])
    for (const wrong of [5, 'time', {}, null])
      expect(mistakes(told(wrong)).join(), JSON.stringify(wrong)).toMatch(
        /^prompt "p": tools: Invalid input: expected array/,
      )
    expect(mistakes(Reflect.apply(defineAgent, undefined, [{ name: 'a' }])).length).toBeGreaterThan(0)
    expect(mistakes(Reflect.apply(definePrompt, undefined, [{ name: 'p' }])).length).toBeGreaterThan(0)
  })

  it('a definition that its file will name is not known by itself', () => {
    const nameless = defineTool({ description: '', args: z.object({}), execute: () => 1 })
    const [said] = mistakes(definePrompt({ name: 'p', prompt: '', model: spare, tools: [nameless] }))
    expect(said).toMatch(
      /^prompt "p": tools\.0: the definition that is named here has no name yet: its file will name it/,
    )
  })
})
