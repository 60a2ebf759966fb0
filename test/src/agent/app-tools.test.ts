/** Tools of an app: their fields together, what they use, what is built in, and what their author should know. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createApp, parametersOf } from '../../../src/agent/app.js'
import type { App, AppOptions } from '../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt, defineProviderTool, defineTool } from '../../../src/agent/define.js'
import type { Definition, ToolDefinition } from '../../../src/agent/define.js'
import { isSkeinError } from '../../../src/core/failure.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { looseTool } from '../../helpers/app.js'

const model = defineModel({ name: 'fast', model: scriptedModel([]) })
const agent = defineAgent({ name: 'team', type: 'ai_human', sideA: { prompt: 'lead' } })

function load(
  definitions: readonly Definition[],
  { tools = [], ...options }: AppOptions & { readonly tools?: readonly string[] } = {},
): App {
  return createApp(
    [model, agent, definePrompt({ name: 'lead', prompt: '', model: 'fast', tools }), ...definitions],
    'app.ts',
    options,
  )
}

function mistakesIn(...definitions: readonly Definition[]): string {
  try {
    load(definitions)
  } catch (thrown) {
    if (isSkeinError(thrown)) return thrown.message
    throw thrown
  }
  return 'none'
}

const tool = (more: Partial<ToolDefinition>): ToolDefinition => looseTool('b', (state) => state.idempotencyKey, more)
const asked = defineTool({
  name: 'b',
  description: '',
  args: z.object({}),
  outputSchema: z.string(),
  onToolCalled: () => null,
})
const manual = defineTool({ name: 'b', description: '', args: z.object({}), execute: false })
const stream = defineTool({
  name: 'b',
  description: '',
  args: z.object({}),
  eventSchema: z.number(),
  async *execute() {
    yield 1
    return 2
  },
})

/** As JavaScript would give it. */
function without(field: keyof ToolDefinition, definition: ToolDefinition): ToolDefinition {
  const { [field]: _, ...rest } = definition
  return { ...definition, ...rest, [field]: undefined }
}

