/**
 * Commits of a local store that are acknowledged when they are in its log, and are in its tables a little later: nobody
 * sees the difference, whenever the process dies.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openDatabase } from '../../../src/backend/local/database/driver.js'
import { examineFolder } from '../../../src/backend/local/examine.js'
import { local } from '../../../src/backend/local/local.js'
import type { Backend, Commit, StoredHead } from '../../../src/backend/port.js'
import { commit } from '../../contract/entries.js'
import { createChance } from '../../helpers/lives.js'
import { times } from '../../helpers/soak.js'

let home = ''
let dir = ''
let killed = ''
const opened: Backend[] = []
const warnings: string[] = []

async function open(role: 'host' | 'client', folder: string): Promise<Backend> {
  const backend = await local(folder).open(role)
  opened.push(backend)
  return backend
}

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'skein-logged-'))
  dir = join(home, 'store')
  killed = join(home, 'killed')
  warnings.length = 0
  vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const backend of opened.splice(0).reverse()) await backend.close()
  await rm(home, { recursive: true, force: true })
})

/** What a `kill -9` now would leave, as a folder of its own. */
function kill(): void {
  rmSync(killed, { recursive: true, force: true })
  cpSync(dir, killed, { recursive: true, filter: (path) => !path.endsWith('.sock') })
}

const markOf = (folder: string): string => join(folder, 'skein.mark')

async function committed(host: Backend, each: Commit): Promise<void> {
  if (!(await host.commit(each)).ok) throw new Error('it was refused')
}

/** A thread that was begun, and so many commits that went on with it, the last of which nobody has read. */
async function goOn(host: Backend, thread: string, commits: number): Promise<void> {
  for (let n = 0; n <= commits; n++) await committed(host, commit(thread, n))
}

/** Behind the back of the host. */
async function change(sql: string): Promise<void> {
  const database = await openDatabase(join(dir, 'skein.db'))
  database.exec(sql)
  database.close()
}

const seqs = (heads: readonly StoredHead[]): unknown => heads.map(({ thread, seq }) => [thread, seq]).sort()

