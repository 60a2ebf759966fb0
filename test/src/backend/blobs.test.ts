/**
 * Where the blobs of a local store are, what damage does to them, how they age, and what killed writes leave behind.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../../../src/backend/local/database/driver.js'
import type { Row, Value } from '../../../src/backend/local/database/driver.js'
import { local } from '../../../src/backend/local/local.js'
import type { Backend, StoreRole } from '../../../src/backend/port.js'
import { bytesOf, commit, hashOf, streamOf } from '../../contract/entries.js'

const large = Buffer.alloc(64 * 1024 + 1, 'large')
const small = Buffer.alloc(64 * 1024, 'small')
let dir = ''
const opened: Backend[] = []

async function open(role: StoreRole): Promise<Backend> {
  const backend = await local(dir).open(role)
  opened.push(backend)
  return backend
}

const pathOf = (bytes: Uint8Array): string => join(dir, 'blobs', hashOf(bytes).slice(0, 2), hashOf(bytes))
const keyOf = (bytes: Uint8Array): Buffer => Buffer.from(hashOf(bytes), 'hex')

async function select(query: string): Promise<readonly Row[]> {
  const database = await openDatabase(join(dir, 'skein.db'))
  const rows = database.query(query).all()
  database.close()
  return rows
}

/** Does to the file what no Skein does. */
async function change(statement: string, ...values: Value[]): Promise<void> {
  const database = await openDatabase(join(dir, 'skein.db'))
  database.write(statement).run(...values)
  database.close()
}

async function filesThere(): Promise<string[]> {
  const names = existsSync(join(dir, 'blobs')) ? await readdir(join(dir, 'blobs'), { recursive: true }) : []
  return names.filter((name) => name.length > 2).sort()
}

const nameOf = (bytes: Uint8Array): string => join(hashOf(bytes).slice(0, 2), hashOf(bytes))
const missing = (bytes: Uint8Array) => ({ code: 'BLOB_MISSING', data: { hash: hashOf(bytes) } })

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skein-blobs-'))
})
afterEach(async () => {
  for (const backend of opened.splice(0).reverse()) await backend.close()
  await rm(dir, { recursive: true, force: true })
})

it('what a host puts is a row up to 64 KB, given whole or as a stream, and a file above', async () => {
  const host = await open('host')
  for (const bytes of [Buffer.alloc(0), Buffer.from('tiny'), small]) await host.blobs.put(bytes)
  await host.blobs.put(streamOf(Buffer.from('a small stream'), 3, 4))
  expect(await filesThere()).toEqual([])
  expect(await select('SELECT count(*) AS n FROM blobs')).toEqual([[4]])
  const stream = Buffer.alloc(200_000, 'stream')
  await host.blobs.put(large)
  await host.blobs.put(streamOf(stream, 10, 65_526, 1))
  expect(await filesThere()).toEqual([nameOf(large), nameOf(stream)].sort())
  expect(await select('SELECT count(*) AS n FROM blobs')).toEqual([[4]])
})

it('a small blob shares the transaction of the commits of its turn', async () => {
  const host = await open('host')
  await change("CREATE TRIGGER full BEFORE INSERT ON blobs BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
  const results = await Promise.allSettled([host.blobs.put(small), host.commit(commit('a', 0))])
  for (const result of results)
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'STORE_FAILED', retry: true } })
  expect(await host.blobs.has(hashOf(small))).toBe(false)
  await change('DROP TRIGGER full')
  await Promise.all([host.blobs.put(small), host.commit(commit('a', 0))])
  expect(await host.blobs.has(hashOf(small))).toBe(true)
})

it('a put that is queued when the store closes is kept; a stream that ends later is refused', async () => {
  const host = await open('host')
  let go = (): void => undefined
  const gate = new Promise<void>((resolve) => (go = resolve))
  async function* late(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('late')
    await gate
  }
  const stream = host.blobs.put(late())
  const queued = host.blobs.put(small)
  await host.close()
  go()
  expect(await queued).toEqual({ hash: hashOf(small), size: small.length })
  await expect(stream).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  expect((await bytesOf((await open('host')).blobs.get(hashOf(small)))).equals(small)).toBe(true)
})