describe('fields together', () => {
  it.each<[string, ToolDefinition]>([
    ['a function', tool({})],
    ['a generator', stream],
    ['a manual tool', { ...manual, onResponseReceived: () => 1 }],
    ['a human tool', { ...asked, onResponseReceived: () => 'x', needsApproval: true }],
    [
      'an effect with everything',
      tool({
        sideEffect: true,
        commutes: true,
        idempotent: false,
        probe: () => null,
        onUnknown: 'ask',
        revert: () => null,
      }),
    ],
    [
      'a tool with everything',
      tool({
        variables: [
          { name: 'API_KEY' },
          { name: '_REGION', type: 'text', required: false, default: 'eu', description: 'where' },
        ],
        needsApproval: () => true,
        approvalPrompt: 'May I?',
        approvalDefaults: { a: [1] },
        approvalDeadline: { afterMs: 5, decision: 'reject' },
        maxExecutionsPerRun: 0,
        cache: { keyFn: () => 'x', ttlMs: 5 },
        retry: { maxRetries: 0, backoffMs: 0, circuitBreakerThreshold: 1, shouldRetry: () => true },
        timeoutMs: 5,
        retention: 'keep',
        toModelOutput: () => 'x',
        cpu: true,
        where: 'worker',
        contextSchema: z.object({}),
        sharedSchema: z.object({}),
        uses: [],
      }),
    ],
    ['no limit', tool({ maxExecutionsPerRun: null, cache: false, needsApproval: false })],
  ])('D4: %s is good', (_, definition) => {
    expect(mistakesIn(definition)).toBe('none')
  })

  it.each<[string, ToolDefinition, RegExp]>([
    ['both bodies', { ...asked, execute: () => 1 }, /both `execute` and `onToolCalled`/],
    ['both bodies, one of them the caller', { ...asked, execute: false }, /both `execute` and `onToolCalled`/],
    [
      'a generator that is not async',
      tool({
        eventSchema: z.number(),
        *execute() {
          yield 1
        },
      }),
      /not async/,
    ],
    ['a generator without eventSchema', without('eventSchema', stream), /`eventSchema` must say what it yields/],
    ['eventSchema without a generator', tool({ eventSchema: z.number() }), /`eventSchema` is for generators/],
    ['a person without outputSchema', without('outputSchema', asked), /`outputSchema` must say what an answer is/],
    [
      'onResponseReceived that nobody answers',
      tool({ onResponseReceived: () => 1 }),
      /`onResponseReceived` is for tools that someone answers/,
    ],
    ['cache of a manual tool', { ...manual, cache: true }, /`cache` is for tools with `execute`/],
    ['cache of a human tool', { ...asked, cache: {} }, /`cache` is for tools with `execute`/],
    ['retry of a manual tool', { ...manual, retry: { maxRetries: 1 } }, /`retry` is for tools with `execute`/],
    ['approval of a manual tool', { ...manual, needsApproval: true }, /`needsApproval` has no meaning/],
    [
      'a body of a tool that the provider runs',
      { ...defineProviderTool({ name: 'look', provider: { id: 'openai.web_search' } }), execute: () => 1 },
      /`execute` has no meaning with `provider`/,
    ],
    [
      'no id of a provider',
      defineProviderTool({ name: 'look', provider: { id: 'search' } }),
      /must be the id of a provider’s tool/,
    ],
    ['an approval prompt for nothing', tool({ approvalPrompt: 'May I?' }), /`approvalPrompt` needs `needsApproval`/],
  ])('D3: %s', (_, definition, says) => {
    expect(mistakesIn(definition)).toMatch(says)
  })

  it.each<[string, Partial<ToolDefinition>]>([
    ['commutes', { commutes: true }],
    ['idempotent: false', { idempotent: false }],
    ['probe', { probe: () => null }],
    ['onUnknown', { onUnknown: 'retry' }],
    ['revert', { revert: () => null, sideEffect: false }],
  ])('D4: %s without a side effect', (word, more) => {
    expect(mistakesIn(tool(more))).toBe(
      `app.ts has a mistake:\n- tool "b": \`${word}\` speaks of a side effect: say \`sideEffect: true\`, or leave ` +
        `it out`,
    )
    expect(
      mistakesIn(
        looseTool('pay', ({ idempotencyKey }) => idempotencyKey, { sideEffect: true }),
        tool({ ...more, uses: ['pay'] }),
      ),
    ).toBe('none')
  })

  it.each<[string, object, RegExp]>([
    [
      'approvalDeadline without a decision',
      { needsApproval: true, approvalDeadline: { afterMs: 5 } },
      /approvalDeadline\.decision/,
    ],
    [
      'approvalDeadline of no time',
      { needsApproval: true, approvalDeadline: { afterMs: 0, decision: 'approve' } },
      /approvalDeadline\.afterMs/,
    ],
    ['retries below nothing', { retry: { maxRetries: -1 } }, /retry\.maxRetries/],
    ['half a retry', { retry: { maxRetries: 1.5 } }, /retry\.maxRetries/],
    ['a wait below nothing', { retry: { maxRetries: 1, backoffMs: -5 } }, /retry\.backoffMs/],
    [
      'a breaker that is always open',
      { retry: { maxRetries: 1, circuitBreakerThreshold: 0 } },
      /retry\.circuitBreakerThreshold/,
    ],
    ['fewer than no executions', { maxExecutionsPerRun: -1 }, /maxExecutionsPerRun/],
    [
      'a variable in small letters',
      { variables: [{ name: 'apiKey' }] },
      /variables\.0\.name: a variable is written in capitals/,
    ],
    [
      'a variable twice',
      { variables: [{ name: 'A' }, { name: 'A', type: 'text' }] },
      /variables: a variable is named twice/,
    ],
    ['parameters that are no JSON', { parameters: { type: () => 1 } }, /parameters/],
    ['a schema that is none', { contextSchema: { last: 'number' } }, /contextSchema: must be a zod 4 schema/],
    ['a policy that is none', { onUnknown: 'hope', sideEffect: true }, /onUnknown/],
    ['a key that is none', { cache: { key: () => 'x' } }, /cache\.key: there is no such field; did you mean keyFn\?/],
    ['a cache that is none', { cache: 5 }, /cache: must be true, false or/],
  ])('D4: %s', (_, more, says) => {
    const mistakes = mistakesIn({ ...tool({}), ...more })
    expect(mistakes).toMatch(says)
    expect(mistakes).toMatch(/^app\.ts has a mistake:\n- tool "b": /)
  })
})

describe('what tools use', () => {
  it('D4: uses names tools that are there', () => {
    expect(mistakesIn(tool({ uses: ['gone'] }))).toMatch(/tool "b" uses the tool "gone"; there are: b/)
    expect(
      mistakesIn(
        tool({ uses: ['c'] }),
        looseTool('c', () => 1),
      ),
    ).toBe('none')
  })

  it.each<[string, readonly (readonly [string, readonly string[]])[], string]>([
    ['itself', [['a', ['a']]], 'tool "a" uses itself: a → a'],
    [
      'itself by a detour',
      [
        ['x', ['a']],
        ['a', ['b', 'c']],
        ['b', []],
        ['c', ['a']],
      ],
      'tool "a" uses itself: a → c → a',
    ],
  ])('D4: a tool that uses %s', (_, graph, says) => {
    expect(mistakesIn(...graph.map(([name, uses]) => looseTool(name, () => 1, { uses })))).toBe(
      `app.ts has a mistake:\n- ${says}`,
    )
  })

  it('D4: two ways to one tool are no circle', () => {
    expect(
      mistakesIn(
        looseTool('a', () => 1, { uses: ['b', 'c'] }),
        looseTool('b', () => 1, { uses: ['d'] }),
        looseTool('c', () => 1, { uses: ['d'] }),
        looseTool('d', () => 1),
      ),
    ).toBe('none')
  })
})

