/**
 * What is left of a deleted tree in the files of a local store, and who may read them: every byte and every mode is
 * looked at.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../../../src/backend/local/database/driver.js'
import { local } from '../../../src/backend/local/local.js'
import type { Backend, Commit } from '../../../src/backend/port.js'
import { until } from '../../helpers/deferred.js'
import { commit, head } from '../../contract/entries.js'

let dir = ''
let before = 0
const opened: Backend[] = []

async function open(): Promise<Backend> {
  const backend = await local(dir).open('host')
  opened.push(backend)
  return backend
}

beforeEach(async () => {
  before = process.umask(0o022)
  dir = join(await mkdtemp(join(tmpdir(), 'skein-residue-')), 'store')
})
afterEach(async () => {
  process.umask(before)
  for (const backend of opened.splice(0).reverse()) await backend.close()
  await rm(join(dir, '..'), { recursive: true, force: true })
})

/** Every file of the store that others may read. */
async function wide(folder = dir): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (((await stat(path)).mode & 0o077) !== 0) found.push(path)
  }
  return found
}

/** In another process: closing a handle of our own would drop SQLite's locks. */
async function holders(text: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('grep', ['-rlaF', text, dir]).catch(() => ({ stdout: '' }))
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((path) => path.slice(dir.length + 1))
}

async function sweepAll(backend: Backend): Promise<void> {
  for (let more = true; more;) more = (await backend.trees.sweep({ olderThanMs: -1_000 })).more
}

/** A commit of the tree `root` whose texts all have the mark of the tree, of many sizes. */
function marked(root: string, n: number, done: readonly number[] = []): Commit {
  const mark = `secret-of-${root}.`
  const long = mark.repeat(1 + ((n * 37) % 400))
  const made = commit(root, n, { done, head: head(root, { name: long.slice(0, 20 + ((n * 53) % 900)), tags: [mark] }) })
  return { ...made, entry: { first: n + 1, count: 1, hash: `h${n}`, body: JSON.stringify([long]) } }
}

const trees = ['kept', ...Array.from({ length: 12 }, (_, n) => `gone${n}`)]

/** Interleaved lives of several trees: mail, commits, snapshots and blobs. */
async function live(backend: Backend): Promise<void> {
  for (let n = 0; n < 30; n++) {
    for (const root of trees) {
      const text = `secret-of-${root}.`.repeat(1 + ((n * 91) % 500))
      await backend.mailbox.put({ to: root, id: `m${n}`, body: text })
      const [mail] = await backend.mailbox.read(root, 0)
      await backend.commit(marked(root, n, mail ? [mail.number] : []))
      if (n % 7 === 0) await backend.snapshots.put(root, Buffer.from(text.repeat(3)))
      if (n % 5 === 0) await backend.blobs.put(Buffer.from(`${n} ${text}`))
    }
  }
  for (const root of trees) await backend.blobs.put(Buffer.from(`secret-of-${root}.`.repeat(9_000)))
}

it('everything in the folder is for its user alone, also where the folder is not and files were wider before', async () => {
  await mkdir(dir, { mode: 0o755 })
  const host = await open()
  await live(host)
  expect(await readdir(dir)).toEqual(
    expect.arrayContaining(['skein.db', 'skein.db-wal', 'skein.db-shm', 'owner.db', 'owner.json', 'skein.sock']),
  )
  expect(await wide()).toEqual([])
  const copy = join(dir, '..', 'copy')
  await host.backup?.(copy)
  expect(await readdir(copy)).toContain('skein.db')
  expect(await wide(copy)).toEqual([])
  await host.close()
  for (const name of ['skein.db', 'owner.db']) await chmod(join(dir, name), 0o644)
  await open()
  expect(await wide()).toEqual([])
})

it('no byte of a deleted tree is left in the folder while the host goes on: in the database, its log or a blob', async () => {
  const host = await open()
  await live(host)
  for (const root of trees) expect((await holders(`secret-of-${root}.`)).length).toBeGreaterThan(0)
  for (const root of trees.slice(1))
    expect(await host.trees.remove({ root, expected: 30, epoch: 1 })).toEqual({ ok: true })
  await sweepAll(host)
  expect(await holders('secret-of-gone')).toEqual([])
  expect(await holders('secret-of-kept')).toContain('skein.db')
  expect((await host.journal.read('kept')).length).toBe(30)
})

it('a log that another process reads from is emptied when that has ended, and nobody waits for it', async () => {
  const host = await open()
  await live(host)
  const reader = await openDatabase(join(dir, 'skein.db'))
  reader.exec('BEGIN')
  reader.query('SELECT count(*) FROM journal').one()
  for (const root of trees.slice(1)) await host.trees.remove({ root, expected: 30, epoch: 1 })
  await sweepAll(host)
  expect(await host.commit(marked('kept', 30))).toMatchObject({ ok: true })
  expect(await holders('secret-of-gone')).not.toEqual([])
  reader.exec('COMMIT')
  reader.close()
  await until('an empty log', async () => (await holders('secret-of-gone')).length === 0)
})

it('what a killed owner left in the log is gone when the next one has begun', async () => {
  const host = await open()
  await live(host)
  const killed = `${dir}-killed`
  for (const root of trees.slice(1)) await host.trees.remove({ root, expected: 30, epoch: 1 })
  await promisify(execFile)('cp', ['-r', dir, killed])
  dir = killed
  const next = await open()
  await sweepAll(next)
  expect(await holders('secret-of-gone')).toEqual([])
})

it('the room of deleted trees goes back to the disk', async () => {
  const host = await open()
  await live(host)
  await host.close()
  const full = (await stat(join(dir, 'skein.db'))).size
  const next = await open()
  for (const root of trees.slice(1)) await next.trees.remove({ root, expected: 30, epoch: 1 })
  await sweepAll(next)
  expect((await stat(join(dir, 'skein.db'))).size).toBeLessThan(full / 6)
})

it('a snapshot that comes after its tree was removed leaves nothing', async () => {
  const host = await open()
  await live(host)
  const put = (root: string): Promise<void> => host.snapshots.put(root, Buffer.from(`secret-of-${root}.`.repeat(100)))
  const removed = host.trees.remove({ root: 'gone0', expected: 30, epoch: 1 })
  const late = put('gone0')
  await Promise.all([removed, late])
  for (const root of trees.slice(2)) await host.trees.remove({ root, expected: 30, epoch: 1 })
  await sweepAll(host)
  await put('gone0')
  await put('kept')
  expect(await host.snapshots.get('gone0')).toBeUndefined()
  expect((await host.snapshots.get('kept'))?.length).toBeGreaterThan(0)
  await sweepAll(host)
  expect(await holders('secret-of-gone')).toEqual([])
})
