/**
 * Every cut of a thread whose model takes 2,000 tokens: its journal is cut before each record in turn, also between the
 * summary and the request that reads it, and a new skein goes on from there. It must come to the same transcript with
 * the same requests.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import type { Message } from '../../src/core/records/message.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { decode } from '../../src/runtime/journal/journal.js'
import { commitKept } from '../helpers/cut.js'
import { sealMail } from '../../src/runtime/journal/mail.js'
import { createSkein } from '../../src/runtime/skein.js'

const thread = 'cut'
const messages = [
  { id: 'm1', text: 'read a lot' },
  { id: 'm2', text: 'and more' },
] as const

/** `requests`: what the model was shown, by step; a summary as that of the step before which it was asked for. */
function createScenario() {
  const requests = new Map<string, string>()
  const model = scriptedModel(({ messages: said, summary, step }) => {
    const text = JSON.stringify(said.map(({ at: _, ...rest }) => rest))
    // Ids of steps only grow: the last one that it is shown says where it is.
    const last = said.findLast(({ role }) => role === 'assistant')?.id ?? 'none'
    const key = `${summary ? 'summary' : 'step'} after ${last} ${said.findLast(({ id }) => id.startsWith('m'))?.id ?? ''}`
    requests.set(key, text)
    if (summary) return { text: `summary after ${last}`, usage: { inputTokens: 7 } }
    return step < 14
      ? {
          calls: [
            { tool: 'look', args: { step } },
            { tool: 'look', args: { step: step + 100 } },
          ],
        }
      : `read after ${last}`
  })
  const look = defineTool({
    name: 'look',
    description: 'looks',
    args: z.object({ step: z.number() }),
    sideEffect: false,
    execute: (_, { step }) => `${step} `.repeat(step % 3 === 0 ? 300 : 60),
  })
  const app = [
    look,
    defineModel({ name: 'm', model, contextTokens: 2_000 }),
    definePrompt({ name: 'p', prompt: 'You look.', model: 'm', tools: ['look'] }),
    defineAgent({ name: 'looker', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  return { app, requests }
}

async function finish(source: Store, { app }: ReturnType<typeof createScenario>): Promise<unknown> {
  const skein = await createSkein({ app, backend: source, snapshotEvery: 10 })
  const handle = await skein.threads.create({ agent: 'looker', id: thread })
  for (const { id, text } of messages) await handle.send(text, { id, delivery: 'new_turn' }).result()
  await handle.settled()
  const transcript = (await handle.messages()).map(({ at: _, ...rest }: Message) => rest)
  const { own } = await handle.usage()
  await skein.close()
  return { transcript, own }
}

async function plant(source: Store, kept: readonly ThreadRecord[]): Promise<void> {
  const backend = await source.open('host')
  const lease = await backend.leases.acquire(0)
  const accepted = new Set(kept.map(({ by }) => by))
  if (kept.length > 0) {
    await commitKept(backend, lease?.epoch ?? 0, { thread, agent: 'looker', kept })
    const [first] = messages
    if (!accepted.has(first.id)) {
      const body = sealMail({ kind: 'message', role: 'user', text: first.text, delivery: 'new_turn' })
      await backend.mailbox.put({ to: thread, id: first.id, body })
    }
  }
  await lease?.release()
  await backend.close()
}

test('L3, P1: a journal cut before any record goes on to the same transcript with the same requests', async () => {
  const source = memory()
  const whole = createScenario()
  const ended = await finish(source, whole)
  const backend = await source.open('client')
  const records = (await backend.journal.read(thread)).flatMap((entry) => decode(thread, entry))
  await backend.close()
  const reductions = records.filter(({ type }) => type === 'context.reduced')
  expect(reductions.some((record) => record.type === 'context.reduced' && record.summary)).toBe(true)
  expect(reductions.some((record) => record.type === 'context.reduced' && !record.summary)).toBe(true)
  for (let cut = 0; cut < records.length; cut++) {
    const again = createScenario()
    const planted = memory()
    await plant(planted, records.slice(0, cut))
    expect(await finish(planted, again), `cut before record ${cut + 1} (${records[cut]?.type})`).toEqual(ended)
    for (const [key, text] of again.requests) expect(text, `${key}, cut ${cut + 1}`).toBe(whole.requests.get(key))
  }
})
