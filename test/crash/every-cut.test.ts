/**
 * Every cut: a scenario with several turns, parallel calls and queued messages is recorded once; then its journal is
 * cut before each record in turn, and a new skein goes on from there. The transcript must come out the same, and
 * nothing that was finished may run again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { callKey, modelKey } from '../../src/core/effect.js'
import type { Message } from '../../src/core/records/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import { plant, recordsOf } from '../helpers/cut.js'
import { deferred, turn } from '../helpers/deferred.js'

const thread = 'cut'

/** Sent in this order; the first steers turn one, the others wait for turns of their own. */
const messages = [
  { id: 'm1', text: 'gather', delivery: 'new_turn' },
  { id: 'm2', text: 'and hurry', delivery: 'steer' },
  { id: 'm3', text: 'again', delivery: 'new_turn' },
  { id: 'm4', text: 'plain', delivery: 'new_turn' },
] as const

const sent = messages.map(({ id, text, delivery }) => ({
  id,
  command: { kind: 'message', role: 'user', text, delivery } as const,
}))

/**
 * What ran, by key. No call ends before `open` was called (so that every message of the scenario is there by then),
 * and the later calls of a step end first.
 */
function createScenario() {
  const ran: string[] = []
  const asked: string[] = []
  const gate = deferred()
  const look = defineTool({
    name: 'look',
    description: 'looks somewhere',
    args: z.object({ step: z.number(), index: z.number() }),
    async execute(_, { step, index }) {
      ran.push(callKey(step, index))
      await gate.promise
      for (let turns = index; turns < 3; turns++) await turn()
      if (index === 1) throw new Error(`nothing at ${step}.${index}`)
      return { found: `${step}.${index}` }
    },
  })
  const model = scriptedModel(({ messages: said }) => {
    const step = said.filter(({ role }) => role === 'assistant').length + 1
    asked.push(modelKey(step))
    const user = said.findLast(({ role }) => role === 'user')?.text ?? ''
    const inTurn = said
      .slice(said.findLastIndex(({ text, role }) => role === 'user' && ['gather', 'again', 'plain'].includes(text)))
      .filter(({ role }) => role === 'assistant').length
    const width = user === 'plain' ? 0 : ([3, 2, 0][inTurn] ?? 0)
    if (width === 0) return { text: `answer ${step} to ${user}` }
    return {
      text: `step ${step}`,
      calls: Array.from({ length: width }, (_, index) => ({ tool: 'look', args: { step, index } })),
    }
  })
  const app = [
    defineModel({ name: 'm', model }),
    definePrompt({ name: 'p', prompt: 'You look.', model: 'm', tools: ['look'] }),
    defineAgent({ name: 'looker', type: 'ai_human', sideA: { prompt: 'p' } }),
    look,
  ]
  return { app, ran, asked, open: gate.resolve }
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

async function localSource(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-cut-'))
  folders.push(folder)
  return local(folder)
}

/** Everything of a message but when it was written. */
function timeless(transcript: readonly Message[]): unknown[] {
  return transcript.map(({ at: _, ...rest }) => rest)
}

async function finish(source: Store, scenario: ReturnType<typeof createScenario>): Promise<unknown[]> {
  const skein = await createSkein({ app: scenario.app, backend: source })
  const handle = await skein.threads.create({ agent: 'looker', id: thread })
  for (const { id, text, delivery } of messages) await handle.send(text, { id, delivery }).accepted()
  scenario.open()
  await handle.run('m4').result()
  await handle.settled()
  const transcript = timeless(await handle.messages())
  await skein.close()
  return transcript
}

describe.each([
  ['memory', async () => memory()],
  ['local', localSource],
] as const)('%s', (_, makeSource) => {
  test('P1, T4: a journal cut before any record goes on to the same transcript and runs nothing finished again', async () => {
    const source = await makeSource()
    const whole = createScenario()
    const transcript = await finish(source, whole)
    const records = await recordsOf(source, thread)
    expect(new Set(whole.ran).size).toBe(10)
    expect(transcript.length).toBeGreaterThan(18)

    for (let cut = 0; cut < records.length; cut++) {
      const kept = records.slice(0, cut)
      const again = createScenario()
      const planted = await makeSource()
      await plant(planted, { thread, agent: 'looker', kept, sent })
      expect(await finish(planted, again), `cut before record ${cut + 1} (${records[cut]?.type})`).toEqual(transcript)

      const done = kept.flatMap((record) =>
        record.type === 'call.returned' ? [callKey(record.step, record.index)] : [],
      )
      const answered = kept.flatMap((record) => (record.type === 'model.replied' ? [modelKey(record.step)] : []))
      expect([...done, ...again.ran].toSorted()).toEqual(whole.ran.toSorted())
      expect([...answered, ...again.asked].toSorted()).toEqual(whole.asked.toSorted())
    }
  })
})
