/** R3: a turn that a rule stops is asked once more without tools, where its prompt says so. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition } from '../../../../src/agent/define.js'
import type { Prompt } from '../../../../src/agent/define-agent.js'
import { hasToolCall, maxTokensUsed, stepCountIs } from '../../../../src/agent/stop.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedReply } from '../../../../src/models/scripted.js'
import type { ModelRequest } from '../../../../src/models/port.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = looseTool('look', () => 'seen')
const helper = { name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } } as const

function appOf(script: Script, prompt: Partial<Prompt>, maxSteps?: number) {
  const model = scriptedModel(script)
  const app: Definition[] = [
    look,
    defineModel({ name: 'm', model }),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'm', tools: [look], lastAnswer: true, ...prompt }),
    defineAgent({ ...helper, sideA: { prompt: 'p', ...(maxSteps && { maxSteps }) } }),
  ]
  return { app, model }
}

/** Calls as long as it may, and answers when it may not. */
const obedient: Script = ({ toolChoice, step }) =>
  toolChoice === 'none' ? 'all that I have' : { text: `step ${step}`, calls: [{ tool: 'look', args: {} }] }

onEveryStore('last answer', (world) => {
  it.each([
    ['max_steps', {}, 2, {}],
    ['stop_when', { stopWhen: stepCountIs(2) }, undefined, {}],
    ['max_tool_rounds', { maxToolRounds: 1 }, undefined, {}],
    ['max_tool_calls', {}, undefined, { maxToolCalls: 1 }],
    ['repetition', {}, undefined, { repetition: { same: 2 } }],
  ] as const)('R3: after %s the model is asked once more, and its text is the answer', async (...given) => {
    const [stopReason, prompt, maxSteps, limits] = given
    const { app, model } = appOf(obedient, prompt, maxSteps)
    const skein = await world.open(app, { limits })
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason, text: 'all that I have', steps: 3 })
    const [, before, last] = model.requests
    expect(last).toMatchObject({ toolChoice: 'none' })
    expect(last?.tools).toEqual(before?.tools)
    expect(last?.messages.at(-1)).toMatchObject({ role: 'system', text: expect.stringContaining('final answer') })
    // The question is part of that request alone.
    expect((await thread.messages({ silent: 'show' })).map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'],
    ])
    await thread.send('again', { stopWhen: stepCountIs(1), maxToolRounds: 9 }).result()
    expect(model.requests[3]?.messages.filter(({ role }) => role === 'system')).toEqual([])
  })

  it('R3: calls of the last answer are dropped; its text is kept, else what was said before it', async () => {
    const script: Script = ({ toolChoice, step }) => ({
      text: toolChoice === 'none' && step === 1 ? '' : `step ${step}`,
      calls: [{ tool: 'look', args: {} }],
    })
    const { app, model } = appOf(script, { stopWhen: stepCountIs(1), lastAnswer: 'Say what you saw.' })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', text: 'step 0', steps: 2 })
    expect(await run.toolCalls()).toHaveLength(1)
    expect(model.requests).toHaveLength(2)
    expect(model.requests[1]?.messages.at(-1)?.text).toBe('Say what you saw.')
  })

  it('R3: not where tokens are spent, and not where the turn ends by itself', async () => {
    const usage = { inputTokens: 60, outputTokens: 0 }
    const script: Script = () => ({ text: 'on', usage, calls: [{ tool: 'look', args: {} }] })
    const { app, model } = appOf(script, { stopWhen: stepCountIs(2) })
    const skein = await world.open(app, { limits: { maxTokens: 100 } })
    const thread = await skein.threads.create({ agent: 'helper' })
    // Both at once: the condition is what stops it, and nothing is left for another request.
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'stop_when', steps: 2 })
    expect(model.requests).toHaveLength(2)
    await world.close(skein)
    const plain = appOf(() => 'at once', { stopWhen: stepCountIs(1) })
    const again = await world.open(plain.app)
    const other = await again.threads.create({ agent: 'helper' })
    expect(await other.send('go').result()).toMatchObject({ stopReason: 'completed', steps: 1 })
  })

  it('R3: the promised output is what is asked for last', async () => {
    const script: Script = ({ toolChoice }) =>
      typeof toolChoice === 'object' ? calls('look', { tool: 'response', args: { n: 7 } }) : calls('look')
    const { app, model } = appOf(script, { stopWhen: stepCountIs(1), outputSchema: z.object({ n: z.number() }) })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', output: { n: 7 }, steps: 2 })
    expect(model.requests[1]?.toolChoice).toEqual({ tool: 'response' })
    expect((await run.toolCalls()).map(({ tool }) => tool)).toEqual(['look', 'response'])
  })

  it('R3: where the last answer fails the reason stays, and says so; the next turn has its own steps', async () => {
    const script: Script = ({ toolChoice }) => (toolChoice === 'none' ? { error: 'overloaded' } : calls('look'))
    const { app } = appOf(script, { stopWhen: stepCountIs(1) })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const stopped = { stopReason: 'stop_when', detail: '1 step of 1; the last answer failed: overloaded' }
    expect(await thread.send('go').result()).toMatchObject(stopped)
    expect(await thread.status()).toBe('idle')
    expect(await thread.send('go').result()).toMatchObject(stopped)
  })

  it('R3: a message that comes meanwhile begins a turn of its own', async () => {
    const asked: ModelRequest[] = []
    let interrupt: () => Promise<void> = () => Promise.resolve()
    const script: Script = async (request) => {
      asked.push(request)
      if (request.toolChoice !== 'none')
        return request.messages.some(({ text }) => text === 'more') ? 'more' : calls('look')
      await interrupt()
      return 'the last'
    }
    const { app } = appOf(script, { stopWhen: stepCountIs(1) })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    interrupt = () => thread.send('more', { id: 'more' }).accepted()
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'stop_when', text: 'the last' })
    await thread.settled()
    expect((await thread.messages()).at(-1)).toMatchObject({ role: 'assistant', text: 'more' })
  })

  it('R3, S9: an agent that takes over brings its own rules', async () => {
    const script: Script = ({ system, toolChoice }) => {
      if (toolChoice === 'none') return 'the last'
      return system === 'You route.' ? calls('expert') : { text: 'expert', calls: [{ tool: 'look', args: {} }] }
    }
    const model = scriptedModel(script)
    const open = (router: Partial<Prompt>, expert: Partial<Prompt>) =>
      world.open(
        [
          look,
          defineModel({ name: 'm', model }),
          definePrompt({ name: 'p', prompt: 'You route.', model: 'm', tools: ['expert'], ...router }),
          definePrompt({ name: 'q', prompt: 'You know.', model: 'm', tools: [look], ...expert }),
          defineAgent(helper),
          defineAgent({ name: 'expert', type: 'ai_human', sideA: { prompt: 'q', maxSteps: 4 }, exposeAsTool: true }),
        ],
        { limits: { repetition: false } },
      )
    const skein = await open({ stopWhen: stepCountIs(2) }, { lastAnswer: true })
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'max_steps', text: 'the last', steps: 5 })
    await world.close(skein)
    const other = await open({ lastAnswer: true }, { stopWhen: stepCountIs(2) })
    const second = await other.threads.create({ agent: 'helper' })
    expect(await second.send('go').result()).toMatchObject({ stopReason: 'stop_when', text: 'expert', steps: 2 })
  })

  it('R3, S11: each of two sides has its own rules', async () => {
    const script: Script = ({ system, toolChoice, step }): ScriptedReply => {
      if (toolChoice === 'none') return `${system} last`
      return system === 'B' ? { text: `B ${step}`, calls: [{ tool: 'look', args: {} }] } : 'A speaks'
    }
    const model = scriptedModel(script)
    const skein = await world.open([
      look,
      defineModel({ name: 'm', model }),
      definePrompt({ name: 'a', prompt: 'A', model: 'm', tools: [look], stopWhen: stepCountIs(1) }),
      definePrompt({ name: 'b', prompt: 'B', model: 'm', tools: [look], stopWhen: stepCountIs(2), lastAnswer: true }),
      defineAgent({ name: 'pair', type: 'dual_ai', sideA: { prompt: 'a' }, sideB: { prompt: 'b' } }),
    ])
    const thread = await skein.threads.create({ agent: 'pair' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'stop_when', text: 'B last', steps: 4 })
    await world.close(skein)
    const usage = { inputTokens: 40, outputTokens: 0 }
    const talk = scriptedModel(() => ({ text: 'and then', usage }))
    const talking = await world.open([
      defineModel({ name: 'm', model: talk }),
      definePrompt({ name: 'a', prompt: 'A', model: 'm', stopWhen: maxTokensUsed(100) }),
      definePrompt({ name: 'b', prompt: 'B', model: 'm' }),
      defineAgent({ name: 'pair', type: 'dual_ai', sideA: { prompt: 'a' }, sideB: { prompt: 'b' } }),
    ])
    const both = await talking.threads.create({ agent: 'pair' })
    // Two sides that only talk: amounts are looked at after each text.
    expect(await both.send('go').result()).toMatchObject({ stopReason: 'stop_when', steps: 3 })
  })

  it('R3, S7: a child that is stopped has failed, and its parent reads why and what it last said', async () => {
    const script: Script = ({ system, messages }) => {
      if (system === 'child') return { text: 'half of it', calls: [{ tool: 'look', args: {} }] }
      return messages.some(({ role }) => role === 'tool') ? 'well' : calls({ tool: 'child', args: { message: 'go' } })
    }
    const model = scriptedModel(script)
    const skein = await world.open([
      look,
      defineModel({ name: 'm', model }),
      definePrompt({ name: 'p', prompt: 'parent', model: 'm', tools: [{ name: 'child' }] }),
      definePrompt({ name: 'c', prompt: 'child', model: 'm', tools: [look], stopWhen: hasToolCall('look') }),
      defineAgent(helper),
      defineAgent({ name: 'child', type: 'ai_human', sideA: { prompt: 'c' }, exposeAsTool: true }),
    ])
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason: 'completed', text: 'well' })
    const [made] = await run.toolCalls()
    const message = 'it did not finish: stop_when (tool look was called). It last said: half of it'
    expect(made?.outcome).toMatchObject({ ok: false, failure: { code: 'CHILD_FAILED', message } })
  })
})