describe('built in', () => {
  const builtins = [
    looseTool('read', () => 'built in'),
    looseTool('write', () => 1),
    looseTool('edit', () => 1, { uses: ['read'] }),
    looseTool('get_tool_response', () => 1),
  ]

  it('those that a prompt or a tool names, and what they use', () => {
    const named = (app: App): readonly string[] =>
      [...app.tools.keys()].filter((name) => name !== 'get_tool_response').sort()
    expect(named(load([], { builtins }))).toEqual([])
    expect(named(load([], { builtins, tools: ['write'] }))).toEqual(['write'])
    expect(named(load([tool({ uses: ['edit'] })], { builtins }))).toEqual(['b', 'edit', 'read'])
    expect(parametersOf(load([], { builtins, tools: ['write'] }), 'write')).toMatchObject({ type: 'object' })
  })

  it("the app's own wins", () => {
    const own = looseTool('read', () => 'own')
    expect(load([own], { builtins, tools: ['read'] }).tools.get('read')).toBe(own)
  })

  it('a name that nobody has is told with those there are', () => {
    expect(() => load([], { builtins, tools: ['raed'] })).toThrow(
      /names the tool "raed"; did you mean "read"\? there are: read, write, edit, manage_todo_list, ask_user_question, attach_files$/,
    )
    expect(() => load([], { tools: ['read'] })).toThrow(expect.objectContaining({ code: 'UNKNOWN_TOOL' }))
  })

  it('those of the runtime are always there', () => {
    expect([...load([], { builtins }).tools.keys()]).toEqual(['get_tool_response'])
  })

  it('D1: a prompt names tools of the runtime; nobody defines them', () => {
    expect(() => load([], { tools: ['manage_todo_list', 'ask_user_question'] })).not.toThrow()
    expect(() => load([], { builtins, tools: ['get_tool_response'] })).toThrow(/names the tool "get_tool_response"/)
    expect(mistakesIn(looseTool('ask_user_question', () => 1))).toMatch(/belongs to Skein/)
  })
})

describe('what models are told', () => {
  it('parameters of a foreign tool as they are', () => {
    const parameters = { type: 'object', properties: { when: { type: 'string', format: 'date-time' } } }
    expect(load([tool({ args: z.object({ when: z.date() }), parameters })]).parameters.get('b')).toBe(parameters)
    expect(mistakesIn(tool({ parameters: { type: 'array' } }))).toMatch(/its args must be an object/)
  })

  it('the form of an answer', () => {
    const report = definePrompt({
      name: 'report',
      prompt: '',
      model: 'fast',
      outputSchema: z.object({ at: z.string().transform(Number) }),
    })
    expect(load([report]).prompts.get('report')).toBe(report)
    expect(mistakesIn({ ...report, outputSchema: z.object({ at: z.date() }) })).toMatch(
      /prompt "report": its outputSchema cannot be told/,
    )
  })

  it('a prompt chooses among its own tools', () => {
    expect(
      mistakesIn(definePrompt({ name: 'p', prompt: '', model: 'fast', tools: [], toolChoice: { tool: 'look' } })),
    ).toMatch(/toolChoice "look", which is not among its tools: none/)
  })
})

describe('warnings', () => {
  it('T10: a side effect whose body ignores the key', () => {
    expect(load([tool({ sideEffect: true })]).warnings).toEqual([])
    const [warning, ...more] = load([looseTool('pay', () => 'paid', { sideEffect: true })]).warnings
    expect(warning).toMatch(/^app\.ts: tool "pay" has a side effect and never looks at state\.idempotencyKey/)
    expect(more).toEqual([])
  })

  it('T10: a tool that says it has no side effect, and uses one that has', () => {
    const pay = looseTool('pay', ({ idempotencyKey }) => idempotencyKey, { sideEffect: true })
    expect(load([pay, tool({ sideEffect: false, uses: ['pay'] })]).warnings).toEqual([
      'app.ts: tool "b" says sideEffect: false and uses tools that have one (pay): it counts as one that has',
    ])
  })

  it('each names its file where that is known', () => {
    const pay = looseTool('pay', () => 'paid', { sideEffect: true })
    const files = new Map<Definition, string>([[pay, 'tools/pay.ts']])
    expect(load([pay], { files, warnings: ['hooks/: left out'] }).warnings).toEqual([
      'hooks/: left out',
      expect.stringMatching(/^tools\/pay\.ts: tool "pay"/),
    ])
    expect(() => load([{ ...pay, timeoutMs: 0 }, pay, pay], { files })).toThrow(
      /- tool "pay": timeoutMs.*\n- tools\/pay\.ts: there are two definitions of tool "pay"$/s,
    )
  })
})

describe('servers of tools', () => {
  it('are no tools themselves, and have names of their own', () => {
    const server = { kind: 'mcp', name: 'files', command: 'x' } as const
    expect([...load([server]).tools.keys()]).toEqual([])
    expect(mistakesIn(server, server)).toMatch(/two definitions of mcp "files"/)
  })
})
