/** An app is checked as a whole before anything runs. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { isSkeinError } from '../../../src/core/failure.js'
import type { SkeinError } from '../../../src/core/failure.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { looseTool } from '../../helpers/app.js'

const model = defineModel({ name: 'fast', model: scriptedModel([]) })
const prompt = definePrompt({ name: 'lead', prompt: 'You lead.', model: 'fast', tools: ['look'] })
const agent = defineAgent({ name: 'team', type: 'ai_human', sideA: { prompt: 'lead' } })
const look = looseTool('look', () => 'found')
const good: readonly Definition[] = [model, prompt, agent, look]

function mistakeIn(definitions: readonly unknown[]): SkeinError {
  try {
    createApp(definitions as readonly Definition[], 'app.ts')
  } catch (thrown) {
    if (isSkeinError(thrown)) return thrown
    throw thrown
  }
  throw new Error('no mistake was found')
}

function mistakesIn(definitions: readonly unknown[]): unknown {
  return mistakeIn(definitions).data?.['mistakes']
}

describe('a good app', () => {
  it('D1: definitions are found by kind and name, and nothing ran', () => {
    const app = createApp(good, 'app.ts')
    expect([...app.agents.keys(), ...app.prompts.keys(), ...app.models.keys(), ...app.tools.keys()]).toEqual([
      'team',
      'lead',
      'fast',
      'look',
    ])
  })

  it('D1: two kinds may share a name', () => {
    expect(() => createApp([...good, looseTool('team', () => 1)], 'app.ts')).not.toThrow()
  })

  it('T1: the model is told the args as JSON Schema, as they are sent', () => {
    const tool = defineTool({
      name: 'look',
      description: '',
      args: z.object({ n: z.string().transform(Number), unit: z.string().default('ms') }),
      execute: () => 1,
    })
    expect(createApp([model, prompt, agent, tool], 'app.ts').parameters.get('look')).toEqual({
      type: 'object',
      properties: { n: { type: 'string' }, unit: { default: 'ms', type: 'string' } },
      required: ['n'],
    })
  })
})

describe('mistakes', () => {
  it('D1: a name twice within a kind', () => {
    expect(mistakeIn([...good, look])).toMatchObject({
      code: 'DUPLICATE_NAME',
      message: 'app.ts has a mistake:\n- there are two definitions of tool "look"',
    })
  })

  it.each([
    'subagent_create',
    'subagent_message',
    'subagent_list',
    'manage_todo_list',
    'get_tool_response',
    'response',
    'ask_user_question',
    'shared',
  ])('D1: the reserved name %s, with the file', (name) => {
    const mistake = mistakeIn([...good, looseTool(name, () => 1)])
    expect(mistake.code).toBe('RESERVED_NAME')
    expect(mistake.message).toContain('app.ts')
    expect(mistake.message).toContain(name)
  })

  it.each([
    ['prompt', 'UNKNOWN_PROMPT', [model, agent, look]],
    ['model', 'UNKNOWN_MODEL', [prompt, agent, look]],
    ['tool', 'UNKNOWN_TOOL', [model, prompt, agent]],
    [
      'fallback',
      'UNKNOWN_MODEL',
      [...good, defineModel({ name: 'slow', model: scriptedModel([]), fallback: ['gone'] })],
    ],
  ])('D1: a %s that is named and not there', (_, code, definitions) => {
    const mistake = mistakeIn(definitions)
    expect(mistake.code).toBe(code)
    expect(mistake.message).toMatch(/there are: /)
  })

  it('D1: a short name that begins one that exists is suggested, too; of one letter none', () => {
    const tools = [looseTool('add', () => 1), looseTool('b', () => 1)]
    const naming = (name: string) => mistakeIn([model, agent, ...tools, { ...prompt, tools: [name] }]).message
    expect(naming('ad')).toContain('names the tool "ad"; did you mean "add"? there are: add, b')
    expect(naming('a')).toContain('names the tool "a"; there are: add, b')
    expect(naming('xd')).toContain('names the tool "xd"; there are: add, b')
  })

  it('D1: an object without a kind is told to be wrapped; an agent without its side hears what is missing', () => {
    expect(mistakeIn([...good, Object({ name: 'q' })]).message).toBe(
      'app.ts has a mistake:\n- "q" has no kind: wrap it in defineTool, definePrompt, defineAgent or what else it is',
    )
    expect(mistakeIn([...good, Object({ kind: 'agent', name: 'lone', type: 'ai_human' })]).message).toBe(
      'app.ts has a mistake:\n- agent "lone": sideA: is missing; it must be an object',
    )
  })

  it.each([
    ['z.date()', z.object({ when: z.date() })],
    ['z.bigint()', z.object({ big: z.bigint() })],
  ])('D1: args that no JSON can carry (%s) name their tool', (_, args) => {
    const mistake = mistakeIn([...good, looseTool('plan', () => 1, { args })])
    expect(mistake).toMatchObject({ code: 'BAD_OPTION' })
    expect(mistake.message).toMatch(/tool "plan": its args cannot be told to a model/)
  })

  it.each([
    ['a bad name', looseTool('1 bad', () => 1), /name: a name is a letter/],
    ['args that are no schema', { ...look, name: 'b', args: { query: 'string' } }, /args: must be a zod 4 schema/],
    ['args that are no object', { ...look, name: 'b', args: z.string() }, /its args must be an object/],
    ['no body', { ...look, name: 'b', execute: undefined }, /it needs `execute`/],
    ['a body that is none', { ...look, name: 'b', execute: 'look' }, /execute: must be a function/],
    [
      'a word that is not one',
      { ...look, name: 'b', timeout: 5 },
      /timeout: there is no such field; did you mean timeoutMs\?/,
    ],
    [
      'a word that is not one, deeper',
      { ...look, name: 'b', retry: { maxRetries: 1, backoff: 5 } },
      /retry\.backoff: there is no such field; did you mean backoffMs\?/,
    ],
    ['a word that is like no other', { ...look, name: 'b', colour: 5 }, /colour: there is no such field$/],
    ['no name where no file gives one', { ...look, name: '' }, /name: it has none; only the file/],
    ['a time of nothing', looseTool('b', () => 1, { timeoutMs: 0 }), /timeoutMs/],
    [
      'steps of nothing',
      defineAgent({ name: 'b', type: 'ai_human', sideA: { prompt: 'lead', maxSteps: 0 } }),
      /sideA\.maxSteps/,
    ],
    [
      'a requiredSchema that is none',
      { ...prompt, name: 'b', requiredSchema: { city: 'string' } },
      /requiredSchema: must be a zod 4 schema/,
    ],
    [
      'a requiredSchema that is no object',
      definePrompt({ ...prompt, name: 'b', requiredSchema: z.string() }),
      /prompt "b": its requiredSchema must be an object/,
    ],
    [
      'a requiredSchema that no JSON can carry',
      definePrompt({ ...prompt, name: 'b', requiredSchema: z.object({ at: z.date() }) }),
      /its requiredSchema cannot be told to a model/,
    ],
    ['a kind that is not one', { kind: 'widget', name: 'b' }, /kind/],
    ['no name', { kind: 'tool' }, /name/],
  ])('D1: %s', (_, definition, says) => {
    const mistake = mistakeIn([...good, definition])
    expect(mistake.code).toBe('BAD_OPTION')
    expect(mistake.message).toMatch(says)
  })

  it.each([[null], [undefined], ['tool'], [5], [[]], [() => 1]])(
    'D1: %s among the definitions is a mistake, not a crash',
    (junk) => {
      expect(mistakeIn([...good, junk])).toMatchObject({ code: 'BAD_OPTION' })
    },
  )

  it('all of them at once, each with its own line', () => {
    const mistake = mistakeIn([model, agent, look, look, looseTool('response', () => 1), looseTool('1', () => 1)])
    expect(mistake.message).toMatch(/^app\.ts has 4 mistakes:/)
    expect(mistake.data).toMatchObject({ source: 'app.ts' })
    expect(mistake.data?.['mistakes']).toHaveLength(4)
  })

  it('a definition with a mistake hides none of its others: names that are not there, a name twice, a form that no model can be told', () => {
    const bad = {
      ...prompt,
      promt: '',
      model: 'gone',
      tools: ['nothing'],
      toolChoice: { tool: 'else' },
      outputSchema: z.date(),
    }
    expect(
      mistakesIn([
        agent,
        bad,
        { ...model, fallback: ['lost'], retries: 1 },
        { ...look, uses: ['hidden'], timeout: 5, args: z.string() },
        look,
      ]),
    ).toEqual([
      'prompt "lead": promt: there is no such field; did you mean prompt?',
      expect.stringContaining('prompt "lead": its outputSchema cannot be told to a model as JSON Schema'),
      'model "fast": retries: there is no such field; did you mean maxRetries?',
      'tool "look": timeout: there is no such field; did you mean timeoutMs?',
      'tool "look": its args must be an object (z.object({ … })), not "string"',
      'there are two definitions of tool "look"',
      'prompt "lead" names the model "gone"; there are: fast',
      expect.stringContaining('prompt "lead" names the tool "nothing"; there are: look'),
      'prompt "lead" has the toolChoice "else", which is not among its tools: nothing',
      'model "fast" falls back to "lost"; there are: fast',
      expect.stringContaining('tool "look" uses the tool "hidden"; there are: look'),
    ])
  })

  it('what only follows from a mistake is none: a definition that is wrong is there', () => {
    const wrong = [
      { ...model, retries: 1 },
      { ...prompt, promt: '' },
      { ...agent, sideb: {} },
      { ...look, sideEffect: 'yes' },
    ]
    expect(
      mistakesIn([...wrong, looseTool('b', () => 1, { uses: ['look'], commutes: true, sideEffect: false })]),
    ).toHaveLength(wrong.length)
    expect(mistakesIn([model, agent, look, { ...prompt, tools: ['look', 5], toolChoice: { tool: 'look' } }])).toEqual([
      expect.stringMatching(/^prompt "lead": tools\.1: /),
    ])
  })

  it('a tool that uses one that is not there is not told what it would have by it', () => {
    expect(mistakesIn([...good, looseTool('b', () => 1, { uses: ['gone'], commutes: true })])).toEqual([
      expect.stringContaining('tool "b" uses the tool "gone"'),
    ])
  })

  it('a circle through a tool that is wrong is one', () => {
    expect(
      mistakesIn([
        ...good,
        { ...looseTool('a', () => 1, { uses: ['b'] }), timeout: 5 },
        looseTool('b', () => 1, { uses: ['a'] }),
      ]),
    ).toEqual([expect.stringContaining('timeout'), 'tool "a" uses itself: a → b → a'])
  })

  it.each([
    ['a tool', { name: 'b', description: '', args: z.object({}), execute: () => 1 }, 'defineTool'],
    ['a tool that a person answers', { description: '', args: z.object({}), onToolCalled: () => null }, 'defineTool'],
    ['a prompt', { name: 'b', prompt: 'You.', model: 'fast' }, 'definePrompt'],
    ['an agent', { name: 'b', type: 'ai_human', sideA: { prompt: 'lead' } }, 'defineAgent'],
  ])('DE1: %s without a kind is told what makes it one', (what, plain, wrap) => {
    expect(mistakesIn([...good, plain])).toEqual([
      expect.stringContaining(`looks like ${what.split(' that')[0]}: wrap it in ${wrap}`),
    ])
  })
})
