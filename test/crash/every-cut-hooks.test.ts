/**
 * Every cut, with hooks at all points of one thread: its journal is cut before each record in turn, and a new skein goes
 * on from there. The transcript must come out the same, and no hook whose decision is in the journal is asked again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineHook } from '../../src/agent/define-hook.js'
import type { HookPoint, HookThread } from '../../src/agent/define-hook.js'
import { defineTool } from '../../src/agent/define.js'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { resultHookKey, stepHookKey, stopHookKey } from '../../src/core/effect.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { chainStart, decode, pack } from '../../src/runtime/journal/journal.js'
import { sealMail } from '../../src/runtime/journal/mail.js'
import { createSkein } from '../../src/runtime/skein.js'
import { hookedApp } from '../helpers/hooked.js'

const thread = 'cut'
const messages = ['first', 'second'] as const

function createScenario() {
  const asked: string[] = []
  const note = (_: unknown, { key }: HookThread): void => void asked.push(key.slice(thread.length + 1))
  const look = defineTool({
    name: 'look',
    args: z.object({ at: z.string() }),
    sideEffect: false,
    execute: (_, { at }) => `saw ${at}`,
  })
  const { app } = hookedApp({
    // Each turn looks twice at once, then speaks; the stop hook has it speak once more.
    script: ({ messages: said, step }) => {
      const user = said.findLast(({ role, silent }) => role === 'user' && !silent)?.text ?? ''
      if (step === 0) return { calls: ['here', 'there'].map((at) => ({ tool: 'look', args: { at } })) }
      return `${user}: ${said.length} messages, step ${step}`
    },
    tools: [look],
    hooks: [
      defineHook({
        name: 'begin',
        on: 'thread_created',
        run: (input, at) => {
          note(input, at)
          return { tags: ['hooked'], values: { began: true }, message: 'Mind the gap.' }
        },
      }),
      defineHook({
        name: 'filter',
        on: 'message',
        run: async (input, at) => {
          note(input, at)
          return { text: `${input.text}!` }
        },
      }),
      defineHook({
        name: 'step',
        on: 'before_step',
        run: async (input, at) => {
          note(input, at)
          const old = (await input.messages()).find(({ text }) => text === 'kept 0')
          return {
            add: [{ text: `kept ${input.steps}` }, { text: `once ${input.steps}`, once: true }],
            ...(old && input.steps > 1 && { hide: [old.id] }),
          }
        },
      }),
      defineHook({
        name: 'reply',
        on: 'after_step',
        run: (input, at) => {
          note(input, at)
          return input.text === '' ? undefined : { text: `${input.text}.` }
        },
      }),
      defineHook({
        name: 'before',
        on: 'before_call',
        tools: [look],
        run: (input, at) => {
          note(input, at)
          return { args: { at: `${input.args.at} and around` } }
        },
      }),
      defineHook({
        name: 'after',
        on: 'after_call',
        run: async (input, at) => {
          note(input, at)
          return { result: input.outcome.ok ? `${String(input.outcome.value)}, I think` : 'nothing' }
        },
      }),
      defineHook({
        name: 'end',
        on: 'stop',
        run: (input, at) => {
          note(input, at)
          return input.text.includes('step 1') ? { goOn: 'Say it again.' } : undefined
        },
      }),
    ],
  })
  return { app, asked }
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

async function localSource(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-cut-hooks-'))
  folders.push(folder)
  return local(folder)
}

async function readAll(source: Store): Promise<ThreadRecord[]> {
  const backend = await source.open('client')
  const records = (await backend.journal.read(thread)).flatMap((entry) => decode(thread, entry))
  await backend.close()
  return records
}

async function finish(source: Store, { app }: ReturnType<typeof createScenario>): Promise<unknown> {
  const skein = await createSkein({ app, backend: source })
  const handle = await skein.threads.create({ agent: 'helper', id: thread })
  for (const text of messages) await handle.send(text, { id: text, delivery: 'new_turn' }).accepted()
  await handle.run('second').result()
  await handle.settled()
  // Ids of what hooks add hold their place in the journal, which a crash may move.
  const transcript = (await handle.messages({ silent: 'show' })).map(({ at: _, id, ...rest }) =>
    rest.silent ? rest : { id, ...rest },
  )
  const { tags } = await handle.info()
  await skein.close()
  return { tags, transcript }
}

async function plant(source: Store, kept: readonly ThreadRecord[]): Promise<void> {
  const backend = await source.open('host')
  const lease = await backend.leases.acquire(0)
  const accepted = new Set(kept.map(({ by }) => by))
  const head = {
    agent: 'helper',
    status: 'thinking',
    root: thread,
    path: [thread],
    tags: [],
    rest: false,
    createdAt: 0,
    updatedAt: 0,
  }
  if (kept.length > 0) {
    const entry = pack(kept, chainStart)
    await backend.commit({ thread, expected: 0, epoch: lease?.epoch ?? 0, entry, head, sends: [], done: [] })
    for (const text of messages)
      if (!accepted.has(text))
        await backend.mailbox.put({
          to: thread,
          id: text,
          body: sealMail({ kind: 'message', role: 'user', text, delivery: 'new_turn' }),
        })
  }
  await lease?.release()
  await backend.close()
}

/** The questions whose answers a record holds. */
function decidedIn(record: ThreadRecord): readonly string[] {
  switch (record.type) {
    case 'thread.created':
      return ['hook/created/begin']
    case 'message.received':
      return record.delivery === 'store' ? [] : [`hook/message/${record.id}/filter`]
    case 'model.replied':
      return [
        `hook/step/${record.step}/after/reply`,
        ...record.calls.map((_, index) => `hook/step/${record.step}/call/${index}/before/before`),
      ]
    case 'hook.decided':
      if (record.point === 'step') return [`${stepHookKey(record.step)}/step`]
      if (record.point === 'stop') return [`${stopHookKey(record.run, record.step)}/end`]
      return [`${resultHookKey(record.step, record.index ?? 0)}/after`]
    default:
      return []
  }
}

const points: readonly HookPoint[] = [
  'thread_created',
  'message',
  'before_step',
  'after_step',
  'before_call',
  'after_call',
  'stop',
]

describe.each([
  ['memory', async () => memory()],
  ['local', localSource],
] as const)('%s', (_, makeSource) => {
  test('K3: a journal with hooks at all points, cut before any record, goes on to the same transcript, and nothing that was decided is asked again', async () => {
    const source = await makeSource()
    const whole = createScenario()
    const transcript = await finish(source, whole)
    const records = await readAll(source)
    expect(records.flatMap(decidedIn).toSorted()).toEqual(whole.asked.toSorted())
    expect(new Set(whole.asked).size).toBe(whole.asked.length)
    expect(whole.asked.length).toBeGreaterThan(2 * points.length)

    for (let cut = 0; cut < records.length; cut++) {
      const kept = records.slice(0, cut)
      const again = createScenario()
      const planted = await makeSource()
      await plant(planted, kept)
      const where = `cut before record ${cut + 1} (${records[cut]?.type})`
      expect(await finish(planted, again), where).toEqual(transcript)
      const decided = kept.flatMap(decidedIn)
      expect([...decided, ...again.asked].toSorted(), where).toEqual(whole.asked.toSorted())
    }
  }, 60_000)
})
