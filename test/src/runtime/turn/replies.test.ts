/** What replies mean for their turn: cut, withheld and paused ones, forced calls, and answers in a form. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt, Side, ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedReply } from '../../../../src/models/scripted.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

interface Asked {
  readonly script: Script | readonly ScriptedReply[]
  readonly tools?: readonly ToolDefinition[]
  readonly prompt?: Partial<Prompt>
  readonly side?: Partial<Side>
}

function app({ script, tools = [], prompt = {}, side = {} }: Asked) {
  const model = scriptedModel(script)
  const definitions: readonly Definition[] = [
    ...tools,
    defineModel({ name: 'm', model }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: tools.map(({ name }) => name), ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', ...side } }),
  ]
  return { model, definitions }
}

onEveryStore('replies that are not whole', (world) => {
  it.each([
    ['length', 'reply_cut', 'the reply was cut at its limit of output tokens'],
    ['content_filter', 'reply_filtered', "the provider's filter withheld the reply"],
    ['paused', 'reply_paused', 'the provider paused the reply; `resume` goes on with it'],
  ] as const)('R1: %s ends the turn as %s, with what was said', async (finish, stopReason, detail) => {
    const { app: definitions } = tinyApp({
      script: [{ text: 'half of it', finish }, 'better', { text: '', finish }, 'better'],
    })
    const skein = await world.open(definitions)
    for (const text of ['half of it', '']) {
      const thread = await skein.threads.create({ agent: 'helper' })
      expect(await thread.send('go').result()).toMatchObject({ text, stopReason, finishReason: finish, detail })
      expect(await thread.send('go on').result()).toMatchObject({
        text: 'better',
        stopReason: 'completed',
        finishReason: 'stop',
      })
    }
  })

  it('a call whose args were cut is not made, its whole siblings are, and the model reads why', async () => {
    const made: unknown[] = []
    const put = looseTool('put', (_state, args) => void made.push(args))
    const cut: ScriptedReply = {
      finish: 'length',
      calls: [
        { tool: 'put', args: '{"n":1}' },
        { tool: 'put', args: '' },
        { tool: 'put', args: '{"n":3, "text": "lo' },
      ],
    }
    const { app: definitions, model } = tinyApp({ script: [cut, 'done'], tools: [put] })
    const skein = await world.open(definitions)
    expect(await (await skein.threads.create({ agent: 'helper' })).send('go').result()).toMatchObject({
      text: 'done',
      stopReason: 'completed',
    })
    expect(made).toEqual([{ n: 1 }])
    const [, second, third] = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
    for (const result of [second, third])
      expect(result?.text).toMatch(/TOOL_INPUT_INVALID: put was not run: your reply was cut at its limit/)
  })

  it('a steering message goes on after a cut reply', async () => {
    const { app: definitions } = tinyApp({ script: [{ text: 'half', finish: 'length' }, 'whole'] })
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'helper' })
    const [first, second] = [thread.send('go'), thread.send('and this')]
    expect((await first.result()).stopReason).toMatch(/reply_cut|completed/)
    expect(await second.text()).toBe('whole')
  })
})

onEveryStore('forced calls', (world) => {
  it.each([['required' as const], [{ tool: 'look' }]])(
    '%j is relaxed when the call was made, and holds again in the next turn',
    async (toolChoice) => {
      let looked = 0
      const look = looseTool('look', () => ++looked)
      // As a model does that is forced.
      const script: Script = ({ toolChoice: choice }) => (choice === 'auto' ? 'done' : calls('look'))
      const { definitions, model } = app({ script, tools: [look], prompt: { toolChoice } })
      const skein = await world.open(definitions)
      const thread = await skein.threads.create({ agent: 'helper' })
      for (const turn of [1, 2]) {
        expect(await thread.send('go').result()).toMatchObject({ text: 'done', stopReason: 'completed', steps: 2 })
        expect(looked).toBe(turn)
      }
      expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, 'auto', toolChoice, 'auto'])
    },
  )

  it('another call, or one with bad args, is not the one that is forced', async () => {
    const look = { ...looseTool('look', () => 'seen'), args: z.object({ at: z.string() }) } as ToolDefinition
    const replies = [
      calls('other'),
      calls({ tool: 'look', args: { at: 5.5 } }),
      calls({ tool: 'look', args: { at: 'here' } }),
      'done',
    ]
    const { definitions, model } = app({
      script: replies,
      tools: [look, looseTool('other', () => 1)],
      prompt: { toolChoice: { tool: 'look' } },
    })
    const skein = await world.open(definitions)
    await (await skein.threads.create({ agent: 'helper' })).send('go').result()
    expect(model.requests.map(({ toolChoice }) => toolChoice === 'auto')).toEqual([false, false, false, true])
  })
})

onEveryStore('answers in a form', (world) => {
  const outputSchema = z.object({ mood: z.string() })
  const answer = calls({ tool: 'response', args: { mood: 'good' } })

  it('T12: prose is asked again, with the tool forced, and the value is the answer', async () => {
    const { definitions, model } = app({ script: ['I feel good', '', answer], prompt: { outputSchema } })
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('How are you?')
    expect(await run.result()).toMatchObject({ stopReason: 'completed', output: { mood: 'good' }, steps: 3 })
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      undefined,
      { tool: 'response' },
      { tool: 'response' },
    ])
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'system',
      silent: true,
      text: expect.stringContaining('`response`'),
    })
    expect((await thread.messages()).filter(({ role }) => role === 'system')).toEqual([])
    const ended = []
    for await (const event of run.fullStream) if (event.type === 'turn.ended') ended.push(event.output)
    expect(ended).toEqual([{ mood: 'good' }])
  })

  it('asked twice in vain, the turn has failed; it can be tried again', async () => {
    const { definitions, model } = app({ script: ['no', 'no', 'no', answer], prompt: { outputSchema } })
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('How are you?')
    expect(await run.result()).toMatchObject({
      stopReason: 'failed',
      failure: { code: 'OUTPUT_MISSING', message: expect.stringContaining('it last said "no"') },
    })
    expect(model.requests).toHaveLength(3)
    expect(await thread.status()).toBe('failed')
    expect(await thread.send('Please.').result()).toMatchObject({ stopReason: 'completed', output: { mood: 'good' } })
  })

  it('S1: a child never hands prose to its parent in place of the value', async () => {
    const lead = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? `got ${messages.at(-1)?.text}`
        : calls({ tool: 'kid', args: { message: 'How are you?' } }),
    )
    const kid = scriptedModel(() => 'fine, thanks')
    const skein = await world.open([
      defineModel({ name: 'lead_model', model: lead }),
      defineModel({ name: 'kid_model', model: kid }),
      definePrompt({ name: 'lead_prompt', prompt: 'x', model: 'lead_model', tools: [{ name: 'kid' }] }),
      definePrompt({ name: 'kid_prompt', prompt: 'x', model: 'kid_model', outputSchema }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
      defineAgent({
        name: 'kid',
        type: 'ai_human',
        sideA: { prompt: 'kid_prompt' },
        exposeAsTool: true,
        toolDescription: 'Feels',
      }),
    ])
    const text = await (await skein.threads.create({ agent: 'lead' })).send('go').text()
    expect(text).toMatch(/CHILD_FAILED.*did not call `response`/)
    expect(kid.requests).toHaveLength(3)
  })

  it('a reply that was cut, or the last step, is no completed turn either', async () => {
    const cut = app({ script: [{ text: 'I fe', finish: 'length' }], prompt: { outputSchema } })
    const skein = await world.open(cut.definitions)
    expect((await (await skein.threads.create({ agent: 'helper' })).send('go').result()).stopReason).toBe('reply_cut')
    const short = app({ script: ['I feel good'], prompt: { outputSchema }, side: { maxSteps: 1 } })
    const other = await world.open(short.definitions, { backend: await world.fresh() })
    expect((await (await other.threads.create({ agent: 'helper' })).send('go').result()).stopReason).toBe('max_steps')
  })
})
