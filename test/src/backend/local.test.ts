/** What only the local backend has: one owner per folder, its socket, and files that outlive a killed process. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openDatabase } from '../../../src/backend/local/database/driver.js'
import { local } from '../../../src/backend/local/local.js'
import type { Backend, StoreRole } from '../../../src/backend/port.js'
import { bytesOf, commit, hashOf } from '../../contract/entries.js'

let dir = ''
const opened: Backend[] = []
const children: ChildProcess[] = []

async function open(role: StoreRole, folder = dir): Promise<Backend> {
  const backend = await local(folder).open(role)
  opened.push(backend)
  return backend
}

/** Starts a real host on the folder and waits for its first line. */
async function startChild(task: 'hold' | 'commit' | 'blobs'): Promise<{ child: ChildProcess; said: string }> {
  const script = fileURLToPath(new URL('fixtures/local-host.mjs', import.meta.url))
  const child = spawn(
    process.execPath,
    [script, dir, task, JSON.stringify(commit('a', 0, { sends: [{ to: 'b', id: 's', body: 'from a child' }] }))],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  children.push(child)
  const [line] = await once(child.stdout, 'data')
  return { child, said: String(line).trim() }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Resolves when the subscription of this client has reached the owner: mail goes the same way. */
const settled = (client: Backend): Promise<void> => client.mailbox.put({ to: 'settled', id: 'settled', body: 1 })

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skein-local-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null && child.signalCode === null) await kill(child)
  for (const backend of opened.splice(0).reverse()) await backend.close()
  await rm(dir, { recursive: true, force: true })
})

it('a second host in the same process is refused, with the folder, the pid and what to do', async () => {
  await open('host')
  await expect(open('host')).rejects.toMatchObject({ code: 'STORE_IN_USE', data: { pid: process.pid } })
  await expect(open('host')).rejects.toThrow(new RegExp(`${dir}.*pid ${process.pid}.*Stop that one first`))
})

it('a second host in another process is refused, both ways round', async () => {
  const { child, said } = await startChild('hold')
  expect(said).toBe('ready')
  await expect(open('host')).rejects.toMatchObject({ code: 'STORE_IN_USE', data: { pid: child.pid } })
  await kill(child)
  await open('host')
  expect((await startChild('hold')).said).toContain(`${dir} already has a host: process ${process.pid}`)
})

it('kill -9 of the owner frees the folder, and what it had acknowledged is there', async () => {
  const { child, said } = await startChild('commit')
  expect(said).toBe('ready')
  await kill(child)
  const host = await open('host')
  expect(await host.journal.read('a')).toMatchObject([{ first: 1, body: '["a 1"]' }])
  expect(await host.mailbox.read('b', 0)).toMatchObject([{ id: 's', body: 'from a child' }])
  expect([...((await host.snapshots.get('a')) ?? [])]).toEqual([1])
  expect(await host.commit(commit('a', 1))).toMatchObject({ ok: true })
})

it('every blob that was acknowledged before kill -9 is there, whole, for the next host and for a client', async () => {
  const { child, said } = await startChild('blobs')
  const gone = once(child, 'exit')
  let text = `${said}\n`
  child.stdout?.setEncoding('utf8')
  for await (const more of child.stdout ?? []) {
    text += String(more)
    if (text.split('\n').length > 100) child.kill('SIGKILL')
  }
  await gone
  const hashes = text.split('\n').filter((line) => line.length === 64)
  expect(hashes.length).toBeGreaterThanOrEqual(100)
  for (const role of ['client', 'host'] as const) {
    const backend = await open(role)
    for (const hash of hashes) expect(hashOf(await bytesOf(backend.blobs.get(hash)))).toBe(hash)
  }
})

it('a host can be opened again after close, many times', async () => {
  for (let n = 1; n <= 5; n += 1) {
    const host = await open('host')
    expect((await host.leases.acquire(0))?.epoch).toBe(n)
    await host.close()
  }
})

