/** Agents and their sides are checked when the app is loaded. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { isSkeinError } from '../../../src/core/failure.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { looseTool } from '../../helpers/app.js'

const around: readonly Definition[] = [
  defineModel({ name: 'fast', model: scriptedModel([]) }),
  definePrompt({ name: 'p', prompt: 'You write.', model: 'fast', tools: ['done', 'finish'] }),
  definePrompt({ name: 'q', prompt: 'You judge.', model: 'fast', tools: ['finish'] }),
  looseTool('done', () => 1),
  looseTool('finish', () => 1),
]

function mistakesOf(agent: object, more: readonly Definition[] = []): unknown {
  try {
    createApp([...around, ...more, { kind: 'agent', name: 'pair', ...agent } as Definition], 'app.ts')
    return []
  } catch (thrown) {
    return isSkeinError(thrown) ? thrown.data?.['mistakes'] : thrown
  }
}

const a = { prompt: 'p' }
const b = { prompt: 'q' }

describe('an agent', () => {
  it('D6: may have two sides with all their fields', () => {
    const side = {
      label: 'A',
      stopOnResponse: false,
      stopTool: 'done',
      stopToolResponseProperty: 'text',
      maxSteps: 3,
      sessionStop: { name: 'finish', messageProperty: 'say', attachmentsProperty: 'files' },
    }
    expect(
      mistakesOf({
        type: 'dual_ai',
        sideA: { ...a, ...side },
        sideB: { ...b, sessionFail: 'finish' },
        maxSessionTurns: 4,
      }),
    ).toEqual([])
    expect(mistakesOf({ type: 'ai_human', sideA: { ...a, ...side } })).toEqual([])
  })

  it.each([
    [
      'a second side that is missing',
      { type: 'dual_ai', sideA: a },
      'agent "pair": type \'dual_ai\' needs `sideB`: both sides are models',
    ],
    [
      'a second side where a person is',
      { type: 'ai_human', sideA: a, sideB: b },
      "agent \"pair\": `sideB` is for type 'dual_ai'; of an 'ai_human' agent side B is a person",
    ],
    [
      'turns of a session without one',
      { type: 'ai_human', sideA: a, maxSessionTurns: 2 },
      'agent "pair": `maxSessionTurns` is for type \'dual_ai\'; the limit here is `sideA.maxSteps`',
    ],
    [
      'a field that is none',
      { type: 'dual_ai', sideA: a, sideB: { ...b, stoptool: 'done' } },
      'agent "pair": sideB.stoptool: there is no such field; did you mean stopTool?',
    ],
    [
      'a prompt that is none',
      { type: 'dual_ai', sideA: a, sideB: { prompt: 'r' } },
      'agent "pair" names the prompt "r"; there are: p, q',
    ],
    [
      'a tool that its prompt does not have',
      { type: 'dual_ai', sideA: a, sideB: { ...b, stopTool: 'done' } },
      'agent "pair" names the tool "done" as sideB.stopTool; its prompt "q" has: finish',
    ],
    [
      'a session tool that its prompt does not have',
      { type: 'dual_ai', sideA: { ...a, sessionStatus: { name: 'say' } }, sideB: b },
      'agent "pair" names the tool "say" as sideA.sessionStatus; its prompt "p" has: done, finish',
    ],
    [
      'a property of no tool',
      { type: 'dual_ai', sideA: { ...a, stopToolResponseProperty: 'x' }, sideB: b },
      'agent "pair": `sideA.stopToolResponseProperty` needs `sideA.stopTool`',
    ],
    [
      'a turn without an end',
      { type: 'ai_human', sideA: { ...a, stopOnResponse: false, sessionStatus: 'done' } },
      'agent "pair": `sideA.stopOnResponse: false` needs a tool that ends the turn: `stopTool`, `sessionStop` or ' +
        '`sessionFail`',
    ],
    [
      'a tool with two meanings',
      { type: 'dual_ai', sideA: { ...a, sessionFail: 'done', stopTool: 'done' }, sideB: b },
      'agent "pair": `sideA.stopTool` names the tool "done", which has another meaning for the session already',
    ],
    [
      'a session tool that is none',
      { type: 'dual_ai', sideA: { ...a, sessionStop: { messageProperty: 'x' } }, sideB: b },
      'agent "pair": sideA.sessionStop: must be the name of a tool or { name, messageProperty?, attachmentsProperty? }',
    ],
  ])('D6: %s is a mistake', (_, agent, text) => {
    expect(mistakesOf(agent)).toEqual([text])
  })

  it('D6, T12: a stop tool beside an output schema is a mistake where it would end the turn without the value', () => {
    const formal = definePrompt({
      name: 'formal',
      prompt: 'You count.',
      model: 'fast',
      tools: ['done'],
      outputSchema: z.object({ total: z.number() }),
    })
    const side = { prompt: 'formal', stopTool: 'done' }
    expect(mistakesOf({ type: 'ai_human', sideA: side }, [formal])).toEqual([
      'agent "pair" has the tool "done" as sideA.stopTool, which would end the turn without the value of the ' +
        'outputSchema of its prompt "formal"; leave out one of them: the tool `response` ends the turn, too',
    ])
    expect(mistakesOf({ type: 'ai_human', sideA: { ...side, prompt: 'p' } }, [formal])).toEqual([])
    expect(mistakesOf({ type: 'dual_ai', sideA: side, sideB: b }, [formal])).toEqual([])
  })

  it('S9, D6: two sides neither take a thread over nor give it away', () => {
    const lead = definePrompt({ name: 'lead', prompt: 'You lead.', model: 'fast', tools: ['pair'] })
    expect(mistakesOf({ type: 'dual_ai', sideA: a, sideB: b, exposeAsTool: true }, [lead])).toEqual([
      `prompt "lead" names the agent "pair" alone, which would hand the thread over to it, and two sides cannot ` +
        `take it; call it as { name: 'pair' }`,
    ])
    const clerk = defineAgent({ name: 'clerk', type: 'ai_human', sideA: a, exposeAsTool: true })
    const giver = definePrompt({ name: 'giver', prompt: 'You give.', model: 'fast', tools: ['clerk'] })
    expect(mistakesOf({ type: 'dual_ai', sideA: a, sideB: { prompt: 'giver' } }, [clerk, giver])).toEqual([
      `agent "pair" has the prompt "giver", which hands the thread over to "clerk": of a 'dual_ai' agent no side ` +
        `can; call it as { name: 'clerk' }`,
    ])
  })

  it('S3: side B of an agent is spoken to only where it is a model', () => {
    const lead = definePrompt({
      name: 'lead',
      prompt: 'You lead.',
      model: 'fast',
      tools: [{ name: 'pair', resumable: { receives_messages: 'side_b' } }],
    })
    expect(mistakesOf({ type: 'dual_ai', sideA: a, sideB: b, exposeAsTool: true }, [lead])).toEqual([])
    expect(mistakesOf({ type: 'ai_human', sideA: a, exposeAsTool: true }, [lead])).toEqual([
      `prompt "lead" speaks to side B of the agent "pair" (receives_messages: 'side_b'), and that is a person: it ` +
        `must be of type 'dual_ai'`,
    ])
  })
})