it('J3: what is acknowledged is in the log, and not in the tables yet', async () => {
  await goOn(await open('host', dir), 'a', 5)
  kill()
  const tables = await openDatabase(join(killed, 'skein.db'))
  expect(tables.query('SELECT count(*) FROM journal').one()).toEqual([1])
  tables.close()
  expect(readFileSync(markOf(killed), 'utf8').match(/^\["logged",/gm)).toHaveLength(5)
})

it.each(Array.from({ length: times(2, 8) }, (_, index) => index + 1))(
  'J1, J3, J4: whatever was acknowledged last before a kill, who opens the store has all of it, once (seed %i)',
  async (seed) => {
    const random = createChance(seed)
    const pick = (most: number): number => Math.floor(random() * most)
    const host = await open('host', dir)
    const counts = new Map<string, number>()
    const sent: string[] = []
    for (let act = 0; act < 40; act++) {
      const thread = `t${pick(3)}`
      const kind = pick(10)
      if (kind === 0) {
        await host.mailbox.put({ to: thread, id: `m${act}`, body: act })
        sent.push(`m${act}`)
      } else if (kind === 1) {
        await host.snapshots.put(thread, Buffer.from(`s${act}`))
      } else {
        // A read brings the tables up to date, and is rare therefore.
        const read = kind === 2 ? await host.mailbox.read(thread, 0) : []
        const done = read.map(({ number }) => number)
        const n = counts.get(thread) ?? 0
        await committed(host, commit(thread, n, { done }))
        counts.set(thread, n + 1)
        for (const { id } of read) sent.splice(sent.indexOf(id), 1)
      }
      kill()
      const next = await local(killed).open('host')
      const entries = await Promise.all([...counts.keys()].map((each) => next.journal.read(each)))
      expect(entries.map((each) => each.length)).toEqual([...counts.values()])
      const positions = entries.flat().map(({ position }) => position)
      expect([...positions].sort((a, b) => a - b)).toEqual(positions.map((_, index) => index + 1))
      expect(seqs((await next.heads.list({})).heads)).toEqual([...counts].sort())
      const waiting = await Promise.all(['t0', 't1', 't2'].map((each) => next.mailbox.read(each, 0)))
      expect(
        waiting
          .flat()
          .map(({ id }) => id)
          .sort(),
      ).toEqual([...sent].sort())
      await next.close()
    }
    expect(warnings).toEqual([])
  },
)

it('J3: a client that comes while there is no host reads what the killed one had acknowledged', async () => {
  await goOn(await open('host', dir), 'a', 5)
  kill()
  const client = await open('client', killed)
  expect([(await client.journal.read('a')).length, (await client.heads.get('a'))?.seq]).toEqual([6, 6])
})

it('J3: a client reads all that was acknowledged before its read began', async () => {
  const host = await open('host', dir)
  await goOn(host, 'a', 3)
  const client = await open('client', dir)
  expect((await client.journal.read('a')).length).toBe(4)
  for (let n = 4; n < 8; n++) {
    await committed(host, commit('a', n))
    expect((await client.heads.get('a'))?.seq).toBe(n + 1)
  }
})

it('J3, J7: a client that is told of a commit reads it', async () => {
  const host = await open('host', dir)
  await goOn(host, 'a', 0)
  const client = await open('client', dir)
  const read = new Promise<number>((resolve, reject) =>
    client.signals.subscribe('news', () => client.journal.read('a').then((all) => resolve(all.length), reject)),
  )
  await vi.waitFor(() => expect(host.signals.heard('news')).toBe(true))
  for (let n = 1; n < 4; n++) await host.commit(commit('a', n))
  host.signals.publish('news', null)
  expect(await read).toBe(4)
})

it('J2: a commit that is stale, or of an older owner, is refused as by the tables', async () => {
  const host = await open('host', dir)
  await goOn(host, 'a', 3)
  expect(await host.commit(commit('a', 2))).toEqual({ ok: false, seq: 4, epoch: 1 })
  expect(await host.commit(commit('a', 4, { epoch: 0 }))).toMatchObject({ ok: false, seq: 4 })
  expect(await host.commit(commit('a', 4))).toMatchObject({ ok: true, position: 5 })
})

it('a line that is damaged ends what can be written, and the loss is told', async () => {
  await goOn(await open('host', dir), 'a', 5)
  kill()
  const text = readFileSync(markOf(killed), 'utf8')
  expect(text).toContain('["a 4"]')
  writeFileSync(markOf(killed), text.replace('["a 4"]', '["a 5"]'))
  const host = await open('host', killed)
  expect((await host.journal.read('a')).length).toBe(3)
  expect(warnings.join()).toContain('3 commits of a were acknowledged and are gone')
  // No position is given twice.
  expect(await host.commit(commit('a', 3))).toMatchObject({ ok: true, position: 7 })
})

it('a thread whose acknowledged commit meets damage goes on no more; it is told, and others go on', async () => {
  const host = await open('host', dir)
  await goOn(host, 'a', 0)
  await goOn(host, 'b', 0)
  await change("INSERT INTO journal VALUES (3, 99, 1, 1, 'h', '[]')")
  expect(await host.commit(commit('a', 1))).toMatchObject({ ok: true, position: 3 })
  expect(await host.commit(commit('b', 1))).toMatchObject({ ok: true, position: 4 })
  expect((await host.journal.read('b')).length).toBe(2)
  await expect(host.commit(commit('a', 2))).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT', retry: false })
  expect(await host.commit(commit('b', 2))).toMatchObject({ ok: true, position: 5 })
  const told = (await examineFolder(dir)).filter(({ level }) => level === 'fail').map(({ says }) => says)
  expect(told.join()).toContain('1 commits of a were acknowledged and are gone')
})

it('tables that cannot be written hold nothing back: reads say so, and are right when they can be', async () => {
  const host = await open('host', dir)
  await goOn(host, 'a', 0)
  await change("CREATE TRIGGER full BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
  expect(await host.commit(commit('a', 1))).toMatchObject({ ok: true })
  await expect(host.journal.read('a')).rejects.toMatchObject({ code: 'STORE_FAILED', retry: true })
  await change('DROP TRIGGER full')
  expect(await host.commit(commit('a', 2))).toMatchObject({ ok: true })
  expect((await host.journal.read('a')).length).toBe(3)
})
