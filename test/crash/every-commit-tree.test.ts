/**
 * A tree of threads, cut off after each of its commits in turn: whatever the store took is there, nothing else is.
 * Whoever opens it then ends with the same transcripts; no child is lost, none is there twice.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/records/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { calls, looseTool } from '../helpers/app.js'
import { cutAfterEveryCommit } from '../helpers/every-commit.js'

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
const results = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

/** A lead, two kinds of children, and grandchildren. */
function createApp(ran: string[]): readonly Definition[] {
  const look = looseTool('look', async ({ files }, { at }) => {
    ran.push(String(at))
    await files.writeFile('/seen.txt', String(at))
    return { status: 'success', result: `saw ${String(at)}`, attachments: ['/seen.txt'] }
  })
  const say = looseTool('say', async ({ files, notifyParent, setStatus }) => {
    await files.writeFile('/kept/k.txt', 'kept')
    setStatus('keeping')
    await notifyParent('by the way', { attachments: ['/kept'] })
    return 'said'
  })
  const ask = (tool: string, message: string) => ({ tool, args: { message } })
  return [
    look,
    say,
    defineModel({
      name: 'lead_m',
      model: scriptedModel(
        ({ messages, step }) =>
          [
            calls(ask('writer', 'a'), ask('boss', 'b'), ask('writer', 'c')),
            calls({ tool: 'subagent_create', args: { agent: 'keeper', name: 'K', message: 'one' } }),
            calls({ tool: 'subagent_message', args: { reference: 'keeper-1', message: 'two' } }),
          ][step] ?? `all: ${results(messages).join(' | ')}`,
      ),
    }),
    defineModel({
      name: 'writer_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? calls({ tool: 'look', args: { at: last(messages) } }) : `wrote ${results(messages).join()}`,
      ),
    }),
    defineModel({
      name: 'boss_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? calls(ask('writer', 'b1'), ask('writer', 'b2')) : `boss of ${results(messages).join(', ')}`,
      ),
    }),
    defineModel({
      name: 'keeper_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? calls('say') : `kept ${messages.filter(({ role }) => role === 'user').length}`,
      ),
    }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [{ name: 'writer' }, { name: 'boss' }, { name: 'keeper', resumable: { receives_messages: 'side_a' } }],
    }),
    definePrompt({ name: 'writer_p', prompt: 'x', model: 'writer_m', tools: ['look'] }),
    definePrompt({ name: 'boss_p', prompt: 'x', model: 'boss_m', tools: [{ name: 'writer' }] }),
    definePrompt({ name: 'keeper_p', prompt: 'x', model: 'keeper_m', tools: ['say'] }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['writer', 'boss', 'keeper'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ),
  ]
}

test('S8, S13, P1: a tree that is cut off after any commit goes on to the same end; no child is lost or there twice, no word of a child is heard twice, no file is missing', async () => {
  const { text, threads, cuts, runs } = await cutAfterEveryCommit(createApp)
  expect(text.replaceAll(/\n\n\[attached: \/attachments\/([^\]]*)\]/g, ' ($1)')).toBe(
    'all: wrote saw a (seen.txt) | boss of wrote saw b1 (seen.txt), wrote saw b2 (seen-2.txt) | wrote saw c ' +
      '(seen-2.txt) | kept 1\n\n[reference: keeper-1] | kept 2',
  )
  const lead = threads.find(({ agent }) => agent === 'lead')
  expect(lead).toMatchObject({
    files: [
      '/attachments',
      '/attachments/kept',
      '/attachments/kept/k.txt',
      '/attachments/kept-2',
      '/attachments/kept-2/k.txt',
      '/attachments/seen-2.txt',
      '/attachments/seen.txt',
    ],
  })
  expect(threads).toContainEqual(expect.objectContaining({ agent: 'keeper', reference: 'keeper-1', says: 'keeping' }))
  expect(threads).toHaveLength(7)
  expect(cuts).toBeGreaterThan(20)
  // A body runs again only when its result was not taken.
  for (const ran of runs)
    for (const at of ['a', 'b1', 'b2', 'c']) expect(ran.filter((each) => each === at).length, at).toBeLessThanOrEqual(2)
})
