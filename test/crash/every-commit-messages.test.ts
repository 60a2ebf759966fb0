/**
 * A parent that speaks to children that stay, cut off after each commit of the tree in turn: each message has the
 * answer to itself.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/records/message.js'
import type { RequestedCall } from '../../src/models/port.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { results } from '../helpers/asking.js'
import { calls } from '../helpers/app.js'
import { cutAfterEveryCommit } from '../helpers/every-commit.js'

const make = (agent: string, message: string): RequestedCall => ({
  tool: 'subagent_create',
  args: { agent, name: 'N', message },
})
const say = (reference: string, message: string): RequestedCall => ({
  tool: 'subagent_message',
  args: { reference, message },
})
const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''

/** One child is waited for, and one is not: what it says comes as messages. */
function createApp(): readonly Definition[] {
  const resumable = { receives_messages: 'side_a' } as const
  const steps = [
    calls(make('sage', 'zero')),
    calls(say('sage-1', 'France?'), say('sage-1', 'Italy?')),
    calls(make('clerk', 'one')),
    calls(say('clerk-1', 'two'), say('sage-1', 'Spain?')),
  ]
  return [
    defineModel({
      name: 'lead_m',
      model: scriptedModel(({ messages, step }) =>
        last(messages).startsWith('[clerk')
          ? 'read'
          : (steps[results(messages).length === 0 ? 0 : step] ?? `all: ${results(messages).join(' | ')}`),
      ),
    }),
    ...['sage', 'clerk'].map((name) =>
      defineModel({ name: `${name}_m`, model: scriptedModel(({ messages }) => `${name} on ${last(messages)}`) }),
    ),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [
        { name: 'sage', resumable },
        { name: 'clerk', blocking: false, resumable },
      ],
    }),
    ...['sage', 'clerk'].map((name) => definePrompt({ name: `${name}_p`, prompt: 'x', model: `${name}_m` })),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['sage', 'clerk'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ),
  ]
}

type Said = Pick<Message, 'text' | 'silent'>

/** When a report comes that nobody waits for is not promised: it is looked at apart. */
const view = ({
  threads,
}: {
  readonly threads: readonly { readonly agent: string; readonly messages: readonly Said[] }[]
}) =>
  threads.map(({ agent, messages }) => ({
    agent,
    said: agent === 'lead' ? [] : messages.map(({ text }) => text),
    told: messages.flatMap(({ text, silent }) => (silent ? [text] : [])),
  }))

test('S2, S13, P1: cut off after any commit, each message to a child is answered by itself, once and in order', async () => {
  const { threads, cuts } = await cutAfterEveryCommit(createApp, undefined, view)
  const saidBy = (agent: string) =>
    threads.find((thread) => thread.agent === agent)?.messages.map(({ text }) => text) ?? []
  expect(saidBy('sage')).toEqual([
    'zero',
    'sage on zero',
    'France?',
    'sage on France?',
    'Italy?',
    'sage on Italy?',
    'Spain?',
    'sage on Spain?',
  ])
  expect(saidBy('lead').filter((text) => text.startsWith('sage') || text.startsWith('[clerk'))).toEqual(
    expect.arrayContaining([
      'sage on France?',
      'sage on Italy?',
      'sage on Spain?',
      '[clerk-1] clerk on one',
      '[clerk-1] clerk on two',
    ]),
  )
  expect(cuts).toBeGreaterThan(12)
})

/** A boss that does not stay and a keeper that does; both start helpers that they do not wait for. */
function createHelped(): readonly Definition[] {
  const hidden = (messages: readonly Message[]): number => messages.filter(({ silent }) => silent).length
  const above = scriptedModel(({ messages }) =>
    last(messages) === 'begin'
      ? calls({ tool: 'helper', args: { message: 'a' } }, { tool: 'helper', args: { message: 'b' } })
      : `seen ${hidden(messages)}`,
  )
  const lead = scriptedModel(({ messages }) =>
    last(messages) === 'go'
      ? calls({ tool: 'boss', args: { message: 'begin' } }, make('keeper', 'begin'))
      : `ok ${hidden(messages)}`,
  )
  return [
    defineModel({ name: 'lead_m', model: lead }),
    defineModel({ name: 'above_m', model: above }),
    defineModel({ name: 'helper_m', model: scriptedModel(({ messages }) => `helped ${last(messages)}`) }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [{ name: 'boss' }, { name: 'keeper', resumable: { receives_messages: 'side_a' } }],
    }),
    definePrompt({ name: 'above_p', prompt: 'x', model: 'above_m', tools: [{ name: 'helper', blocking: false }] }),
    definePrompt({ name: 'helper_p', prompt: 'x', model: 'helper_m' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['boss', 'keeper'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: 'above_p' }, exposeAsTool: true }),
    ),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'helper_p' }, exposeAsTool: true }),
  ]
}

interface SeenTree {
  readonly threads: readonly { readonly agent: string; readonly status: string; readonly messages: readonly Said[] }[]
}

/** In how many turns a helper's words are read is not promised; that they are, and what it all comes to, is. */
const atLast = ({ threads }: SeenTree) =>
  threads.map(({ agent, status, messages }) => {
    const words = messages.map(({ text }) => text)
    return {
      agent,
      status,
      answers: agent === 'lead' ? words.filter((text) => /seen 2/.test(text)).length : 0,
      helped: words.filter((text) => /^\[helper-\d\] helped [ab]$/.test(text)).toSorted(),
    }
  })

test('S1, S7, S13, P1: cut off after any commit, a child that does not stay answers when its own have, and one that stays tells of each turn', async () => {
  const { threads } = await cutAfterEveryCommit(createHelped, undefined, atLast)
  expect(atLast({ threads }).toSorted((a, b) => (a.agent < b.agent ? -1 : 1))).toMatchObject([
    { agent: 'boss', status: 'done', helped: ['[helper-1] helped a', '[helper-2] helped b'] },
    ...Array.from({ length: 4 }, () => ({ agent: 'helper', status: 'done' })),
    { agent: 'keeper', status: 'idle', helped: ['[helper-1] helped a', '[helper-2] helped b'] },
    { agent: 'lead', status: 'idle', answers: 2 },
  ])
})
