/**
 * Every cut, with all that calls can be: files that several write and read, stale reads, a cache, a cap, a breaker,
 * effects that commute or not, an approval, a question to a person, a call that queues another. The journal is cut
 * before each record in turn; whoever goes on from there ends with the same transcript, files and values.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/agent/define.js'
import type { ToolDefinition } from '../../src/agent/define.js'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Backend, Store } from '../../src/backend/port.js'
import type { Message } from '../../src/core/records/message.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { decode } from '../../src/runtime/journal/journal.js'
import { commitKept } from '../helpers/cut.js'
import { sealMail } from '../../src/runtime/journal/mail.js'
import { createSkein } from '../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../helpers/app.js'
import { turn } from '../helpers/deferred.js'

const thread = 'cut'

function createScenario() {
  const ran: string[] = []
  const tool = (name: string, body: ToolDefinition['execute'], more: Partial<ToolDefinition> = {}): ToolDefinition =>
    looseTool(
      name,
      (state, args) => {
        ran.push(`${name} ${JSON.stringify(args)}`)
        return typeof body === 'function' ? body(state, args) : undefined
      },
      more,
    )
  const tools: ToolDefinition[] = [
    tool(
      'append',
      async ({ files }, args) => {
        await files.appendFile('/log', (args as { text: string }).text)
        return files.readFile('/log', 'utf8')
      },
      { sideEffect: false },
    ),
    tool('plain', async ({ files }) => ((await files.exists('/log')) ? files.readFile('/log', 'utf8') : 'no log')),
    tool('look', () => 'found', { cache: true }),
    tool('twice', (_, args) => (args as { n: number }).n, { maxExecutionsPerRun: 2 }),
    tool(
      'shaky',
      () => {
        throw new Error('never')
      },
      { retry: { maxRetries: 0, circuitBreakerThreshold: 2 } },
    ),
    tool('charge', ({ idempotencyKey }) => `charged ${idempotencyKey.length}`, { sideEffect: true, idempotent: true }),
    tool('mail', () => 'sent', { sideEffect: true, idempotent: true, commutes: true }),
    tool('risky', () => 'done', { needsApproval: true }),
    tool(
      'more',
      (state) => {
        state.queueTool('look', { q: 9 })
        return 'queued'
      },
      { uses: ['look'] },
    ),
    {
      ...defineTool({
        name: 'count',
        description: 'x',
        args: z.looseObject({}),
        sideEffect: false,
        sharedSchema: z.object({ n: z.number().default(0) }),
        execute: (state) => {
          state.setShared({ n: state.shared.n + 1 })
          return state.shared.n
        },
      }),
    },
    {
      ...defineTool({
        name: 'ask',
        description: 'x',
        args: z.looseObject({}),
        outputSchema: z.string(),
        onToolCalled: () => null,
        onResponseReceived: (_, answer) => `they said ${String(answer)}`,
      }),
    },
  ]
  const steps = [
    calls(
      { tool: 'append', args: { text: 'a' } },
      { tool: 'append', args: { text: 'b' } },
      'plain',
      { tool: 'look', args: { q: 1 } },
      { tool: 'look', args: { q: 1 } },
      'mail',
      'count',
      'count',
    ),
    calls(
      'risky',
      { tool: 'append', args: { text: 'c' } },
      'ask',
      'charge',
      'plain',
      'more',
      { tool: 'twice', args: { n: 1 } },
      { tool: 'twice', args: { n: 2 } },
      { tool: 'twice', args: { n: 3 } },
    ),
    calls('shaky', 'shaky', 'shaky', { tool: 'look', args: { q: 1 } }, 'count'),
  ]
  // By the transcript alone: a step of queued calls is no reply of the model's.
  const { app } = tinyApp({
    tools,
    script: ({ messages }) =>
      steps[
        messages.filter(({ role, text }) => role === 'assistant' && text === '').length -
          messages.filter(({ calls: asked }) => asked?.[0]?.tool === 'look').length
      ] ?? 'the end',
  })
  return { app, ran }
}

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

async function localSource(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-cut-calls-'))
  folders.push(folder)
  return local(folder)
}

async function readAll(source: Store): Promise<ThreadRecord[]> {
  const backend = await source.open('client')
  const records = (await backend.journal.read(thread)).flatMap((entry) => decode(thread, entry))
  await backend.close()
  return records
}

const timeless = (transcript: readonly Message[]): unknown[] => transcript.map(({ at: _, ...rest }) => rest)

/** Goes on to the end, deciding and answering what waits. */
async function finish(source: Store, scenario: ReturnType<typeof createScenario>) {
  const skein = await createSkein({ app: scenario.app, backend: source })
  const handle = await skein.threads.create({ agent: 'helper', id: thread })
  await handle.send('go', { id: 'm' }).accepted()
  for (let done = false; !done; await turn()) {
    for (const { id, why } of await skein.inbox.list())
      await (why === 'approval' ? skein.inbox.approve(id, { by: 'ann' }) : skein.inbox.answer(id, 'yes'))
    done = (await handle.status()) === 'idle'
  }
  const outcome = {
    transcript: timeless(await handle.messages()),
    log: await handle.files.readFile('/log', 'utf8'),
    result: await handle.run('m').result(),
  }
  await skein.close()
  return outcome
}

