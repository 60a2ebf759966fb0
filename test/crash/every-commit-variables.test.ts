/**
 * A tree that waits for variables, cut off after each of its commits in turn: a call that is held, a child that is
 * deferred, and a change that flows down. Whoever opens the store then and gives what is missing ends with the same
 * transcripts; no child is lost, none is there twice, no value is lost on the way.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { SkeinError, isSkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import type { Message } from '../../src/core/records/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { calls, looseTool } from '../helpers/app.js'
import { turn } from '../helpers/deferred.js'
import { tapped } from '../helpers/tap.js'
import type { Tap } from '../helpers/tap.js'

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
const results = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
const text = (name: string, scoped = false) => ({ name, type: 'text' as const, scoped })

/** A lead whose tool waits for PLACE, a child whose tool does so too, and one that must be given TOKEN. */
function createApp(): readonly Definition[] {
  const where = looseTool('where', async (state) => `at ${await state.env('PLACE')}`, { variables: [text('PLACE')] })
  const token = looseTool('token', async (state) => `with ${await state.env('TOKEN')} ${await state.env('PLACE')}`, {
    variables: [text('TOKEN', true), text('PLACE')],
  })
  const ask = (tool: string) => ({ tool, args: { message: 'go' } })
  return [
    where,
    token,
    defineModel({
      name: 'lead_m',
      model: scriptedModel(({ messages, step }) => {
        if (last(messages).startsWith('[')) return `heard ${last(messages)}`
        return step === 0
          ? calls(ask('child'), 'where', ask('keeper'))
          : `all: ${results(messages)
              .map((each) => each.slice(0, 40))
              .join(' | ')}`
      }),
    }),
    defineModel({
      name: 'child_m',
      model: scriptedModel(({ messages, step }) => (step === 0 ? calls('where') : `child ${last(messages)}`)),
    }),
    defineModel({
      name: 'keeper_m',
      model: scriptedModel(({ messages, step }) => (step === 0 ? calls('token') : `keeper ${last(messages)}`)),
    }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: ['where', { name: 'child' }, { name: 'keeper' }],
    }),
    definePrompt({ name: 'child_p', prompt: 'x', model: 'child_m', tools: ['where'] }),
    definePrompt({ name: 'keeper_p', prompt: 'x', model: 'keeper_m', tools: ['token'] }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' }, variables: [text('TONE')] }),
    defineAgent({ name: 'child', type: 'ai_human', sideA: { prompt: 'child_p' }, exposeAsTool: true }),
    defineAgent({ name: 'keeper', type: 'ai_human', sideA: { prompt: 'keeper_p' }, exposeAsTool: true }),
  ]
}

const unless = (code: string) => (thrown: unknown) => {
  if (!isSkeinError(thrown) || thrown.code !== code) throw thrown
}

/** Gives whatever is asked for until the tree rests and asks for nothing; what was given before is given again. */
async function finish(skein: Skein): Promise<void> {
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  await lead.send('go', { id: 'm' }).accepted()
  // Mail between threads may be on its way while all of them rest.
  for (let quietTurns = 0; quietTurns < 30; quietTurns++) {
    await turn()
    const { threads } = await skein.threads.list({ root: 'lead' })
    const items = await skein.inbox.list({ root: 'lead' })
    if (!threads.every(({ rest }) => rest) || items.length > 0) quietTurns = 0
    for (const { missing = [], request, thread } of items) {
      const given = Object.fromEntries(missing.map((name) => [name, `the ${name.toLowerCase()}`]))
      if (request === undefined) await lead.env.set(given)
      else await skein.variables.provide(thread, request, given).catch(unless('UNKNOWN_REQUEST'))
    }
  }
}

async function tale(skein: Skein): Promise<unknown> {
  const { threads } = await skein.threads.list({ root: 'lead' })
  const told = await Promise.all(
    threads.map(async ({ thread, agent, status }) => ({
      thread,
      agent,
      status,
      names: await (await skein.threads.get(thread)).env.names(),
      messages: (await (await skein.threads.get(thread)).messages({ silent: 'show' })).map(
        ({ at: _, id: _id, ...rest }) => rest,
      ),
    })),
  )
  return told.toSorted((a, b) => (a.thread < b.thread ? -1 : 1))
}

/** Runs until the store has taken that many commits, and no further. */
async function runUntil(source: Store, commits: number): Promise<number> {
  let taken = 0
  const tap: Tap = {
    commit: (_, go) => (taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone'))),
  }
  const clock = manualClock(1_700_000_000_000)
  const skein = await createSkein({ app: createApp(), backend: tapped(source, tap), clock, warn: () => undefined })
  let over = false
  const ended = finish(skein).then(
    () => (over = true),
    () => (over = true),
  )
  for (let quietTurns = 0, before = -1; quietTurns < 60 && !over; await turn()) {
    quietTurns = taken === before ? quietTurns + 1 : 0
    before = taken
  }
  const closed = skein.close()
  clock.advance(60_000)
  await closed
  await ended
  return taken
}

test('EN5, P1: cut off after any commit, a tree that waits for variables goes on to the same end', async () => {
  const skein = await createSkein({ app: createApp(), backend: memory(), clock: manualClock(1_700_000_000_000) })
  await finish(skein)
  const expected = await tale(skein)
  await skein.close()
  expect(JSON.stringify(expected)).toContain('heard [keeper-1] keeper with the token the place')
  expect(JSON.stringify(expected)).toContain('all: child at the place | at the place | Error subagent_env_required')
  expect(expected).toHaveLength(3)
  const all = await runUntil(memory(), Infinity)
  expect(all).toBeGreaterThan(10)

  for (let commits = 0; commits < all; commits++) {
    const source = memory()
    await runUntil(source, commits)
    const again = await createSkein({ app: createApp(), backend: source, clock: manualClock(1_700_000_100_000) })
    await finish(again)
    expect(await tale(again), `after ${commits} commits`).toEqual(expected)
    await again.close()
  }
})
