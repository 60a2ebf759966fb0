/**
 * A tree with children that fail and are called again, cut off after each of its commits: a crash of the process is no
 * failure, so whoever goes on ends with the same attempts, and with the same letters.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import { calls } from '../helpers/app.js'
import { turn } from '../helpers/deferred.js'
import { tapped } from '../helpers/tap.js'
import type { Tap } from '../helpers/tap.js'

const supervision = { strategy: 'one_for_one' as const, maxRestarts: 1 }

/** Which attempt it is stands in a thread's id, so that a model that is asked again after a crash says the same. */
function createApp(): readonly Definition[] {
  const ask = (tool: string, message: string) => ({ tool, args: { message } })
  const writer = scriptedModel(({ messages, thread }) => {
    const said = messages.at(-1)?.text ?? ''
    return said === 'never' || (said === 'second' && !thread.endsWith('_2')) ? { error: 'no' } : `wrote ${said}`
  })
  return [
    defineModel({
      name: 'lead_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 && messages.at(-1)?.text === 'go'
          ? calls(ask('writer', 'first'), ask('writer', 'second'), ask('writer', 'never'), ask('loose', 'second'))
          : 'done',
      ),
    }),
    defineModel({ name: 'writer_m', model: writer, maxRetries: 0 }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [{ name: 'writer' }, { name: 'loose', blocking: false }],
    }),
    definePrompt({ name: 'writer_p', prompt: 'x', model: 'writer_m' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' }, supervision }),
    ...['writer', 'loose'].map((name) =>
      defineAgent({ name, type: 'ai_human' as const, sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
    ),
  ]
}

interface End {
  readonly results: readonly string[]
  readonly threads: readonly string[]
  readonly letters: readonly unknown[]
}

async function live(source: Store, commits = Infinity): Promise<{ readonly taken: number; readonly end: End }> {
  let taken = 0
  const tap: Tap = {
    commit: (_, go) => (taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone'))),
  }
  const clock = manualClock(1_700_000_000_000)
  const skein = await createSkein({ app: createApp(), backend: tapped(source, tap), clock, warn: () => undefined })
  const begun = (async () =>
    (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go', { id: 'm' }).accepted())()
  begun.catch(() => undefined) // where the power is gone before
  for (let quietTurns = 0, before = -1; quietTurns < 40; await turn()) {
    quietTurns = taken === before ? quietTurns + 1 : 0
    before = taken
  }
  const { threads } = await skein.threads.list({ root: 'lead' })
  const messages = threads.length > 0 ? await (await skein.threads.get('lead')).messages({ silent: 'show' }) : []
  const end = {
    results: messages.filter(({ role, silent }) => role === 'tool' || silent).map(({ text }) => text),
    threads: threads.map(({ thread, status }) => `${thread} ${status}`).toSorted(),
    letters: (await skein.deadLetters.list({ root: 'lead' })).map(({ at: _, ...letter }) => letter),
  }
  const closed = skein.close()
  clock.advance(60_000)
  await closed
  return { taken, end }
}

test('B5, P1: attempts are the same wherever the tree is cut off; none is there twice, none is lost', async () => {
  const { taken, end } = await live(memory())
  expect(end.results).toEqual([
    'wrote first',
    'wrote second',
    expect.stringMatching(/CHILD_FAILED.*it was tried 2 times/),
    expect.stringMatching(/started/),
    '[loose-1] wrote second',
  ])
  expect(end.threads).toHaveLength(8)
  expect(end.letters).toMatchObject([{ id: 'lead/writer-3', attempts: 2 }])
  for (let commits = 0; commits < taken; commits++) {
    const source = memory()
    await live(source, commits)
    expect((await live(source)).end, `after ${commits} commits`).toEqual(end)
  }
})
