/** A journal that is damaged or from the future parks its thread, and only it. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/backend/local/driver.js'
import type { StoredEntry } from '../../../src/backend/port.js'
import { tinyApp } from '../../helpers/app.js'
import { until } from '../../helpers/deferred.js'
import { onEveryStore } from '../../helpers/world.js'
import type { World } from '../../helpers/world.js'

/** Two threads with two turns each, at rest; the store is closed. */
async function twoThreads(world: World): Promise<readonly [string, string]> {
  const skein = await world.open(tinyApp({ script: () => 'fine' }).app)
  const [bad, good] = [await skein.threads.create({ agent: 'helper' }), await skein.threads.create({ agent: 'helper' })]
  for (const thread of [bad, good, bad, good]) await thread.send('go').result()
  await world.close(skein)
  return [bad.id, good.id]
}

/** A record that a newer Skein appended, chained as it should be; gives its sequence. */
async function dreamed({ store }: World, thread: string): Promise<number> {
  const backend = await store.source.open('host')
  const lease = await backend.leases.acquire(0)
  const last = (await backend.journal.read(thread)).at(-1)
  const head = await backend.heads.get(thread)
  if (!lease || !last || !head) throw new Error('the thread is not there')
  const seq = last.first + last.count
  const body = JSON.stringify({ v: 2, r: [{ type: 'thread.dreamed', seq, at: 0 }] })
  const hash = createHash('sha256').update(last.hash + body).digest('base64url').slice(0, 22)
  const { thread: _, seq: expected, ...rest } = head
  const result = await backend.commit({ thread, expected, epoch: lease.epoch, entry: { first: seq, count: 1, body, hash }, head: rest, sends: [], done: [] })
  expect(result.ok).toBe(true)
  await lease.release()
  await backend.close()
  return seq
}

const damages: readonly (readonly [string, string, (entry: StoredEntry) => StoredEntry, RegExp])[] = [
  ['JOURNAL_CORRUPT', 'changed text', (entry) => ({ ...entry, body: entry.body.replace('fine', 'fake') }), /damaged at record/],
  ['JOURNAL_CORRUPT', 'text that is no JSON', (entry) => ({ ...entry, body: entry.body.slice(0, -5) }), /damaged at record/],
  ['JOURNAL_CORRUPT', 'another hash', (entry) => ({ ...entry, hash: 'x'.repeat(22) }), /hash chain/],
  ['JOURNAL_CORRUPT', 'a record that is missing', (entry) => ({ ...entry, first: entry.first + 1 }), /is missing/],
]

onEveryStore('a damaged journal', (world) => {
  it.each(damages)('P2, HO3: %s: %s parks the thread with its place; others go on', async (code, _, damage, says) => {
    const [bad, good] = await twoThreads(world)
    world.tap.entry = (entry) => (entry.thread === bad && entry.first > 2 ? damage(entry) : entry)
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    const thread = await skein.threads.get(bad)
    const failed = await thread.send('hello?', { id: 'kept' }).result().then(() => undefined, (thrown: unknown) => thrown)
    expect(failed).toMatchObject({ code: 'THREAD_PARKED', message: expect.stringMatching(says), cause: { code, data: { thread: bad, seq: expect.any(Number) } } })
    expect(world.warnings.some((warning) => warning.includes(`${bad} is parked`))).toBe(true)
    await expect(thread.messages()).rejects.toMatchObject({ code })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
    // Mended, it goes on with the mail that was kept.
    await world.close(skein)
    delete world.tap.entry
    const mended = await world.open(tinyApp({ script: () => 'back' }).app)
    const back = await mended.threads.get(bad)
    await until('the kept message', async () => (await back.messages()).some(({ id }) => id === 'kept'))
    expect(await back.run('kept').text()).toBe('back')
  })

  it('P2, JO2: a record of a newer version is refused with what to do', async () => {
    const [bad, good] = await twoThreads(world)
    const seq = await dreamed(world, bad)
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    const thread = await skein.threads.get(bad)
    await expect(thread.messages()).rejects.toMatchObject({ code: 'RECORD_FROM_FUTURE', message: expect.stringContaining('upgrade Skein') })
    await expect(thread.send('hello?').result()).rejects.toMatchObject({ code: 'THREAD_PARKED', cause: { code: 'RECORD_FROM_FUTURE', data: { thread: bad, seq, version: 2 } } })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
  })
})

describe('a file that someone wrote to', () => {
  onEveryStore('by hand', (world) => {
    it('P2: a row changed with SQL is found on load', async () => {
      const [bad, good] = await twoThreads(world)
      const { dir } = world.store
      if (dir === undefined) return // memory has no file
      const database = await openDatabase(join(dir, 'skein.db'))
      database.exec(`UPDATE journal SET body = replace(body, 'fine', 'fake') WHERE tid = (SELECT tid FROM threads WHERE id = '${bad}')`)
      database.close()
      const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
      await expect((await skein.threads.get(bad)).send('hello?').result()).rejects.toMatchObject({ code: 'THREAD_PARKED', cause: { code: 'JOURNAL_CORRUPT' } })
      expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
    })
  })
})