it('a client puts mail and hears and speaks signals through the socket of a host in another process', async () => {
  const { child } = await startChild('commit')
  const [one, two] = [await open('client'), await open('client')]
  expect(await one.hosted()).toBe(true)
  await one.mailbox.put({ to: 'x', id: 'm', body: { deep: ['ü', null, 1.5] } })
  expect(await two.mailbox.read('x', 0)).toMatchObject([{ id: 'm', body: { deep: ['ü', null, 1.5] } }])
  const heard = new Promise((resolve) => void two.signals.subscribe('t', resolve))
  await settled(two)
  expect(one.signals.heard('t')).toBe(true)
  one.signals.publish('t', { n: 1 })
  expect(await heard).toEqual({ n: 1 })
  await kill(child)
})

it('J7: signals go from host to client and from client to host, in order, and not back to the speaker twice', async () => {
  const host = await open('host')
  const client = await open('client')
  const atHost: unknown[] = []
  const atClient: unknown[] = []
  const both = new Promise<void>((resolve) => {
    const listen = (list: unknown[]) => (value: unknown) => {
      list.push(value)
      if (atHost.length >= 20 && atClient.length >= 20) resolve()
    }
    host.signals.subscribe('t', listen(atHost))
    client.signals.subscribe('t', listen(atClient))
  })
  await settled(client)
  for (let n = 0; n < 10; n += 1) host.signals.publish('t', `h${n}`)
  for (let n = 0; n < 10; n += 1) client.signals.publish('t', `c${n}`)
  await both
  await settled(client)
  const own = (list: unknown[], from: string): unknown[] => list.filter((value) => String(value).startsWith(from))
  for (const from of ['h', 'c']) {
    const spoken = Array.from({ length: 10 }, (_, n) => `${from}${n}`)
    expect(own(atHost, from)).toEqual(spoken)
    expect(own(atClient, from)).toEqual(spoken)
  }
})

it('a client that listens finds the next owner by itself', async () => {
  const first = await open('host')
  const client = await open('client')
  const heard: unknown[] = []
  let told = (): void => undefined
  client.signals.subscribe('t', (value) => {
    heard.push(value)
    told()
  })
  await settled(client)
  await first.close()
  expect(await client.hosted()).toBe(false)
  const second = await open('host')
  await vi.waitFor(() => expect(second.signals.heard('t')).toBe(true))
  const again = new Promise<void>((resolve) => {
    told = resolve
  })
  second.signals.publish('t', 'again')
  await again
  expect(heard).toEqual(['again'])
})

it('many clients and a host that comes and goes lose no mail', async () => {
  await (await open('host')).close()
  const clients = await Promise.all(Array.from({ length: 4 }, () => open('client')))
  const puts = clients.flatMap((client, c) =>
    Array.from({ length: 5 }, (_, n) => client.mailbox.put({ to: 'x', id: `${c}-${n}`, body: n })),
  )
  const host = await open('host')
  const more = clients.map((client, c) => client.mailbox.put({ to: 'x', id: `late-${c}`, body: c }))
  await host.close()
  await Promise.all([...puts, ...more])
  expect(await clients[0]?.mailbox.read('x', 0)).toHaveLength(24)
})

it('a client on a folder without a store says so, and creates nothing there', async () => {
  await expect(open('client')).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(open('client')).rejects.toThrow(`there is no Skein store in ${dir}`)
  expect(await readdir(dir)).toEqual([])
})

it('a store of a newer version is refused, for hosts and clients, and stays as it is', async () => {
  await (await open('host')).close()
  const database = await openDatabase(join(dir, 'skein.db'))
  database.exec('PRAGMA user_version = 99')
  database.close()
  for (const role of ['host', 'client', 'host'] as const) {
    await expect(open(role)).rejects.toMatchObject({ code: 'RECORD_FROM_FUTURE', data: { version: 99 } })
  }
})

