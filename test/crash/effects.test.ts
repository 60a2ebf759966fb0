/**
 * Effects on the world: the intent is durable before the body starts, and a body that may have run is never silently
 * run again. The crash is the journal that one leaves behind: an intent without a receipt.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import type { Tool } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { chainStart, decode, pack } from '../../src/runtime/journal/journal.js'
import { sealMail } from '../../src/runtime/journal/mail.js'
import { createSkein } from '../../src/runtime/skein.js'
import { deferred, until } from '../helpers/deferred.js'

const thread = 'payer'
const args = z.object({ cents: z.number() })

/** An agent that charges once and then tells what came of it. */
function createApp(policy: Partial<Tool<typeof args>>, execute: NonNullable<Tool<typeof args>['execute']>) {
  return [
    defineModel({
      name: 'm',
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? `it says: ${messages.at(-1)?.text}`
          : { calls: [{ tool: 'charge', args: { cents: 500 } }] },
      ),
    }),
    definePrompt({ name: 'p', prompt: 'You pay.', model: 'm', tools: ['charge'] }),
    defineAgent({ name: 'payer', type: 'ai_human', sideA: { prompt: 'p' } }),
    defineTool({ name: 'charge', description: 'charges', args, sideEffect: true, ...policy, execute }),
  ]
}

async function readAll(source: Store): Promise<ThreadRecord[]> {
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

/** A store whose journal ends with the intent. */
async function left(): Promise<Store> {
  const { records } = await whole()
  const kept = records.slice(0, records.findIndex(({ type }) => type === 'call.began') + 1)
  const source = memory()
  const backend = await source.open('host')
  const head = {
    agent: 'payer',
    status: 'acting',
    root: thread,
    path: [thread],
    tags: [],
    rest: false,
    createdAt: 0,
    updatedAt: 0,
  }
  await backend.commit({ thread, expected: 0, epoch: 1, entry: pack(kept, chainStart), head, sends: [], done: [] })
  await backend.close()
  return source
}

/** Goes on from there. */
async function recover(
  policy: Partial<Tool<typeof args>>,
): Promise<{ readonly text: string; readonly keys: string[] }> {
  const source = await left()
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
  expect(records.map(({ type }) => type)).toEqual([
    'thread.created',
    'message.received',
    'turn.started',
    'model.replied',
    'call.began',
    'call.returned',
    'model.replied',
    'turn.ended',
  ])
})

