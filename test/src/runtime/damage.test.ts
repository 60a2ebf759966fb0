/** A journal that is damaged or from the future parks its thread, and only it. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/backend/local/driver.js'
import type { BackendSource, StoredEntry } from '../../../src/backend/port.js'
import { tinyApp } from '../../helpers/app.js'
import { until } from '../../helpers/deferred.js'
import { tapped } from '../../helpers/tap.js'
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
  const body = JSON.stringify({ v: 3, r: [{ type: 'thread.dreamed', seq, at: 0 }] })
  const hash = createHash('sha256').update(last.hash + body).digest('base64url').slice(0, 22)
  const { thread: _, seq: expected, ...rest } = head
  const result = await backend.commit({ thread, expected, epoch: lease.epoch, entry: { first: seq, count: 1, body, hash }, head: rest, sends: [], done: [] })
  expect(result.ok).toBe(true)
  await lease.release()
  await backend.close()
  return seq
}

const damages: readonly { readonly what: string; readonly says: RegExp; damage(entry: StoredEntry): StoredEntry }[] = [
  { what: 'changed text', says: /damaged at record/, damage: (entry) => ({ ...entry, body: entry.body.replace('fine', 'fake') }) },
  { what: 'text that is no JSON', says: /damaged at record/, damage: (entry) => ({ ...entry, body: entry.body.slice(0, -5) }) },
  { what: 'another hash', says: /hash chain/, damage: (entry) => ({ ...entry, hash: 'x'.repeat(22) }) },
  { what: 'a record that is missing', says: /is missing/, damage: (entry) => ({ ...entry, first: entry.first + 1 }) },
]

onEveryStore('a damaged journal', (world) => {
  it.each(damages)('P2, HO3: $what parks the thread with its place; others go on', async ({ damage, says }) => {
    const code = 'JOURNAL_CORRUPT'
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
    await expect(thread.send('hello?').result()).rejects.toMatchObject({ code: 'THREAD_PARKED', cause: { code: 'RECORD_FROM_FUTURE', data: { thread: bad, seq, version: 3 } } })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
  })
})

onEveryStore('a mailbox that cannot be read', (world) => {
  it('HO3: of a parked thread is a warning, and harms nobody', async () => {
    const [bad, good] = await twoThreads(world)
    world.tap.entry = (entry) => (entry.thread === bad ? { ...entry, hash: 'x'.repeat(22) } : entry)
    const { source } = world.store
    const deaf: BackendSource = {
      async open(role) {
        const backend = tapped({ open: async () => source.open(role) }, world.tap)
        const opened = await backend.open(role)
        const read: typeof opened.mailbox.read = async (thread, after) => {
          if (thread === bad) throw new Error('disk error')
          return opened.mailbox.read(thread, after)
        }
        return { ...opened, mailbox: { ...opened.mailbox, read } }
      },
    }
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app, { backend: deaf })
    const sent = (await skein.threads.get(bad)).send('hello?')
    await until('the warning', () => world.warnings.some((warning) => warning.includes('mail')))
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
    world.clock.advance(30_000)
    await expect(sent.accepted()).rejects.toMatchObject({ code: 'COMMAND_UNANSWERED' })
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
