/** What a local store says when something of it is gone: its database, or the end of its log. */
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { examineFolder } from '../../../src/backend/local/examine.js'
import { local } from '../../../src/backend/local/local.js'
import type { Backend } from '../../../src/backend/port.js'
import { commit } from '../../contract/entries.js'

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
  const home = await mkdtemp(join(tmpdir(), 'skein-losses-'))
  dir = join(home, 'store')
  killed = join(home, 'killed')
  warnings.length = 0
  vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const backend of opened.splice(0).reverse()) await backend.close()
  await rm(join(dir, '..'), { recursive: true, force: true })
})

/** What a `kill -9` now would leave, as a folder of its own. */
function kill(): void {
  rmSync(killed, { recursive: true, force: true })
  cpSync(dir, killed, { recursive: true, filter: (path) => !path.endsWith('.sock') })
}

/** Threads with ten commits each, one after the other; a client's mail after them. */
async function live(host: Backend): Promise<void> {
  for (let n = 0; n < 10; n++)
    for (const thread of ['a', 'b', 'c']) expect(await host.commit(commit(thread, n))).toMatchObject({ ok: true })
  await host.mailbox.put({ to: 'd', id: 'm', body: 'to d' })
  kill()
}

const sizesIn = (folder: string): unknown =>
  readdirSync(folder)
    .filter((name) => !name.startsWith('owner'))
    .map((name) => [name, statSync(join(folder, name)).size])
const logOf = (folder: string): string => join(folder, 'skein.db-wal')
const findings = async (folder: string): Promise<string[]> =>
  (await examineFolder(folder)).filter(({ level }) => level === 'fail').map(({ says }) => says)

it('a store whose process was killed has lost nothing, and says nothing', async () => {
  await live(await open('host', dir))
  expect(statSync(logOf(killed)).size).toBeGreaterThan(0)
  const host = await open('host', killed)
  expect([
    (await host.journal.read('a')).length,
    await host.mailbox.waiting(),
    warnings,
    await findings(killed),
  ]).toEqual([10, ['d'], [], []])
})

it.each([
  ['cut in half', (log: string) => truncateSync(log, statSync(log).size / 2)],
  ['cut between two frames', (log: string) => truncateSync(log, 32 + (24 + 4096) * 20)],
  [
    'damaged in the middle',
    (log: string) => {
      const file = openSync(log, 'r+')
      writeSync(file, 'damage', statSync(log).size / 2)
      closeSync(file)
    },
  ],
  ['taken away', (log: string) => rmSync(log)],
])(
  'how many commits are gone with a log that was %s is told, and of which threads; numbers go on after them',
  async (_how, damage) => {
    const first = await open('host', dir)
    await first.commit(commit('old', 0))
    await first.close()
    await live(await open('host', dir))
    damage(logOf(killed))
    const host = await open('host', killed)
    const left = {
      a: (await host.journal.read('a')).length,
      b: (await host.journal.read('b')).length,
      c: (await host.journal.read('c')).length,
    }
    const gone = 30 - left.a - left.b - left.c
    expect(gone).toBeGreaterThan(0)
    expect(warnings).toEqual([expect.stringContaining(`${gone} commits and 1 mails of `)])
    for (const thread of ['a', 'b', 'c', 'd']) expect(warnings[0]).toMatch(new RegExp(`[ ,]${thread}[ ,]`))
    expect(warnings[0]).toMatch(/acknowledged and are gone.*Restore the folder from a back-up/)
    expect(await host.commit(commit('e', 0))).toMatchObject({ ok: true, position: 32 })
    expect(await findings(killed)).toEqual([expect.stringContaining(`${gone} commits and 1 mails`)])
    await host.close()
    warnings.length = 0
    await (await open('host', killed)).close()
    expect(warnings).toEqual([])
    rmSync(join(killed, 'skein.lost'))
    expect(await findings(killed)).toEqual([])
  },
)

it('a damaged mark says nothing wrong, and harms nobody', async () => {
  await live(await open('host', dir))
  const mark = readFileSync(join(killed, 'skein.mark'))
  for (let at = 0; at < mark.length; at += 7) mark[at] = (mark[at] ?? 0) ^ 0x11
  writeFileSync(join(killed, 'skein.mark'), mark)
  await open('host', killed)
  expect(warnings).toEqual([])
})

it.each([
  ['empty', (folder: string) => truncateSync(join(folder, 'skein.db'), 0)],
  ['not there', (folder: string) => rmSync(join(folder, 'skein.db'))],
])(
  'a store whose database is %s is refused with what to do, by hosts, clients and the doctor, and nothing is ' +
    'changed',
  async (what, damage) => {
    const host = await open('host', dir)
    await host.blobs.put(new Uint8Array(100_000))
    await live(host)
    damage(killed)
    rmSync(join(killed, 'skein.db-shm'), { force: true })
    const rests: readonly (readonly [string, readonly string[]])[] = [
      ['a log with commits', ['blobs', 'skein.mark']],
      ['blobs', ['skein.db-wal', 'skein.mark']],
      ['a mark of 30 commits', ['blobs', 'skein.db-wal']],
    ]
    for (const [says, without] of rests) {
      const folder = `${killed}-${without.join('-')}`
      cpSync(killed, folder, { recursive: true })
      for (const name of without) rmSync(join(folder, name), { recursive: true, force: true })
      const before = sizesIn(folder)
      const refused = {
        code: 'JOURNAL_CORRUPT',
        message: expect.stringMatching(new RegExp(`skein.db is ${what}, and there is ${says}.*Put skein.db`)),
      }
      await expect(open('host', folder)).rejects.toMatchObject(refused)
      await expect(open('client', folder)).rejects.toMatchObject(refused)
      expect(await findings(folder)).toEqual([refused.message])
      expect(sizesIn(folder)).toEqual(before)
    }
  },
)

it('a folder in which a host was killed while it made the store is none that has lost it', async () => {
  await open('host', dir)
  kill()
  await (await open('host', killed)).close()
  // Frames that no commit follows.
  mkdirSync(`${killed}-2`)
  const log = readFileSync(logOf(dir))
  writeFileSync(join(`${killed}-2`, 'skein.db'), '')
  writeFileSync(logOf(`${killed}-2`), log.subarray(0, 32 + 4096 + 24))
  await open('host', `${killed}-2`)
  expect([warnings, existsSync(join(`${killed}-2`, 'skein.lost'))]).toEqual([[], false])
})