/** The blobs that records name must be there before the records are. */
async function plant(source: Store, kept: readonly ThreadRecord[], from: Backend): Promise<void> {
  const backend = await source.open('host')
  const lease = await backend.leases.acquire(0)
  for (const record of kept) {
    const files = 'changes' in record ? (record.changes?.files ?? []) : []
    for (const change of files) if (change.op === 'file') await backend.blobs.put(from.blobs.get(change.hash))
  }
  if (kept.length > 0) {
    await commitKept(backend, lease?.epoch ?? 0, { thread, agent: 'helper', kept })
    if (!kept.some(({ by }) => by === 'm'))
      await backend.mailbox.put({
        to: thread,
        id: 'm',
        body: sealMail({ kind: 'message', role: 'user', text: 'go', delivery: 'steer' }),
      })
  }
  await lease?.release()
  await backend.close()
}

/** Bodies that had returned, and were not found stale, by key. */
function finished(records: readonly ThreadRecord[]): number {
  const returned = records.filter(({ type }) => type === 'call.returned').length
  return returned - records.filter((record) => record.type === 'call.settled' && record.verdict === 'stale').length
}

describe.each([
  ['memory', async () => memory()],
  ['local', localSource],
] as const)('%s', (_, makeSource) => {
  test('T3, T4, T5, T6, T7, A2, P1: a journal cut before any record goes on to the same end, and runs nothing finished again', async () => {
    const source = await makeSource()
    const whole = createScenario()
    const expected = await finish(source, whole)
    const records = await readAll(source)
    const from = await source.open('client')
    const kinds = new Set(records.map(({ type }) => type))
    for (const type of [
      'call.settled',
      'call.held',
      'call.decided',
      'call.answered',
      'calls.made',
      'call.began',
    ] as const)
      expect(kinds).toContain(type)
    expect(new Set(records.flatMap((record) => (record.type === 'call.settled' ? [record.verdict] : [])))).toEqual(
      new Set(['kept', 'stale', 'cached', 'skipped', 'broken']),
    )
    expect(expected.transcript.length).toBeGreaterThan(24)

    for (let cut = 0; cut < records.length; cut++) {
      const kept = records.slice(0, cut)
      const again = createScenario()
      const planted = await makeSource()
      await plant(planted, kept, from)
      expect(await finish(planted, again), `cut before record ${cut + 1} (${records[cut]?.type})`).toEqual(expected)
      // What was in flight at the cut runs again; what had returned does not, unless its read was stale.
      const bodies = records.filter(
        (record) => record.type === 'call.returned' || (record.type === 'call.held' && record.why === 'person'),
      ).length
      expect(again.ran.length + finished(kept), `bodies after record ${cut}`).toBeLessThanOrEqual(bodies + 4)
    }
    await from.close()
  })
})
