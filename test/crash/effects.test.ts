/**
 * Effects on the world: the intent is durable before the body starts, and a body that may have run is never silently run
 * again. The crash is the journal that one leaves behind: an intent without a receipt.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import type { Tool } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory.js'
import type { BackendSource } from '../../src/backend/port.js'
import type { ThreadRecord } from '../../src/core/record.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { chainStart, decode, pack } from '../../src/runtime/journal.js'
import { createSkein } from '../../src/runtime/skein.js'

const thread = 'payer'
const args = z.object({ cents: z.number() })

/** An agent that charges once and then tells what came of it. */
function createApp(policy: Partial<Tool<typeof args>>, execute: Tool<typeof args>['execute']) {
  return [
    defineModel({ name: 'm', model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? `it says: ${messages.at(-1)?.text}` : { calls: [{ tool: 'charge', args: { cents: 500 } }] })) }),
    definePrompt({ name: 'p', prompt: 'You pay.', model: 'm', tools: ['charge'] }),
    defineAgent({ name: 'payer', type: 'ai_human', sideA: { prompt: 'p' } }),
    defineTool({ name: 'charge', description: 'charges', args, sideEffect: true, ...policy, execute }),
  ]
}

async function readAll(source: BackendSource): Promise<ThreadRecord[]> {
  const backend = await source.open('client')
  const records = (await backend.journal.read(thread)).flatMap((entry) => decode(thread, entry))
  await backend.close()
  return records
}

/** A whole run: its records, and the key that the body was given. */
async function whole(): Promise<{ readonly records: ThreadRecord[]; readonly key: string; readonly before: string[] }> {
  const source = memory()
  let key = ''
  let before: string[] = []
  const app = createApp({}, async ({ idempotencyKey }) => {
    key = idempotencyKey
    before = (await readAll(source)).map(({ type }) => type)
    return 'charged'
  })
  const skein = await createSkein({ app, backend: source })
  await (await skein.threads.create({ agent: 'payer', id: thread })).send('pay').result()
  await skein.close()
  return { records: await readAll(source), key, before }
}

/** Goes on from a journal that ends with the intent. */
async function recover(policy: Partial<Tool<typeof args>>): Promise<{ readonly text: string; readonly keys: string[] }> {
  const { records } = await whole()
  const kept = records.slice(0, records.findIndex(({ type }) => type === 'call.began') + 1)
  const source = memory()
  const backend = await source.open('host')
  const head = { agent: 'payer', status: 'acting', root: thread, path: [thread], tags: [], rest: false, createdAt: 0, updatedAt: 0 }
  await backend.commit({ thread, expected: 0, epoch: 1, entry: pack(kept, chainStart), head, sends: [], done: [] })
  await backend.close()
  const keys: string[] = []
  const app = createApp(policy, ({ idempotencyKey }) => {
    keys.push(idempotencyKey)
    return 'charged now'
  })
  const skein = await createSkein({ app, backend: source })
  const handle = await skein.threads.get(thread)
  await handle.settled()
  const text = (await handle.messages()).at(-1)?.text ?? ''
  await skein.close()
  return { text, keys }
}

test('EX3: the intent is durable before the body starts, and the receipt follows it', async () => {
  const { records, before } = await whole()
  expect(before.at(-1)).toBe('call.began')
  expect(records.map(({ type }) => type)).toEqual(['thread.created', 'message.received', 'turn.started', 'model.replied', 'call.began', 'call.returned', 'model.replied', 'turn.ended'])
})

test('EX3: an effect that may have happened is not run again; the model is told', async () => {
  const { text, keys } = await recover({})
  expect(keys).toEqual([])
  expect(text).toMatch(/EFFECT_UNKNOWN: charge had begun .* may already have happened/)
})

test('EX3: an idempotent one runs again with the same key, and so does one that says retry', async () => {
  const { key } = await whole()
  for (const policy of [{ idempotent: true }, { onUnknown: 'retry' }] as const) {
    expect(await recover(policy)).toEqual({ text: 'it says: charged now', keys: [key] })
  }
})

test('EX3: a probe asks the world first', async () => {
  const { key } = await whole()
  const asked: string[] = []
  const happened = await recover({ probe: ({ idempotencyKey }) => (asked.push(idempotencyKey), 'charged before') })
  expect(happened).toEqual({ text: 'it says: charged before', keys: [] })
  expect(asked).toEqual([key])
  expect(await recover({ probe: () => null })).toEqual({ text: 'it says: charged now', keys: [key] })
  const broken = await recover({
    probe: () => {
      throw new Error('the bank is closed')
    },
  })
  expect(broken.keys).toEqual([])
  expect(broken.text).toMatch(/EFFECT_UNKNOWN/)
})

test('OU3: a call with a side effect waits for those before it and holds back those behind it', async () => {
  const order: string[] = []
  const note = (name: string, sideEffect: boolean) =>
    defineTool({
      name,
      description: name,
      args: z.object({}),
      sideEffect,
      async execute() {
        order.push(`${name} begins`)
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
        order.push(`${name} ends`)
      },
    })
  const app = [
    defineModel({ name: 'm', model: scriptedModel([{ calls: ['a', 'b', 'pay', 'c', 'd'].map((tool) => ({ tool, args: {} })) }, 'done']) }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['a', 'b', 'pay', 'c', 'd'] }),
    defineAgent({ name: 'payer', type: 'ai_human', sideA: { prompt: 'p' } }),
    ...['a', 'b', 'c', 'd'].map((name) => note(name, false)),
    note('pay', true),
  ]
  const skein = await createSkein({ app, backend: memory() })
  expect(await (await skein.threads.create({ agent: 'payer' })).send('go').text()).toBe('done')
  await skein.close()
  const at = (what: string): number => order.indexOf(what)
  expect(at('b begins')).toBeLessThan(at('a ends')) // side by side
  expect(at('pay begins')).toBeGreaterThan(Math.max(at('a ends'), at('b ends')))
  expect(at('pay ends')).toBeLessThan(Math.min(at('c begins'), at('d begins')))
  expect(at('d begins')).toBeLessThan(at('c ends'))
})
