/** A parent and its children with hooks of their own, cut off after each commit in turn. */
import { expect, test } from 'vitest'
import { defineHook } from '../../src/agent/define-hook.js'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { results } from '../helpers/asking.js'
import { cutAfterEveryCommit } from '../helpers/every-commit.js'

function createApp(ran: string[]): readonly Definition[] {
  const ask = (message: string) => ({ tool: 'writer', args: { message } })
  return [
    defineHook({
      name: 'brief',
      on: 'subagent_created',
      run: ({ text, reference }) => (text === 'no' ? { refuse: 'not that' } : { text: `${text} as ${reference}` }),
    }),
    defineHook({
      name: 'check',
      on: 'after_call',
      run: ({ outcome, call }, { key }) => {
        ran.push(key)
        return outcome.ok ? { result: `${String(outcome.value)} [${call}]` } : undefined
      },
    }),
    defineHook({ name: 'born', on: 'thread_created', run: ({ parent }) => ({ message: `Your parent is ${parent}.` }) }),
    defineHook({ name: 'filter', on: 'message', run: async ({ text }) => ({ text: `${text}?` }) }),
    defineHook({
      name: 'again',
      on: 'stop',
      run: ({ text }) => (text.includes('really') ? undefined : { goOn: 'Really?' }),
    }),
    defineModel({
      name: 'lead_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? { calls: [ask('a'), ask('no'), ask('b')] } : results(messages).join(' | '),
      ),
    }),
    defineModel({
      name: 'writer_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? `wrote ${messages.map(({ text }) => text).join(' ')}` : `really wrote ${messages.length}`,
      ),
    }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [{ name: 'writer' }],
      hooks: ['brief', 'check'],
    }),
    definePrompt({ name: 'writer_p', prompt: 'x', model: 'writer_m', hooks: ['born', 'filter', 'again'] }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
  ]
}

test('K3, P1: hooks of a parent and of its children decide the same, whichever commit is the last', async () => {
  const { text, cuts, runs } = await cutAfterEveryCommit(createApp)
  expect(text).toBe(
    'really wrote 4 [call_1_0] | Error HOOK_REFUSED: writer was not run: not that | really wrote 4 [call_1_2]',
  )
  expect(cuts).toBeGreaterThan(10)
  for (const ran of runs)
    expect(new Set(ran)).toEqual(new Set(['lead/hook/step/1/call/0/check', 'lead/hook/step/1/call/2/check']))
}, 60_000)
