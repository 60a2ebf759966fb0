/** R3: stop conditions, per prompt and per message; rounds of calls; the last answer without tools. */
import { beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import type { Definition, ToolDefinition } from '../../../../src/agent/define.js'
import type { Prompt } from '../../../../src/agent/define-agent.js'
import { finishReasonIs, hasToolCall, maxCost, maxTokensUsed, stepCountIs } from '../../../../src/agent/stop.js'
import type { TurnSoFar } from '../../../../src/agent/stop.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedReply } from '../../../../src/models/scripted.js'
import type { SendOptions } from '../../../../src/runtime/handles/sent-message.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = looseTool('look', () => 'seen')
const done = looseTool('done', () => 'noted')

interface Options {
  readonly script: Script | readonly ScriptedReply[]
  readonly prompt?: Partial<Prompt>
  readonly tools?: readonly ToolDefinition[]
  readonly maxSteps?: number
}

function appOf({ script, prompt, tools = [look, done], maxSteps }: Options) {
  const model = scriptedModel(script)
  const app: Definition[] = [
    ...tools,
    defineModel({ name: 'm', model, costPerMillion: { inputUsd: 1_000, outputUsd: 1_000 } }),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'm', tools, ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', ...(maxSteps && { maxSteps }) } }),
  ]
  return { app, model }
}

const always = (): ScriptedReply => ({
  text: 'looking',
  usage: { inputTokens: 30, outputTokens: 10 },
  finish: 'tool_calls',
  calls: [{ tool: 'look', args: {} }],
})

onEveryStore('stop conditions', (world) => {
  let opened: Skein | undefined
  const create = async (options: Options) => {
    if (opened) await world.close(opened)
    opened = await world.open(appOf(options).app)
    return opened.threads.create({ agent: 'helper' })
  }
  const send = async (options: Options, text: string, sent?: SendOptions) => (await create(options)).send(text, sent)
  beforeEach(() => {
    opened = undefined
  })

  it.each([
    ['stepCountIs', stepCountIs(3), 3, '3 steps of 3'],
    ['stepCountIs of one', stepCountIs(1), 1, '1 step of 1'],
    ['maxTokensUsed', maxTokensUsed(100), 3, '120 tokens of 100'],
    ['maxCost', maxCost(0.08), 2, '$0.08 of $0.08'],
    ['maxCost in small parts', maxCost(0.1), 3, '$0.12 of $0.1'],
    ['finishReasonIs', finishReasonIs('tool_calls'), 1, 'the reply ended with tool_calls'],
    ['any of a list', [maxCost(9), stepCountIs(2), maxTokensUsed(1_000)], 2, '2 steps of 2'],
  ])('R3: %s stops the turn when the calls of the reply are answered', async (...given) => {
    const [, stopWhen, steps, detail] = given
    const run = await send({ script: always, prompt: { stopWhen } }, 'go')
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', detail, steps, text: 'looking' })
    const made = await run.toolCalls()
    expect(made).toHaveLength(steps)
    expect(made.every(({ outcome }) => outcome?.ok)).toBe(true)
  })

  it('R3: hasToolCall stops after a call that was made, and not after one that was refused', async () => {
    const strict = defineTool({
      name: 'done',
      description: 'ends the work',
      args: z.object({ why: z.string() }),
      execute: (_, { why }) => why,
    })
    const script = [calls('look'), calls('done'), calls({ tool: 'done', args: { why: 'all seen' } })]
    const run = await send({ script, tools: [look, strict], prompt: { stopWhen: hasToolCall(strict) } }, 'go')
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', detail: 'tool done was called', steps: 3 })
    expect((await run.toolCalls()).at(-1)?.outcome).toMatchObject({ ok: true, value: 'all seen' })
  })

  it('R3: a turn that ends by itself is completed, whatever its last reply meets', async () => {
    const prompt = { stopWhen: [stepCountIs(1), finishReasonIs('stop')] }
    const run = await send({ script: [{ text: 'at once', finish: 'stop' }], prompt }, 'go')
    expect(await run.result()).toMatchObject({ stopReason: 'completed', text: 'at once' })
  })

  it('R3: conditions of a message are those of its turn alone, beside the prompt’s', async () => {
    const thread = await create({ script: always, prompt: { stopWhen: stepCountIs(5) } })
    expect(await thread.send('go', { stopWhen: stepCountIs(2) }).result()).toMatchObject({ steps: 2 })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'stop_when', steps: 5 })
    const list = [hasToolCall('none'), maxTokensUsed(130)]
    expect(await thread.send({ text: 'go', stopWhen: list }).result()).toMatchObject({ steps: 4 })
    await expect(thread.send('go', { stopWhen: { if: 'steps', is: 0 } }).result()).rejects.toThrow(/stopWhen/)
    await expect(thread.send('go', { maxToolRounds: -1 }).result()).rejects.toThrow(/maxToolRounds/)
  })

  it('R3: conditions of a message count after a failure too, when its turn is resumed', async () => {
    let asked = 0
    const script = (): ScriptedReply => (++asked === 1 ? { error: 'no such model' } : always())
    const thread = await create({ script })
    const failed = await thread.send('go', { stopWhen: stepCountIs(2), maxToolRounds: 1 }).result()
    expect(failed).toMatchObject({ stopReason: 'failed' })
    await thread.resume()
    await thread.settled()
    expect(await (await thread.current())?.result()).toBeUndefined()
    expect(asked).toBe(3)
  })

  it('R3: 0 rounds give raw calls: none runs, and the caller has them with their args', async () => {
    let ran = 0
    const act = looseTool('act', () => ++ran, { sideEffect: true, needsApproval: true })
    const script = (): ScriptedReply => ({
      calls: [
        { tool: 'act', args: '{"at":1}' },
        { tool: 'look', args: { b: 2 } },
      ],
    })
    const options = { script, tools: [act, look] }
    const run = await send(options, 'go', { maxToolRounds: 0 })
    expect(await run.result()).toMatchObject({ stopReason: 'max_tool_rounds', detail: '0 rounds of calls are allowed' })
    expect(await run.toolCalls()).toMatchObject([
      { tool: 'act', args: { at: 1 }, outcome: { ok: false, failure: { code: 'TOOL_SKIPPED' } } },
      { tool: 'look', args: { b: 2 }, outcome: { ok: false, failure: { code: 'TOOL_SKIPPED' } } },
    ])
    expect(ran).toBe(0)
  })

  it('R3: the calls of a round too many are refused; a message may allow another number', async () => {
    const thread = await create({ script: always, prompt: { maxToolRounds: 2 } })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason: 'max_tool_rounds', steps: 3 })
    expect((await run.toolCalls()).map(({ outcome }) => outcome?.ok)).toEqual([true, true, false])
    expect(await thread.send('go', { maxToolRounds: 1 }).result()).toMatchObject({
      detail: '1 round of calls is allowed',
      steps: 2,
    })
  })

  it('R3: a function decides of each round; one that throws or gives no boolean lets nothing run', async () => {
    const seen: TurnSoFar[] = []
    const thread = await create({
      script: always,
      prompt: {
        maxToolRounds(turn) {
          seen.push(turn)
          return turn.usage.inputTokens < 90
        },
      },
    })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'max_tool_rounds', steps: 3 })
    expect(seen).toMatchObject([
      { steps: 1, rounds: 0, text: 'looking', calls: [{ tool: 'look', args: {} }], finish: 'tool_calls' },
      { steps: 2, rounds: 1, usage: { inputTokens: 60 } },
      { steps: 3, rounds: 2, usage: { inputTokens: 90 } },
    ])
    const throws = await create({
      script: always,
      prompt: {
        maxToolRounds() {
          throw new Error('no idea')
        },
      },
    })
    expect(await throws.send('go').result()).toMatchObject({
      stopReason: 'max_tool_rounds',
      detail: 'maxToolRounds threw: no idea',
      steps: 1,
    })
  })

  it('R3: `response` is no round: an output may be corrected', async () => {
    const script = [
      calls('look'),
      calls({ tool: 'response', args: { n: 'many' } }),
      calls({ tool: 'response', args: { n: 2 } }),
    ]
    const prompt = { outputSchema: z.object({ n: z.number() }), maxToolRounds: 1 }
    const run = await send({ script, prompt }, 'go')
    expect(await run.result()).toMatchObject({ stopReason: 'completed', output: { n: 2 } })
  })
})
