/**
 * Every cut, with all that calls can be: files that several write and read, stale reads, a cache, a cap, a breaker,
 * effects that commute or not, an approval, a question to a person, a call that queues another. The journal is cut
 * before each record in turn; whoever goes on from there ends with the same transcript, files and values.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Backend, Store } from '../../src/backend/port.js'
import type { Message } from '../../src/core/records/message.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { decode } from '../../src/runtime/journal/journal.js'
import { commitKept } from '../helpers/cut.js'
import { sealMail } from '../../src/runtime/journal/mail.js'
import { createSkein } from '../../src/runtime/skein.js'
import { createScenario } from '../helpers/all-calls.js'
import { turn } from '../helpers/deferred.js'

const thread = 'cut'

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
