/** Agents that take over a thread. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt, ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

interface Desk {
  readonly front: Script
  readonly expert?: Script
  readonly tools?: readonly ToolDefinition[]
  readonly expertPrompt?: Partial<Prompt>
  readonly maxSteps?: number
  readonly expertSteps?: number
}

/** A front desk that hands over to an expert or a clerk. */
function desk({
  front,
  expert = () => 'The expert speaks.',
  tools = [],
  expertPrompt = {},
  maxSteps = 100,
  expertSteps = 100,
}: Desk): { readonly app: readonly Definition[]; readonly heard: ScriptedModel } {
  const heard = scriptedModel(expert)
  const app = [
    ...tools,
    defineModel({ name: 'front_m', model: scriptedModel(front) }),
    defineModel({ name: 'expert_m', model: heard }),
    definePrompt({
      name: 'front_p',
      prompt: 'You greet.',
      model: 'front_m',
      tools: [...tools.map(({ name }) => name), 'expert', 'clerk', 'front'],
    }),
    definePrompt({ name: 'expert_p', prompt: 'You know.', model: 'expert_m', tools: ['front'], ...expertPrompt }),
    defineAgent({ name: 'front', type: 'ai_human', sideA: { prompt: 'front_p', maxSteps }, exposeAsTool: true }),
    defineAgent({
      name: 'expert',
      type: 'ai_human',
      sideA: { prompt: 'expert_p', maxSteps: expertSteps },
      exposeAsTool: true,
      toolDescription: 'Knows it all',
    }),
    defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'expert_p' }, exposeAsTool: true }),
  ]
  return { app, heard }
}

