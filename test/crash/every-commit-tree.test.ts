/**
 * A tree of threads, cut off after each of its commits in turn: whatever the store took is there, nothing else is. Whoever
 * opens it then ends with the same transcripts; no child is lost, none is there twice.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory.js'
import type { BackendSource } from '../../src/backend/port.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import type { Message } from '../../src/core/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { calls, looseTool } from '../helpers/app.js'
import { turn } from '../helpers/deferred.js'
import { tapped } from '../helpers/tap.js'
import type { Tap } from '../helpers/tap.js'

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

interface Tree {
  readonly text: string
  readonly threads: readonly unknown[]
}

async function finish(skein: Skein): Promise<Tree> {
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  const text = await lead.send('go', { id: 'm' }).text()
  // The last words of children may still be on their way.
  for (let resting = false; !resting; await turn()) resting = (await skein.threads.list({ root: 'lead' })).threads.every(({ rest }) => rest)
  const threads = await Promise.all(
    (await skein.threads.list({ root: 'lead' })).threads.map(async ({ thread, agent, status }) => ({ thread, agent, status, messages: (await (await skein.threads.get(thread)).messages()).map(({ at: _, ...rest }) => rest) })),
  )
  return { text, threads: threads.toSorted((a, b) => (a.thread < b.thread ? -1 : 1)) }
}

/** Runs until the store has taken that many commits, and no further. */
async function runUntil(source: BackendSource, commits: number, ran: string[]): Promise<number> {
  let taken = 0
  const tap: Tap = { commit: (_, go) => (taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone'))) }
  const clock = manualClock(1_700_000_000_000)
  const skein = await createSkein({ app: createApp(ran), backend: tapped(source, tap), clock, warn: () => undefined })
  const ended = skein.threads.create({ agent: 'lead', id: 'lead' }).then((lead) => lead.send('go', { id: 'm' }).result())
  let over = false
  ended.then(
    () => (over = true),
    () => (over = true),
  )
  for (let quietTurns = 0, before = -1; quietTurns < 30 && !over; await turn()) {
    quietTurns = taken === before ? quietTurns + 1 : 0
    before = taken
  }
  const closed = skein.close()
  clock.advance(60_000)
  await closed
  return taken
}

test('KI1, P1: a tree that is cut off after any commit goes on to the same end; no child is lost, none is there twice', async () => {
  const whole: string[] = []
  const skein = await createSkein({ app: createApp(whole), backend: memory() })
  const expected = await finish(skein)
  await skein.close()
  expect(expected.text).toBe('all: wrote saw a | boss of wrote saw b1, wrote saw b2 | wrote saw c | kept 1\n\n[reference: keeper-1] | kept 2')
  expect(expected.threads).toHaveLength(7)
  const all = await runUntil(memory(), Infinity, [])
  expect(all).toBeGreaterThan(20)

  for (let commits = 0; commits < all; commits++) {
    const source = memory()
    const ran: string[] = []
    await runUntil(source, commits, ran)
    const again = await createSkein({ app: createApp(ran), backend: source, clock: manualClock(1_700_000_100_000) })
    expect(await finish(again), `after ${commits} commits`).toEqual(expected)
    await again.close()
    // A body runs again only when its result was not taken.
    for (const at of ['a', 'b1', 'b2', 'c']) expect(ran.filter((each) => each === at).length, `${at} after ${commits} commits`).toBeLessThanOrEqual(2)
  }
}, 60_000)
