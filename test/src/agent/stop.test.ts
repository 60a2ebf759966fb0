/** Stop rules of a prompt: what the helpers give, and what is told when the app is loaded. */
import { expect, it } from 'vitest'
import { createApp } from '../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt } from '../../../src/agent/define.js'
import { finishReasonIs, hasToolCall, maxCost, maxTokensUsed, stepCountIs } from '../../../src/agent/stop.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { looseTool } from '../../helpers/app.js'

const look = looseTool('look', () => 'seen')

function load(fields: object) {
  return createApp(
    [
      look,
      defineModel({ name: 'm', model: scriptedModel([]) }),
      definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: [look], ...fields }),
      defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
    ],
    'app.ts',
  )
}

it('R3: conditions are plain data', () => {
  const all = [stepCountIs(2), hasToolCall(look), maxTokensUsed(5), maxCost(0.5), finishReasonIs('length')]
  expect(all).toEqual([
    { if: 'steps', is: 2 },
    { if: 'tool', is: 'look' },
    { if: 'tokens', is: 5 },
    { if: 'cost', is: 0.5 },
    { if: 'finish', is: 'length' },
  ])
  expect(load({ stopWhen: all, maxToolRounds: () => true, lastAnswer: 'Sum up.' }).prompts.get('p')?.stopWhen).toBe(all)
})

it.each([
  [{ stopWhen: hasToolCall('lok') }, /stops when "lok" is called, which is not among its tools: look/],
  [{ stopWhen: [stepCountIs(1), hasToolCall('lok')] }, /stops when "lok"/],
  [{ stopWhen: stepCountIs(0) }, /stopWhen.is: Too small/],
  [{ stopWhen: 3 }, /stopWhen: must be stepCountIs\(n\)/],
  [{ stopWhen: [{ if: 'moon', is: 'full' }] }, /stopWhen: must be stepCountIs\(n\)/],
  [{ maxToolRounds: -1 }, /maxToolRounds: must be a whole number from 0, or a function/],
  [{ maxToolRounds: 1.5 }, /maxToolRounds: must be a whole number/],
  [{ lastAnswer: false }, /lastAnswer: must be true/],
])('R3, D1: %j is told when the app is loaded', (fields, told) => {
  expect(() => load(fields)).toThrow(told)
})