it('a damaged row is BLOB_MISSING, and putting it again heals it', async () => {
  const host = await open('host')
  for (const damage of [Buffer.alloc(small.length, 'Small'), small.subarray(1), Buffer.alloc(0)]) {
    await host.blobs.put(small)
    await change('UPDATE blobs SET body = ? WHERE hash = ?', damage, keyOf(small))
    await expect(bytesOf(host.blobs.get(hashOf(small)))).rejects.toMatchObject(missing(small))
    await expect(bytesOf(host.blobs.get(hashOf(small)))).rejects.toThrow(/is damaged in skein.db/)
  }
  await host.blobs.put(small)
  expect((await bytesOf(host.blobs.get(hashOf(small)))).equals(small)).toBe(true)
})

it('a damaged row harms nobody while a client has put the same bytes as a file', async () => {
  const host = await open('host')
  await host.blobs.put(small)
  const client = await open('client')
  await client.blobs.put(small)
  expect(await filesThere()).toEqual([nameOf(small)])
  await change('UPDATE blobs SET body = ? WHERE hash = ?', Buffer.from('other'), keyOf(small))
  for (const backend of [host, client])
    expect((await bytesOf(backend.blobs.get(hashOf(small)))).equals(small)).toBe(true)
})

it('a damaged file fails at the end of its stream, and putting it again heals it when its size is wrong', async () => {
  const host = await open('host')
  await host.blobs.put(large)
  for (const damage of [Buffer.alloc(large.length, 'Large'), large.subarray(1)]) {
    await writeFile(pathOf(large), damage)
    await expect(bytesOf(host.blobs.get(hashOf(large)))).rejects.toMatchObject(missing(large))
  }
  await host.blobs.put(large)
  expect((await bytesOf(host.blobs.get(hashOf(large)))).equals(large)).toBe(true)
  expect(await filesThere()).toEqual([nameOf(large)])
})

it('putting a blob that exists makes it young again, as a row and as a file', async () => {
  const host = await open('host')
  await host.blobs.put(small)
  await host.blobs.put(large)
  const [[first] = []] = await select('SELECT touched FROM blobs')
  await change('UPDATE blobs SET touched = 1000000000000')
  await utimes(pathOf(large), 1_000_000_000, 1_000_000_000)
  await host.blobs.put(small)
  await host.blobs.put(large)
  const [[again] = []] = await select('SELECT touched FROM blobs')
  expect(again).toBeGreaterThanOrEqual(Number(first))
  expect((await stat(pathOf(large))).mtimeMs).toBeGreaterThanOrEqual(Number(first) - 1000)
})

it('a client that puts what is an old row leaves a young file', async () => {
  const host = await open('host')
  await host.blobs.put(small)
  await change('UPDATE blobs SET touched = 1000000000000')
  const client = await open('client')
  await client.blobs.put(small)
  expect((await stat(pathOf(small))).mtimeMs).toBeGreaterThan(1_000_000_000_000)
})

it('a host that opens takes away parts that nobody wrote to for an hour, and nothing else', async () => {
  await (await open('host')).close()
  const client = await open('client')
  await client.blobs.put(small)
  const now = (await stat(pathOf(small))).mtimeMs / 1000
  for (const [name, age] of Object.entries({ 'dead.part': 3700, 'young.part': 3500, 'note.txt': 9999 })) {
    await writeFile(join(dir, 'blobs', name), 'half')
    await utimes(join(dir, 'blobs', name), now - age, now - age)
  }
  await utimes(pathOf(small), now - 9999, now - 9999)
  await open('host')
  expect(await filesThere()).toEqual([nameOf(small), 'note.txt', 'young.part'].sort())
})

it('a client that is in the midst of a put keeps its part when a host opens, and ends it', async () => {
  await (await open('host')).close()
  const client = await open('client')
  let host: Backend | undefined
  async function* source(): AsyncGenerator<Uint8Array> {
    yield large
    expect((await filesThere()).filter((name) => name.endsWith('.part'))).toHaveLength(1)
    host = await open('host')
    yield large
  }
  const { hash, size } = await client.blobs.put(source())
  expect(size).toBe(2 * large.length)
  expect(await host?.blobs.has(hash)).toBe(true)
  expect(await filesThere()).toEqual([join(hash.slice(0, 2), hash)])
})
