/** What the names among a prompt's tools may be: tools, prompts, and agents that take over or answer as children. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../src/agent/app.js'
import { callablesOf } from '../../../src/agent/callable.js'
import { defineAgent, defineModel, definePrompt } from '../../../src/agent/define.js'
import type { Definition, Prompt } from '../../../src/agent/define.js'
import { isSkeinError } from '../../../src/core/failure.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { ownTools } from '../../../src/tools/own/all.js'
import { looseTool } from '../../helpers/app.js'

const model = defineModel({ name: 'fast', model: scriptedModel([]) })
const look = looseTool('look', () => 'found')
const lead = (tools: Prompt['tools']) =>
  definePrompt({ name: 'lead', prompt: 'You lead.', model: 'fast', ...(tools && { tools }) })
const sum = definePrompt({
  name: 'sum_up',
  prompt: 'x',
  model: 'fast',
  exposeAsTool: true,
  requiredSchema: z.object({ text: z.string() }),
})
const short = definePrompt({ name: 'short', prompt: 'x', model: 'fast', exposeAsTool: true })
const hidden = definePrompt({ name: 'hidden', prompt: 'x', model: 'fast' })
const expert = defineAgent({ name: 'expert', type: 'ai_human', sideA: { prompt: 'hidden' }, exposeAsTool: true })
const shy = defineAgent({ name: 'shy', type: 'ai_human', sideA: { prompt: 'hidden' } })

function mistakesIn(definitions: readonly Definition[]): unknown {
  try {
    createApp(definitions, 'app.ts', { builtins: ownTools })
    return []
  } catch (thrown) {
    if (isSkeinError(thrown)) return thrown.data?.['mistakes']
    throw thrown
  }
}

const mistakesOf = (...tools: NonNullable<Prompt['tools']>): unknown =>
  mistakesIn([model, look, sum, short, hidden, expert, shy, lead(tools)])

describe('what may be called', () => {
  it('D3: a prompt tool and an agent tool are known by what their name means', () => {
    const prompt = lead(['look', 'read', 'expert', 'sum_up', { name: 'short', includeErrors: true }])
    const app = createApp([model, look, sum, short, hidden, expert, prompt], 'app.ts', { builtins: ownTools })
    expect(callablesOf(app, prompt)).toEqual({
      tools: ['look', 'read'],
      handoffs: [expert],
      subagents: [],
      subprompts: [{ name: 'sum_up' }, { name: 'short', includeErrors: true }],
    })
    expect(callablesOf(app, lead([{ name: 'expert' }]))).toEqual({
      tools: [],
      handoffs: [],
      subagents: [{ name: 'expert' }],
      subprompts: [],
    })
    expect(app.tools.has('read')).toBe(true)
  })

  it.each<[string, NonNullable<Prompt['tools']>, string]>([
    [
      'a prompt that is not exposed',
      ['hidden'],
      'prompt "lead" names the prompt "hidden" among its tools, which does not say exposeAsTool: true',
    ],
    [
      'an agent that is not exposed',
      ['shy'],
      'prompt "lead" names the agent "shy" among its tools, which does not say exposeAsTool: true',
    ],
    [
      'the same with a config',
      [{ name: 'hidden' }],
      'prompt "lead" names the prompt "hidden", which does not say exposeAsTool: true',
    ],
    [
      'a config of nobody',
      [{ name: 'gone' }],
      'prompt "lead" names the agent "gone"; there are: sum_up, short, expert',
    ],
    [
      'fields of an agent',
      [{ name: 'sum_up', blocking: false, files: 'fork' }],
      'prompt "lead" gives blocking, files to "sum_up", which is a prompt',
    ],
    [
      'fields of a prompt',
      [{ name: 'expert', includeErrors: true }],
      'prompt "lead" gives includeErrors to "expert", which is an agent',
    ],
    ['a name twice', ['sum_up', { name: 'sum_up' }], 'prompt "lead" names "sum_up" twice among its tools'],
    [
      'a property that is none',
      [{ name: 'sum_up', initUserMessageProperty: 'txt' }],
      'prompt "lead" has the initUserMessageProperty "txt" of "sum_up", which takes: text',
    ],
    [
      'a property where there are none',
      [{ name: 'short', initAttachmentsProperty: 'files' }],
      'prompt "lead" has the initAttachmentsProperty "files" of "short", which takes: message, attachments',
    ],
  ])('D1: %s among the tools of a prompt', (_, tools, says) => {
    expect(mistakesOf(...tools)).toEqual([says])
  })

  it('D1: a name that is nothing is told all that could be meant', () => {
    expect(mistakesOf('gone')).toEqual([
      expect.stringMatching(/names the tool "gone"; there are: look, .*sum_up, short, expert$/),
    ])
  })

  it('D1: what may be called shares its name with nothing else that may be', () => {
    const says = (kind: string, other: string): string =>
      `${kind} says exposeAsTool: true, and ${other} that may be called has this name too; rename one of them`
    expect(mistakesIn([model, look, definePrompt({ ...sum, name: 'look' })])).toEqual([says('prompt "look"', 'a tool')])
    expect(mistakesIn([model, definePrompt({ ...sum, name: 'read' })])).toEqual([
      says('prompt "read"', 'a built-in tool'),
    ])
    expect(mistakesIn([model, hidden, sum, defineAgent({ ...expert, name: 'sum_up' })])).toEqual([
      says('agent "sum_up"', 'a prompt'),
    ])
    expect(mistakesIn([model, hidden, defineAgent({ ...expert, name: 'hidden' })])).toEqual([])
  })

  it('D1: a toolChoice may be a prompt or an agent among its tools', () => {
    expect(
      mistakesIn([
        model,
        sum,
        definePrompt({ name: 'lead', prompt: 'x', model: 'fast', tools: ['sum_up'], toolChoice: { tool: 'sum_up' } }),
      ]),
    ).toEqual([])
  })
})
