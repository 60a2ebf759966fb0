/** A thread that is handed over, and prompts that are called, cut off after each commit in turn. */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { calls, looseTool } from '../helpers/app.js'
import { results } from '../helpers/asking.js'
import { cutAfterEveryCommit } from '../helpers/every-commit.js'

/** A lead that has things summed up beside other calls, hands over, and has the expert do the same. */
function createApp(ran: string[]): readonly Definition[] {
  const look = looseTool('look', (_, { at }) => {
    ran.push(String(at))
    return `saw ${String(at)}`
  })
  const sum = (message: string) => ({ tool: 'sum_up', args: { message } })
  const see = (at: string) => ({ tool: 'look', args: { at } })
  return [
    look,
    defineModel({
      name: 'lead_m',
      model: scriptedModel(() => calls(sum('a'), see('lead'), sum('b'), 'expert', 'clerk')),
    }),
    defineModel({
      name: 'expert_m',
      model: scriptedModel(({ messages }) =>
        results(messages).length < 6 ? calls(sum('c')) : `all: ${results(messages).join(' | ')}`,
      ),
    }),
    defineModel({
      name: 'sum_m',
      model: scriptedModel(({ messages }) => ({ text: 'sum', calls: [see(messages[0]?.text ?? '')] })),
    }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: ['look', { name: 'sum_up', includeToolCalls: true }, 'expert', 'clerk'],
    }),
    definePrompt({ name: 'expert_p', prompt: 'x', model: 'expert_m', tools: ['sum_up'] }),
    definePrompt({ name: 'sum_up', prompt: 'x', model: 'sum_m', tools: ['look'], exposeAsTool: true }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['expert', 'clerk'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: 'expert_p' }, exposeAsTool: true }),
    ),
  ]
}

test('S9, S10, P1: cut off after any commit, the thread is handed over once and no prompt is asked twice in the end', async () => {
  const { text, threads, cuts, runs } = await cutAfterEveryCommit(createApp)
  const summed = (at: string) =>
    `{"text":"sum","toolCalls":[{"tool":"look","args":{"at":"${at}"},"result":"saw ${at}"}]}`
  expect(text).toMatch(
    new RegExp(
      `^all: ${[summed('a'), 'saw lead', summed('b'), 'Handoff complete'].join(' | ').replaceAll(/[[\]{}|]/g, '\\$&')} \\| Error TOOL_NOT_ALLOWED.* \\| sum$`,
    ),
  )
  expect(threads.map(({ agent, status }) => `${agent} ${status}`).toSorted()).toEqual([
    'expert idle',
    'prompt:sum_up done',
    'prompt:sum_up done',
    'prompt:sum_up done',
  ])
  expect(cuts).toBeGreaterThan(7)
  for (const ran of runs)
    for (const at of ['lead', 'a', 'b', 'c'])
      expect(ran.filter((each) => each === at).length, at).toBeLessThanOrEqual(2)
})
