/** Prompts as tools: one request in a thread of its own. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt, SubpromptTool, ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

interface Asked {
  readonly asks: readonly (string | { readonly tool: string; readonly args: unknown })[]
  readonly sums: Script
  readonly config?: Omit<SubpromptTool, 'name'>
  readonly prompt?: Partial<Prompt>
  readonly tools?: readonly ToolDefinition[]
}

/** A lead that has something summed up. */
function app({ asks, sums, config, prompt = {}, tools = [] }: Asked): {
  readonly app: readonly Definition[]
  readonly lead: ScriptedModel
  readonly sum: ScriptedModel
} {
  const lead = scriptedModel(({ step, messages }) =>
    step === 0 ? calls(...asks) : `got ${results(messages).join(' | ')}`,
  )
  const sum = scriptedModel(sums)
  return {
    lead,
    sum,
    app: [
      ...tools,
      defineModel({ name: 'lead_m', model: lead }),
      defineModel({ name: 'sum_m', model: sum }),
      definePrompt({
        name: 'lead_p',
        prompt: 'You lead.',
        model: 'lead_m',
        tools: [config ? { name: 'sum_up', ...config } : 'sum_up'],
      }),
      definePrompt({
        name: 'sum_up',
        prompt: 'You sum up.',
        model: 'sum_m',
        exposeAsTool: true,
        toolDescription: 'Sums up',
        tools: tools.map(({ name }) => name),
        ...prompt,
      }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ],
  }
}

const say = (message: string) => ({ tool: 'sum_up', args: { message } })
const look = looseTool('look', (_, { at }) => {
  if (at === 'dark') throw new Error('it is dark')
  return `saw ${String(at)}`
})

onEveryStore('a prompt as a tool', (world) => {
  const ask = async (given: Asked) => {
    const { app: definitions, lead, sum } = app(given)
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const text = await thread.send('go').text()
    return { skein, thread, lead, sum, text, texts: results(await thread.messages()) }
  }

  it('S10: one request with its own prompt and model; what it says is the result, and nothing else enters the context', async () => {
    const { skein, lead, sum, text } = await ask({
      asks: [say('a'), say('b')],
      sums: ({ messages }) => `short ${messages.at(-1)?.text}`,
    })
    expect(text).toBe('got short a | short b')
    expect(sum.requests).toHaveLength(2)
    expect(sum.requests[0]).toMatchObject({ system: 'You sum up.', messages: [{ role: 'user', text: 'a' }], tools: [] })
    expect(lead.requests[0]?.tools).toMatchObject([
      { name: 'sum_up', description: 'Sums up', parameters: { required: ['message'] } },
    ])
    expect(lead.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool'])
    const { threads } = await skein.threads.list({ parent: 'lead' })
    expect(threads.map(({ agent, status }) => [agent, status])).toEqual([
      ['prompt:sum_up', 'done'],
      ['prompt:sum_up', 'done'],
    ])
    expect(skein.agents).toEqual(['lead'])
  })

  it('S10: its tools run, and there is no loop; the text is the result unless more is asked for', async () => {
    const sums = () => ({
      text: 'looking',
      calls: [
        { tool: 'look', args: { at: 'it' } },
        { tool: 'look', args: { at: 'dark' } },
      ],
    })
    const { sum, texts } = await ask({ asks: [say('x')], sums, tools: [look] })
    expect(texts).toEqual(['looking'])
    expect(sum.requests).toHaveLength(1)
  })

  it.each<[Omit<SubpromptTool, 'name'>, unknown]>([
    [
      { includeToolCalls: true },
      { text: 'looking', toolCalls: [{ tool: 'look', args: { at: 'it' }, result: 'saw it' }] },
    ],
    [
      { includeErrors: true, includeTextResponse: false },
      { errors: [{ tool: 'look', args: { at: 'dark' }, error: 'Error TOOL_THREW: it is dark' }] },
    ],
    [{ includeTextResponse: false }, {}],
  ])('S10: %j', async (config, expected) => {
    const sums = () => ({
      text: 'looking',
      calls: [
        { tool: 'look', args: { at: 'it' } },
        { tool: 'look', args: { at: 'dark' } },
      ],
    })
    const { texts } = await ask({ asks: [say('x')], sums, tools: [look], config })
    expect(JSON.parse(texts[0] ?? '')).toEqual(expected)
  })

  it('S10: what its tools queue is done too, and counts among the calls', async () => {
    const queue = looseTool(
      'queue',
      (state) => {
        state.queueTool('look', { at: 'later' })
        return 'queued'
      },
      {
        uses: ['look'],
      },
    )
    const { sum, texts } = await ask({
      asks: [say('x')],
      sums: () => calls('queue'),
      tools: [queue, look],
      config: { includeToolCalls: true },
    })
    expect(JSON.parse(texts[0] ?? '')).toMatchObject({
      toolCalls: [
        { tool: 'queue', result: 'queued' },
        { tool: 'look', result: 'saw later' },
      ],
    })
    expect(sum.requests).toHaveLength(1)
  })

  it('S10: requiredSchema is what it takes; the message is one of its args, and no other is lost', async () => {
    const prompt = {
      requiredSchema: z.object({ text: z.string(), to: z.string().default('en'), files: z.string().optional() }),
    }
    const args = { text: 'Hallo' }
    const whole = await ask({
      asks: [
        { tool: 'sum_up', args },
        { tool: 'sum_up', args: {} },
      ],
      sums: ({ messages }) => messages.at(-1)?.text ?? '',
      prompt,
    })
    expect(whole.texts).toEqual(['{"text":"Hallo","to":"en"}', expect.stringMatching(/TOOL_INPUT_INVALID.*text/)])
    await world.close(whole.skein)
    const skein = await world.open(
      app({
        asks: [{ tool: 'sum_up', args }],
        sums: ({ messages }) => messages.at(-1)?.text ?? '',
        prompt,
        config: { initUserMessageProperty: 'text' },
      }).app,
    )
    expect(await (await skein.threads.create({ agent: 'lead', id: 'other' })).send('go').text()).toBe(
      'got Hallo\n\n{"to":"en"}',
    )
  })

  it('S10: initAttachmentsProperty: files of the caller go with it; what is not there is told, and nothing is sent', async () => {
    const prompt = { requiredSchema: z.object({ what: z.string(), pages: z.array(z.string()) }) }
    const config = { initUserMessageProperty: 'what', initAttachmentsProperty: 'pages' }
    const read = looseTool('see', async ({ files }) => files.readFile('/attachments/a.txt', 'utf8'))
    const of = (...pages: string[]) => ({ tool: 'sum_up', args: { what: 'these', pages } })
    const { app: definitions, sum } = app({
      asks: [of('/a.txt'), of('/gone.txt'), of('a.txt')],
      sums: () => calls('see'),
      prompt,
      config: { ...config, includeToolCalls: true },
      tools: [read],
    })
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/a.txt': 'page one' } })
    await thread.send('go').text()
    const [first, ...rest] = results(await thread.messages())
    expect(JSON.parse(first ?? '')).toMatchObject({ toolCalls: [{ result: 'page one' }] })
    expect(rest).toEqual([
      expect.stringContaining('there is no file "/gone.txt"'),
      expect.stringMatching(/TOOL_INPUT_INVALID.*pages/),
    ])
    expect(sum.requests.map(({ messages }) => messages[0]?.text)).toEqual(['these\n\n[attached: /attachments/a.txt]'])
  })

  it('S10: outputSchema: the output is the result; a request that gives none has failed', async () => {
    const prompt = { outputSchema: z.object({ mood: z.enum(['good', 'bad']) }) }
    const moods: unknown[] = [{ mood: 'good' }, { mood: 'so so' }]
    const sums: Script = ({ messages }) =>
      messages[0]?.text === 'talk'
        ? 'I would rather talk'
        : calls({ tool: 'response', args: moods[Number(messages[0]?.text)] })
    const { texts, sum } = await ask({ asks: [say('0'), say('1'), say('talk')], sums, prompt })
    expect(texts).toEqual([
      '{"mood":"good"}',
      expect.stringMatching(/CHILD_FAILED: it gave no answer in the form that was asked for: .*mood/),
      expect.stringMatching(/CHILD_FAILED.*it said: I would rather talk/),
    ])
    expect(sum.requests).toHaveLength(3)
  })

  it('S10: a request that fails is an error result; one that says nothing is an empty one', async () => {
    const { texts } = await ask({
      asks: [say('bad'), say('empty')],
      sums: ({ messages }) => (messages[0]?.text === 'bad' ? { error: 'the provider refused' } : ''),
    })
    expect(texts).toEqual([
      expect.stringMatching(/CHILD_FAILED: it did not finish: failed \(.*the provider refused/),
      '',
    ])
  })

  it('S10: it is a child: an approval of its tool is in the inbox of the tree, a cancel ends it, what is said to it changes nothing', async () => {
    const risky = looseTool('risky', () => 'did it', { needsApproval: true })
    const { app: definitions, sum } = app({
      asks: [say('x')],
      sums: () => ({ text: 'asked', ...Object(calls('risky')) }),
      tools: [risky],
      config: { includeToolCalls: true },
    })
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until('the approval', async () => (await skein.inbox.list({ root: 'lead' })).length === 1)
    const [item] = await skein.inbox.list({ root: 'lead' })
    const child = await skein.threads.get(item?.thread ?? '')
    await child.send('hurry').accepted()
    await skein.inbox.approve(item?.id ?? '')
    expect(await run.text()).toBe('got {"text":"asked","toolCalls":[{"tool":"risky","args":{},"result":"did it"}]}')
    expect(sum.requests).toHaveLength(1)
    expect(await child.status()).toBe('done')
    void thread.send('again').result()
    await until('the next', async () => (await skein.inbox.list({ root: 'lead' })).length === 1)
    await thread.cancel()
    await until(
      'it to be gone',
      async () => (await skein.threads.list({ parent: 'lead', status: 'terminated' })).threads.length === 1,
    )
  })

  it('S10: many work beside each other, also where another call stands between them', async () => {
    const gates = ['a', 'b'].map(() => deferred())
    const { app: definitions } = app({
      asks: [say('0'), 'nowhere', say('1')],
      sums: async ({ messages }) => {
        await gates[Number(messages[0]?.text)]?.promise
        return `${messages[0]?.text}`
      },
    })
    const skein = await world.open(definitions)
    const run = (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go')
    await until(
      'both',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 2,
    )
    gates.toReversed().forEach(({ resolve }) => resolve())
    expect(await run.text()).toMatch(/^got 0 \| Error UNKNOWN_TOOL: .*the tools are: sum_up \| 1$/)
  })

  it('S10, P3: one that is gone when its turn comes is an error result, and the caller goes on', async () => {
    const gate = deferred()
    const make = (gone: boolean): readonly Definition[] => {
      const { app: definitions } = app({
        asks: [{ tool: 'writer', args: { message: 'x' } }, say('y')],
        sums: () => 'never',
      })
      const tools = gone ? [{ name: 'writer' }] : [{ name: 'writer' }, 'sum_up']
      return [
        ...definitions.filter(({ name }) => name !== 'lead_p' && !(gone && name === 'sum_up')),
        definePrompt({ name: 'lead_p', prompt: 'You lead.', model: 'lead_m', tools }),
        defineModel({
          name: 'writer_m',
          model: scriptedModel(async () => {
            await gate.promise
            return 'wrote'
          }),
        }),
        definePrompt({ name: 'writer_p', prompt: 'x', model: 'writer_m' }),
        defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
      ]
    }
    const skein = await world.open(make(false), { limits: { maxParallelChildren: 1 } })
    await (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go', { id: 'm' }).accepted()
    await until(
      'the first',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 1,
    )
    const closed = world.close(skein)
    world.clock.advance(60_000)
    await closed
    gate.resolve()
    const later = await world.open(make(true), { limits: { maxParallelChildren: 1 } })
    expect(await (await later.threads.get('lead')).run('m').text()).toBe(
      'got wrote | Error CHILD_FAILED: it did not take this: the app has no agent "prompt:sum_up"; it has: lead, ' +
        'writer',
    )
  })

  it('S10, F2: it sees the env of the agent that calls it, behind what the thread has; a secret of it is masked there too', async () => {
    const secret = 'sk-of-the-agent-1234'
    const region = looseTool(
      'region',
      async (state) => `${await state.env('REGION')} ${await state.env('TOKEN')} ${await state.env('OWN')}`,
      { variables: [{ name: 'REGION', type: 'text' }, { name: 'TOKEN' }, { name: 'OWN', type: 'text' }] },
    )
    const { app: definitions, sum } = app({
      asks: [say('a')],
      sums: ({ messages }) => (messages.length === 1 ? calls('region') : 'never'),
      config: { includeToolCalls: true, includeTextResponse: false },
      tools: [region],
      prompt: {
        prompt: [
          { type: 'text', content: 'In ' },
          { type: 'env', property: 'REGION' },
        ],
        variables: [{ name: 'REGION', type: 'text' }],
      },
    })
    const lead = defineAgent({
      name: 'lead',
      type: 'ai_human',
      sideA: { prompt: 'lead_p' },
      env: { REGION: 'north', TOKEN: secret, OWN: 'of the agent' },
    })
    const skein = await world.open(definitions.map((each) => (each.name === 'lead' ? lead : each)))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', env: { OWN: 'of the thread' } })
    expect(await thread.send('go').text()).toContain('north [redacted] of the thread')
    expect(sum.requests[0]?.system).toBe('In north')
  })
})