it('a store of version 1 gets what it lacks from the next host and keeps all it has; until then a client is refused', async () => {
  const first = await open('host')
  const kept = await first.blobs.put(Buffer.alloc(100_000))
  await first.commit(commit('a', 0, { entry: { first: 1, count: 1, body: JSON.stringify([kept.hash]), hash: 'h' } }))
  await first.close()
  const database = await openDatabase(join(dir, 'skein.db'))
  database.exec(
    "DROP TABLE removed; DROP TABLE blob_refs; DELETE FROM meta WHERE name <> 'epoch'; DROP TABLE blobs; DROP " +
      'INDEX threads_pending; ALTER TABLE threads DROP COLUMN pending; ALTER TABLE threads DROP COLUMN more; ' +
      'PRAGMA user_version = 1',
  )
  database.close()
  await expect(open('client')).rejects.toMatchObject({ code: 'BAD_OPTION', data: { version: 1 } })
  await expect(open('client')).rejects.toThrow(/start a host of this Skein on that folder once/)
  const host = await open('host')
  const { hash } = await host.blobs.put(Buffer.from('new'))
  const client = await open('client')
  expect(await client.journal.read('a')).toHaveLength(1)
  expect((await bytesOf(client.blobs.get(hash))).toString()).toBe('new')
  // What the old journal names is known: a sweep leaves it alone.
  await host.commit(commit('b', 0))
  await host.trees.remove({ root: 'b', expected: 1, epoch: 1 })
  for (let more = true; more;) more = (await host.trees.sweep({ olderThanMs: -1_000 })).more
  expect([await host.blobs.has(kept.hash), await host.blobs.has(hash)]).toEqual([true, false])
})

it('when the transaction fails as a whole, every write in it is rejected and none is kept', async () => {
  const host = await open('host')
  await host.commit(commit('a', 0))
  const other = await openDatabase(join(dir, 'skein.db'))
  other.exec("CREATE TRIGGER full BEFORE INSERT ON mail BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
  const results = await Promise.allSettled([
    host.commit(commit('a', 1)),
    host.commit(commit('b', 0, { sends: [{ to: 'x', id: 's', body: 1 }] })),
    host.commit(commit('c', 0)),
  ])
  for (const result of results)
    expect(result).toMatchObject({ status: 'rejected', reason: { name: 'SkeinError', retry: true } })
  expect((await host.heads.list({})).heads.map((found) => [found.thread, found.seq])).toEqual([['a', 1]])
  other.exec('DROP TRIGGER full')
  other.close()
  expect(await Promise.all([host.commit(commit('b', 0)), host.commit(commit('a', 1))])).toMatchObject([
    { ok: true },
    { ok: true },
  ])
  expect(await host.journal.read('a')).toHaveLength(2)
})

it('FR2: a stranger on the socket is hung up on, and the host goes on', async () => {
  const host = await open('host')
  for (const bytes of [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.from([0, 0, 0, 1, 0xc1]),
    Buffer.from([0, 0, 0, 1, 0x80]),
  ]) {
    const socket = createConnection(join(dir, 'skein.sock'))
    const closed = once(socket, 'close')
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(bytes)
    await closed
  }
  expect(await host.commit(commit('a', 0))).toMatchObject({ ok: true })
})

it('the folder is for its user alone, and a deep folder has its socket elsewhere', async () => {
  const deep = join(dir, 'd'.repeat(60), 'e'.repeat(60))
  const host = await open('host', deep)
  expect((await stat(deep)).mode & 0o777).toBe(0o700)
  expect(await readdir(deep)).not.toContain('skein.sock')
  const client = await open('client', deep)
  expect(await client.hosted()).toBe(true)
  await host.close()
  await mkdir(join(dir, 'near'))
  await open('host', join(dir, 'near'))
  expect((await stat(join(dir, 'near', 'skein.sock'))).mode & 0o777).toBe(0o600)
})

// Elsewhere there is no folder of that kind.
it.runIf(process.platform === 'linux')(
  'where no folder can be made it is told at once, and nothing stands still',
  async () => {
    await expect(open('host', '/proc/no-such-store/below')).rejects.toThrow(/ENOENT.*\/proc\/no-such-store/)
  },
)

it('closing leaves an empty log, so that the next start reads none', async () => {
  const host = await open('host')
  await Promise.all(Array.from({ length: 200 }, (_, n) => host.commit(commit(`t${n}`, 0))))
  await host.close()
  const log = (await readdir(dir)).includes('skein.db-wal') ? (await stat(join(dir, 'skein.db-wal'))).size : 0
  expect(log).toBe(0)
})

it('options that make no sense are refused by name', () => {
  expect(() => local('')).toThrow(/dir/)
  expect(() => local('x', JSON.parse('{"durability":"never"}'))).toThrow(/durability/)
})
