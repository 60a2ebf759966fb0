/**
 * A tree of threads, cut off after each of its commits in turn: whatever the store took is there, nothing else is. Whoever
 * opens it then ends with the same transcripts; no child is lost, none is there twice.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { calls, looseTool } from '../helpers/app.js'
import { cutAfterEveryCommit } from '../helpers/every-commit.js'

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
const results = (messages: readonly Message[]): string[] => messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

/** A lead, two kinds of children, and grandchildren. */
function createApp(ran: string[]): readonly Definition[] {
  const look = looseTool('look', (_, { at }) => (ran.push(String(at)), `saw ${String(at)}`))
  const ask = (tool: string, message: string) => ({ tool, args: { message } })
  return [
    look,
    defineModel({ name: 'lead_m', model: scriptedModel(({ messages, step }) => [calls(ask('writer', 'a'), ask('boss', 'b'), ask('writer', 'c')), calls({ tool: 'subagent_create', args: { agent: 'keeper', name: 'K', message: 'one' } }), calls({ tool: 'subagent_message', args: { reference: 'keeper-1', message: 'two' } })][step] ?? `all: ${results(messages).join(' | ')}`) }),
    defineModel({ name: 'writer_m', model: scriptedModel(({ messages, step }) => (step === 0 ? calls({ tool: 'look', args: { at: last(messages) } }) : `wrote ${results(messages).join()}`)) }),
    defineModel({ name: 'boss_m', model: scriptedModel(({ messages, step }) => (step === 0 ? calls(ask('writer', 'b1'), ask('writer', 'b2')) : `boss of ${results(messages).join(', ')}`)) }),
    defineModel({ name: 'keeper_m', model: scriptedModel(({ messages }) => `kept ${messages.filter(({ role }) => role === 'user').length}`) }),
    definePrompt({ name: 'lead_p', prompt: 'x', model: 'lead_m', tools: [{ name: 'writer' }, { name: 'boss' }, { name: 'keeper', resumable: { receives_messages: 'side_a' } }] }),
    definePrompt({ name: 'writer_p', prompt: 'x', model: 'writer_m', tools: ['look'] }),
    definePrompt({ name: 'boss_p', prompt: 'x', model: 'boss_m', tools: [{ name: 'writer' }] }),
    definePrompt({ name: 'keeper_p', prompt: 'x', model: 'keeper_m' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['writer', 'boss', 'keeper'].map((name) => defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true })),
  ]
}

test('KI1, P1: a tree that is cut off after any commit goes on to the same end; no child is lost, none is there twice', async () => {
  const { text, threads, cuts, runs } = await cutAfterEveryCommit(createApp)
  expect(text).toBe('all: wrote saw a | boss of wrote saw b1, wrote saw b2 | wrote saw c | kept 1\n\n[reference: keeper-1] | kept 2')
  expect(threads).toHaveLength(7)
  expect(cuts).toBeGreaterThan(20)
  // A body runs again only when its result was not taken.
  for (const ran of runs) for (const at of ['a', 'b1', 'b2', 'c']) expect(ran.filter((each) => each === at).length, at).toBeLessThanOrEqual(2)
}, 60_000)
