/** Damage inside the database of a local store that a write meets: who is told of it, and who goes on. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../../../src/backend/local/database/driver.js'
import { local } from '../../../src/backend/local/local.js'
import type { Backend } from '../../../src/backend/port.js'
import { commit } from '../../contract/entries.js'

let dir = ''
const opened: Backend[] = []

async function open(): Promise<Backend> {
  const backend = await local(dir).open('host')
  opened.push(backend)
  return backend
}

/** Behind the back of the host. */
async function change(sql: string): Promise<void> {
  const database = await openDatabase(join(dir, 'skein.db'))
  database.exec(sql)
  database.close()
}

const onInsert = (table: string, message: string): string =>
  `CREATE TRIGGER torn BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, '${message}'); END`

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skein-damage-'))
})
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close()
  await rm(dir, { recursive: true, force: true })
})

it('no number of mail is given twice, though the table that counts them has lost its count', async () => {
  const host = await open()
  const numbers: number[] = []
  for (let n = 0; n < 4; n++) {
    await host.mailbox.put({ to: 'a', id: `mail ${n}`, body: n })
    const [mail] = await host.mailbox.read('a', numbers.at(-1) ?? 0)
    numbers.push(mail?.number ?? 0)
    await host.commit(commit('a', n, { done: [mail?.number ?? 0] }))
    await change(n % 2 === 0 ? 'UPDATE sqlite_sequence SET seq = 0' : 'DELETE FROM sqlite_sequence')
  }
  expect(numbers).toEqual([1, 2, 3, 4])
})

it('a mail that waits keeps its number from others, whatever the count says when the store is opened', async () => {
  const host = await open()
  for (const id of ['one', 'two']) await host.mailbox.put({ to: 'a', id, body: id })
  await host.close()
  await change('UPDATE sqlite_sequence SET seq = 0')
  const next = await open()
  await next.mailbox.put({ to: 'a', id: 'three', body: 'three' })
  expect((await next.mailbox.read('a', 0)).map(({ number, id }) => [number, id])).toEqual([
    [1, 'one'],
    [2, 'two'],
    [3, 'three'],
  ])
})

it('numbers of a transaction that failed are given again, and are no loss for who opens the store next', async () => {
  const host = await open()
  await host.mailbox.put({ to: 'a', id: 'kept', body: 1 })
  await host.commit(commit('a', 0))
  await change(onInsert('blobs', 'database or disk is full'))
  const results = await Promise.allSettled([
    host.mailbox.put({ to: 'a', id: 'failed', body: 1 }),
    host.commit(commit('a', 1)),
    host.blobs.put(Buffer.from('x')),
  ])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  await host.close()
  const next = await open()
  expect(existsSync(join(dir, 'skein.lost'))).toBe(false)
  expect(await next.commit(commit('a', 1))).toMatchObject({ ok: true, position: 2 })
  await next.mailbox.put({ to: 'a', id: 'failed', body: 1 })
  expect((await next.mailbox.read('a', 0)).map(({ number }) => number)).toEqual([1, 2])
})

it('a row in the place of one that was never given is damage, which no retry mends', async () => {
  const host = await open()
  await host.commit(commit('a', 0))
  await change("INSERT INTO journal VALUES (2, 99, 1, 1, 'h', '[]')")
  await expect(host.commit(commit('a', 1))).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT', retry: false })
})

it('a write that meets damage fails alone: those that share its transaction are kept, in their order', async () => {
  const host = await open()
  await change(onInsert('blobs', 'database disk image is malformed'))
  const arrived: string[] = []
  host.mailbox.watch((thread) => void arrived.push(thread))
  const results = await Promise.allSettled([
    host.commit(commit('a', 0)),
    host.blobs.put(Buffer.from('x')),
    host.mailbox.put({ to: 'b', id: 'm', body: 1 }),
    host.commit(commit('b', 0, { sends: [{ to: 'c', id: 's', body: 1 }] })),
  ])
  expect(results).toMatchObject([
    { status: 'fulfilled', value: { ok: true, position: 1 } },
    { status: 'rejected', reason: { code: 'JOURNAL_CORRUPT' } },
    { status: 'fulfilled' },
    { status: 'fulfilled', value: { ok: true, position: 2 } },
  ])
  expect(arrived).toEqual(['b', 'c'])
  expect((await host.heads.list({})).heads.map(({ thread }) => thread).sort()).toEqual(['a', 'b'])
})

it('J1: a commit that only goes on with a thread and whose entry cannot be written leaves the thread as it was', async () => {
  const host = await open()
  await host.commit(commit('a', 0))
  const refusals = [
    [onInsert('journal', 'database or disk is full'), 'STORE_FAILED'],
    ['INSERT INTO journal VALUES (2, 99, 1, 1, 0, 0)', 'JOURNAL_CORRUPT'],
  ] as const
  for (const [sql, code] of refusals) {
    await change(sql)
    await expect(host.commit(commit('a', 1))).rejects.toMatchObject({ code })
    expect(await host.heads.get('a')).toMatchObject({ seq: 1 })
    await change('DROP TRIGGER IF EXISTS torn; DELETE FROM journal WHERE position = 2')
  }
  expect(await host.commit(commit('a', 1))).toMatchObject({ ok: true, position: 2 })
  expect(await host.commit(commit('a', 2))).toMatchObject({ ok: true, position: 3, follows: 2 })
  expect(await host.journal.read('a')).toHaveLength(3)
})
