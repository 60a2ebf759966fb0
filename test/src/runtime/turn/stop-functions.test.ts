/** R3: conditions of a prompt that are functions: asked with the results of a step, once, and recorded. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition } from '../../../../src/agent/define.js'
import type { Prompt } from '../../../../src/agent/define-agent.js'
import { stepCountIs } from '../../../../src/agent/stop.js'
import type { StopFunction } from '../../../../src/agent/stop.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { looseTool } from '../../../helpers/app.js'
import { deferred } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = looseTool('look', (_, { step }) => `saw ${String(step)}`)
const always: Script = ({ step, toolChoice }) =>
  toolChoice === 'none' ? 'that is all' : { text: `step ${step}`, calls: [{ tool: 'look', args: { step } }] }

function appOf(prompt: Partial<Prompt>, script: Script = always): { app: Definition[]; requests: readonly unknown[] } {
  const model = scriptedModel(script)
  return {
    requests: model.requests,
    app: [
      look,
      defineModel({ name: 'm', model }),
      definePrompt({ name: 'p', prompt: 'You look.', model: 'm', tools: ['look'], ...prompt }),
      defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
    ],
  }
}

onEveryStore('stop functions', (world) => {
  const sent = async (prompt: Partial<Prompt>) => {
    const skein = await world.open(appOf(prompt).app)
    return (await skein.threads.create({ agent: 'helper' })).send('go')
  }

  it('R3: a function sees the results of the step, and stops the turn with its words', async () => {
    const asked: number[] = []
    const stopWhen: StopFunction = async ({ steps, usage, messages, thread, run }) => {
      asked.push(steps)
      expect([typeof thread, typeof run, typeof usage.inputTokens]).toEqual(['string', 'string', 'number'])
      return (await messages()).some(({ text }) => text === 'saw 2') && 'it saw 2'
    }
    const run = await sent({ stopWhen: [stepCountIs(50), stopWhen] })
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', detail: 'it saw 2', steps: 3, text: 'step 2' })
    expect(asked).toEqual([1, 2, 3])
  })

  it('R3: true needs no words, and the last answer is asked for', async () => {
    const run = await sent({ stopWhen: ({ steps }) => steps === 2, lastAnswer: true })
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', text: 'that is all', steps: 3 })
  })

  it('R3: data beside a function counts as ever', async () => {
    const other = await sent({ stopWhen: [() => false, stepCountIs(2)] })
    expect(await other.result()).toMatchObject({ stopReason: 'stop_when', detail: '2 steps of 2' })
  })

  it('R3, K2: one that throws or gives nonsense is reported, and the turn goes on', async () => {
    const run = await sent({
      stopWhen: [
        ({ steps }) => {
          if (steps === 1) throw new Error('no idea')
          return steps === 3
        },
      ],
    })
    expect(await run.result()).toMatchObject({ stopReason: 'stop_when', steps: 3 })
    expect(world.warnings.join('\n')).toContain('stopWhen() failed')
  })

  it('R3, K3: what it said is recorded, and not asked again after a restart', async () => {
    const asked: number[] = []
    const stopWhen: StopFunction = ({ steps }) => {
      asked.push(steps)
      return steps === 3
    }
    const third = deferred()
    const script: Script = (request) => {
      if (request.step < 2) return always(request)
      third.resolve()
      return new Promise(() => undefined)
    }
    const skein = await world.open(appOf({ stopWhen }, script).app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    run.result().catch(() => undefined)
    await third.promise
    await thread.settled({ signal: AbortSignal.abort() }).catch(() => undefined)
    await world.close(skein)
    const again = await world.open(appOf({ stopWhen }).app)
    const result = await (await again.threads.get(thread.id)).run(run.id).result()
    expect(result).toMatchObject({ stopReason: 'stop_when', steps: 3 })
    // The question before the third reply may be asked again where its answer was not durable; no other is.
    expect(asked.filter((steps) => steps === 1)).toEqual([1])
    expect(asked.at(-1)).toBe(3)
  })
})