test('T10, B2: an effect that may have happened is not run again; the model is told', async () => {
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
  const happened = await recover({
    probe: ({ idempotencyKey }) => {
      asked.push(idempotencyKey)
      return 'charged before'
    },
  })
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

test('T10: with onUnknown ask a person decides; approved it runs with the same key, rejected it does not, and a restart asks again', async () => {
  const { key } = await whole()
  for (const decision of ['approve', 'reject'] as const) {
    const source = await left()
    const keys: string[] = []
    const app = createApp({ onUnknown: 'ask' }, ({ idempotencyKey }) => {
      keys.push(idempotencyKey)
      return 'charged now'
    })
    const first = await createSkein({ app, backend: source })
    await (await first.threads.get(thread)).settled()
    await first.close()
    const skein = await createSkein({ app, backend: source })
    const handle = await skein.threads.get(thread)
    expect(await handle.status()).toBe('awaiting_approval')
    expect(keys).toEqual([])
    const [item] = await skein.inbox.list()
    expect(item).toMatchObject({
      tool: 'charge',
      unknown: true,
      prompt: expect.stringContaining('may already have happened'),
    })
    await skein.inbox[decision](item?.id ?? '', { by: 'ann' })
    await handle.settled()
    const text = (await handle.messages()).at(-1)?.text
    await skein.close()
    expect(keys).toEqual(decision === 'approve' ? [key] : [])
    expect(text).toMatch(
      decision === 'approve'
        ? /charged now/
        : /EFFECT_UNKNOWN: charge may already have happened; to run it again was declined by ann/,
    )
  }
})

test('OR1: a receipt for an effect about which someone is asked answers it, and nobody is asked any more', async () => {
  const { key } = await whole()
  const source = await left()
  const skein = await createSkein({ app: createApp({ onUnknown: 'ask' }, () => 'charged now'), backend: source })
  const handle = await skein.threads.get(thread)
  await handle.settled()
  expect(await skein.inbox.list()).toHaveLength(1)
  const backend = await source.open('client')
  await backend.mailbox.put({
    to: thread,
    id: 'receipt',
    body: sealMail({
      kind: 'receipt',
      step: 1,
      index: 0,
      key,
      landed: { outcome: { ok: true, value: 'charged before' } },
    }),
  })
  await backend.close()
  await until('the turn is over', async () => (await handle.status()) === 'idle')
  expect([await skein.inbox.list(), (await handle.messages()).at(-1)?.text]).toEqual([[], 'it says: charged before'])
  await skein.close()
})

test('T10: the key is the same for every try of a call, and another for an equal call of the same step', async () => {
  const keys: string[] = []
  const charge = defineTool({
    name: 'charge',
    description: 'charges',
    args,
    sideEffect: true,
    retry: { maxRetries: 1 },
    execute({ idempotencyKey }) {
      keys.push(idempotencyKey)
      if (keys.length === 1) throw new Error('busy')
      return 'ok'
    },
  })
  const twice = {
    calls: [
      { tool: 'charge', args: { cents: 1 } },
      { tool: 'charge', args: { cents: 1 } },
    ],
  }
  const app = [
    ...createApp({}, () => undefined).filter(({ kind }) => kind === 'prompt' || kind === 'agent'),
    defineModel({ name: 'm', model: scriptedModel([twice, 'done']) }),
    charge,
  ]
  const skein = await createSkein({ app, backend: memory() })
  await (await skein.threads.create({ agent: 'payer' })).send('go').text()
  await skein.close()
  expect(keys).toHaveLength(3)
  expect(keys[0]).toBe(keys[1])
  expect(keys[2]).not.toBe(keys[0])
})

test('T10: the key is derived from the tool and its args too, whatever the order of their fields', async () => {
  const keyOf = async (tool: string, given: Readonly<Record<string, number>>): Promise<string> => {
    let key = ''
    const tools = ['charge', 'refund'].map((name) =>
      defineTool({
        name,
        description: name,
        args: z.object({ cents: z.number(), fee: z.number() }),
        sideEffect: true,
        execute: ({ idempotencyKey }) => (key = idempotencyKey),
      }),
    )
    const app = [
      defineModel({ name: 'm', model: scriptedModel([{ calls: [{ tool, args: given }] }, 'done']) }),
      definePrompt({ name: 'p', prompt: 'You pay.', model: 'm', tools: ['charge', 'refund'] }),
      defineAgent({ name: 'payer', type: 'ai_human', sideA: { prompt: 'p' } }),
      ...tools,
    ]
    // The same thread, step and call each time: only what is asked for differs.
    const skein = await createSkein({ app, backend: memory() })
    await (await skein.threads.create({ agent: 'payer', id: thread })).send('go').text()
    await skein.close()
    return key
  }
  const key = await keyOf('charge', { cents: 1, fee: 2 })
  expect(key).toHaveLength(32)
  expect(await keyOf('charge', { fee: 2, cents: 1 })).toBe(key)
  expect(await keyOf('charge', { cents: 1, fee: 3 })).not.toBe(key)
  expect(await keyOf('refund', { cents: 1, fee: 2 })).not.toBe(key)
})

test('T10, T3: effects that commute run beside each other, each after its intent', async () => {
  const gates = [deferred(), deferred()]
  const began: number[] = []
  const send = defineTool({
    name: 'send',
    description: 'sends',
    args: z.object({ n: z.number() }),
    sideEffect: true,
    commutes: true,
    async execute({ idempotencyKey: _ }, { n }) {
      began.push(n)
      await gates[n]?.promise
      return n
    },
  })
  const source = memory()
  const both = {
    calls: [
      { tool: 'send', args: { n: 0 } },
      { tool: 'send', args: { n: 1 } },
    ],
  }
  const app = [
    defineModel({ name: 'm', model: scriptedModel([both, 'done']) }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['send'] }),
    defineAgent({ name: 'payer', type: 'ai_human', sideA: { prompt: 'p' } }),
    send,
  ]
  const skein = await createSkein({ app, backend: source })
  const run = (await skein.threads.create({ agent: 'payer', id: thread })).send('go')
  await until('both to begin', () => began.length === 2)
  expect((await readAll(source)).filter(({ type }) => type === 'call.began')).toHaveLength(2)
  gates[1]?.resolve()
  gates[0]?.resolve()
  expect((await run.toolCalls()).map(({ outcome }) => outcome)).toEqual([
    { ok: true, value: 0 },
    { ok: true, value: 1 },
  ])
  await skein.close()
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
    defineModel({
      name: 'm',
      model: scriptedModel([{ calls: ['a', 'b', 'pay', 'c', 'd'].map((tool) => ({ tool, args: {} })) }, 'done']),
    }),
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