onEveryStore('an agent that takes over', (world) => {
  it('S9: goes on with the same history, its own prompt, model and tools, in this turn and those after', async () => {
    const { app, heard } = desk({
      front: () => ({ text: 'One moment.', ...Object(calls({ tool: 'expert', args: { message: 'hard' } })) }),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 't' })
    expect(await thread.send('a hard one').text()).toBe('The expert speaks.')
    expect((await thread.messages()).map(({ role, text }) => `${role}: ${text}`)).toEqual([
      'user: a hard one',
      'assistant: One moment.',
      'tool: Handoff complete',
      'assistant: The expert speaks.',
    ])
    expect(heard.requests[0]).toMatchObject({
      system: 'You know.',
      messages: [{ text: 'a hard one' }, { text: 'One moment.' }, { text: 'Handoff complete' }],
    })
    expect(heard.requests[0]?.tools.map(({ name }) => name)).toEqual(['front'])
    expect((await thread.info()).agent).toBe('expert')
    expect((await skein.threads.list({ agent: 'expert' })).threads.map(({ thread: id }) => id)).toEqual(['t'])
    await thread.send('and more').text()
    expect(heard.requests).toHaveLength(2)
  })

  it('S9: what a model is told: who takes over, and what it needs; nobody hands over to itself', async () => {
    let told: unknown
    const { app } = desk({
      front: ({ tools }) => ((told = tools), 'Hello.'),
      expertPrompt: { requiredSchema: z.object({ topic: z.string() }) },
    })
    const skein = await world.open(app)
    await (await skein.threads.create({ agent: 'front', id: 't' })).send('hello').text()
    expect(told).toMatchObject([
      {
        name: 'expert',
        description:
          'Hands this conversation over to the agent expert, which goes on with it in your place. Knows it all',
        parameters: { required: ['topic'] },
      },
      { name: 'clerk' },
    ])
  })

  it('S9: the first of several takes over, the others are told so; args that do not fit hand nothing over', async () => {
    const { app, heard } = desk({
      front: ({ step }) =>
        step === 0
          ? calls({ tool: 'expert', args: { message: 5 } })
          : calls({ tool: 'clerk', args: {} }, { tool: 'expert', args: {} }, 'nobody'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 't' })
    await thread.send('go').text()
    const texts = results(await thread.messages())
    expect(texts[0]).toMatch(/TOOL_INPUT_INVALID.*message/)
    expect(texts[1]).toBe('Handoff complete')
    expect(texts[2]).toMatch(
      /TOOL_NOT_ALLOWED: this conversation was handed over to clerk just before.*expert was not called/,
    )
    expect(texts[3]).toMatch(/UNKNOWN_TOOL.*the tools are: expert, clerk$/)
    expect((await thread.info()).agent).toBe('clerk')
    expect(heard.requests).toHaveLength(1)
  })

  it('S9: after the calls of the step, also when the turn is cancelled before', async () => {
    const gate = deferred()
    const slow = looseTool('slow', () => gate.promise)
    const { app, heard } = desk({ tools: [slow], front: () => calls('expert', 'slow') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 't' })
    void thread.send('go').accepted()
    await until('the call', async () => (await thread.status()) === 'acting')
    expect((await thread.info()).agent).toBe('front')
    expect(heard.requests).toHaveLength(0)
    await thread.cancel({ reason: 'enough' })
    expect(results(await thread.messages())).toEqual(['Handoff complete', expect.stringContaining('CANCELLED')])
    expect((await thread.info()).agent).toBe('expert')
    expect(await thread.send('so?').text()).toBe('The expert speaks.')
  })

  it('S9: the limit of the one who takes over counts, for the steps of the whole turn', async () => {
    const open = async (given: Pick<Desk, 'maxSteps' | 'expertSteps'>, id: string) => {
      const skein = await world.open(desk({ ...given, front: () => calls('expert'), expert: () => calls('front') }).app)
      const { stopReason, steps } = await (await skein.threads.create({ agent: 'front', id })).send('go').result()
      await world.close(skein)
      return [stopReason, steps]
    }
    expect(await open({ maxSteps: 1, expertSteps: 4 }, 'a')).toEqual(['max_steps', 2])
    expect(await open({ maxSteps: 9, expertSteps: 9 }, 'b')).toEqual(['max_steps', 9])
  })

  it('S9, F8: creating the thread again gets it, by the agent that it was created with', async () => {
    const { app } = desk({ front: () => calls('expert') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 't' })
    await thread.send('go').text()
    expect((await skein.threads.create({ agent: 'front', id: 't' })).agent).toBe('expert')
    expect((await skein.threads.create({ agent: 'expert', id: 't' })).agent).toBe('expert')
    await expect(skein.threads.create({ agent: 'clerk', id: 't' })).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('S9: a child hands over too, and the parent reads what the last one said', async () => {
    const { app } = desk({ front: () => calls('expert') })
    const skein = await world.open([
      ...app,
      defineModel({
        name: 'lead_m',
        model: scriptedModel(({ step, messages }) =>
          step === 0 ? calls({ tool: 'front', args: { message: 'x' } }) : `got ${results(messages).join()}`,
        ),
      }),
      definePrompt({ name: 'lead_p', prompt: 'x', model: 'lead_m', tools: [{ name: 'front' }] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ])
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('got The expert speaks.')
    expect((await skein.threads.list({ parent: 'lead' })).threads.map(({ agent, status }) => [agent, status])).toEqual([
      ['expert', 'done'],
    ])
  })

  it('S9, F2: it waits for the variables that the one who takes over needs', async () => {
    const { app, heard } = desk({
      front: () => calls('expert'),
      expertPrompt: { variables: [{ name: 'CASE', type: 'text' }], prompt: [{ type: 'env', property: 'CASE' }] },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 't' })
    const run = thread.send('go')
    await until('it to wait', async () => (await thread.status()) === 'awaiting_variables')
    expect((await thread.info()).agent).toBe('expert')
    await thread.env.set({ CASE: 'number 9' })
    expect(await run.text()).toBe('The expert speaks.')
    expect(heard.requests.map(({ system }) => system)).toEqual(['number 9'])
  })

  it('S9, P3: the journal knows who has the thread; one who is gone is told, and nothing is lost', async () => {
    const gate = deferred()
    const slow = looseTool('slow', () => gate.promise)
    const { app } = desk({
      tools: [slow],
      front: ({ messages }) => (messages.length === 1 ? calls('expert', 'slow') : 'Back.'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 't' })
    await thread.send('go', { id: 'm' }).accepted()
    await until('the call', async () => (await thread.status()) === 'acting')
    const closed = world.close(skein)
    world.clock.advance(60_000)
    await closed
    gate.resolve()
    const gone = [
      ...desk({ tools: [slow], front: () => 'Back.' }).app.filter(
        ({ name }) => name !== 'expert' && name !== 'front_p',
      ),
      definePrompt({ name: 'front_p', prompt: 'x', model: 'front_m', tools: ['slow'] }),
    ]
    const later = await world.open(gone)
    const { failure } = await (await later.threads.get('t')).run('m').result()
    expect(failure).toMatchObject({
      code: 'UNKNOWN_AGENT',
      message: expect.stringContaining('the app has no agent "expert"; it has: front, clerk'),
    })
    await world.close(later)
    const back = await world.open(app)
    expect(await (await back.threads.get('t')).send('so?').text()).toBe('The expert speaks.')
  })
})
