/** The log of a local store is copied into its database by another thread, while commits go on. */
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { CheckpointThread } from '../../../src/backend/local/database/checkpoint-thread.js'
import { openForOwner } from '../../../src/backend/local/database/schema.js'
import type { Database } from '../../../src/backend/local/database/driver.js'
import { Writer } from '../../../src/backend/local/database/writer.js'
import { local } from '../../../src/backend/local/local.js'
import { openLocalStore } from '../../../src/backend/local/store.js'
import { commit } from '../../contract/entries.js'

let dir = ''
let file = ''
let database: Database
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skein-checkpoints-'))
  file = join(dir, 'skein.db')
  database = await openForOwner(file, 'process')
  database.exec('CREATE TABLE note (number INTEGER PRIMARY KEY)')
})
afterEach(async () => {
  database.close()
  await rm(dir, { recursive: true, force: true })
})

const hooks = { committed: () => {}, arrived: () => {}, rolledBack: () => {} }

/** Checkpoints as they are made, told as `frames` pages; each answers when it is let go. */
function gated(frames: number) {
  const thread = new CheckpointThread(file)
  const gates: (() => void)[] = []
  return {
    gates,
    async run() {
      const made = await thread.run()
      await new Promise<void>((resolve) => gates.push(resolve))
      return { frames: Math.max(frames, made.frames), copied: Math.max(frames, made.copied) }
    },
    close: () => thread.close(),
  }
}

function fill(writer: Writer, from: number, count: number): Promise<unknown> {
  const insert = database.write('INSERT INTO note VALUES (?)')
  return Promise.all(Array.from({ length: count }, (_, index) => writer.add(() => insert.run(from + index))))
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const count = (): unknown => database.query('SELECT count(*) FROM note').one()?.[0]

it('J3: commits go on while a checkpoint is made; only one that nothing was written beside settles the log', async () => {
  const settled = vi.fn<() => void>()
  const checkpoints = gated(0)
  const writer = new Writer(database, { ...hooks, settled }, checkpoints)
  await fill(writer, 0, 1_000)
  await vi.waitFor(() => expect(checkpoints.gates).toHaveLength(1))
  await fill(writer, 1_000, 1)
  checkpoints.gates[0]?.()
  await nextTurn()
  await fill(writer, 1_001, 1_000)
  await vi.waitFor(() => expect(checkpoints.gates).toHaveLength(2))
  expect(settled).not.toHaveBeenCalled()
  checkpoints.gates[1]?.()
  await vi.waitFor(() => expect(settled).toHaveBeenCalled())
  await writer.close()
  expect(count()).toBe(2_001)
})

it('J3: a long write is made in the next turn of the event loop, with those behind it, in their order', async () => {
  const writer = new Writer(database, { ...hooks, settled() {} }, gated(0))
  const written: string[] = []
  const long = writer.add(() => written.push('long'), { isLong: true })
  const short = writer.add(() => written.push('short'))
  for (let tick = 0; tick < 10; tick++) await Promise.resolve()
  expect(written).toEqual([])
  expect(await Promise.all([long, short])).toEqual([1, 2])
  expect(written).toEqual(['long', 'short'])
  await writer.close()
})

it('J3: a log that is too long is written to again when it was checkpointed whole, in the order of the writes', async () => {
  const settled = vi.fn<() => void>()
  const checkpoints = gated(20_000)
  const writer = new Writer(database, { ...hooks, settled }, checkpoints)
  await fill(writer, 0, 1_000)
  await vi.waitFor(() => expect(checkpoints.gates).toHaveLength(1))
  await fill(writer, 1_000, 1)
  checkpoints.gates[0]?.()
  await vi.waitFor(() => expect(checkpoints.gates).toHaveLength(2))
  const held = fill(writer, 1_001, 3)
  await nextTurn()
  expect(count()).toBe(1_001)
  checkpoints.gates[1]?.()
  await held
  expect(settled).toHaveBeenCalledTimes(1)
  expect(count()).toBe(1_004)
  await writer.close()
})

it('a checkpoint that fails is told and loses nothing; one that is under way is waited for by close', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const thread = new CheckpointThread(file)
  const run = vi.fn<() => ReturnType<CheckpointThread['run']>>()
  run.mockRejectedValueOnce(new Error('no thread can be had')).mockImplementation(() => thread.run())
  const writer = new Writer(database, { ...hooks, settled() {} }, { run, close: () => thread.close() })
  await fill(writer, 0, 1_000)
  await vi.waitFor(() => expect(warned).toHaveBeenCalledTimes(1))
  expect(String(warned.mock.calls[0]?.[0])).toContain('no thread can be had')
  warned.mockRestore()
  await fill(writer, 1_000, 1_000)
  await writer.close()
  expect(run).toHaveBeenCalledTimes(2)
  expect(count()).toBe(2_000)
  expect((await stat(`${file}-wal`)).size).toBe(0)
})

it('a thread that cannot open its database says so, and the next checkpoint is tried again', async () => {
  const thread = new CheckpointThread(join(dir, 'none', 'skein.db'))
  await expect(thread.run()).rejects.toThrow(/open/)
  await expect(thread.run()).rejects.toThrow(/open/)
  await thread.close()
})

it('F3: the mark of a store that is never idle is cut when its log is checkpointed whole', async () => {
  database.close()
  const store = await openLocalStore(dir, 'process', { arrived() {}, committed() {} })
  const put = (index: number): Promise<void> =>
    store.writer.add((arrived) => store.writes.putMail({ to: 'a', id: `m${index}`, body: index }, '1', arrived))
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => put(index)))
  const long = (await stat(join(dir, 'skein.mark'))).size
  await vi.waitFor(async () => expect((await stat(join(dir, 'skein.mark'))).size).toBeLessThan(long / 10))
  await store.close()
  database = await openForOwner(file, 'process')
})

/** KB of files below the folder that are mapped and in the memory of this process. */
async function mappedKb(): Promise<number> {
  const mappings = (await readFile('/proc/self/smaps', 'utf8')).split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
  const ours = mappings.filter((mapping) => mapping.split('\n', 1)[0]?.endsWith(`${dir}/store/skein.db`))
  return ours.reduce((total, mapping) => total + Number(/^Rss:\s+(\d+) kB/m.exec(mapping)?.[1]), 0)
}

// The kernel tells what of a file is in the memory of a process on Linux alone.
it.skipIf(process.platform !== 'linux')('what was read of the file leaves memory when the store is idle', async () => {
  const host = await local(join(dir, 'store')).open('host')
  const entry = { first: 1, count: 1, body: JSON.stringify('x'.repeat(2_000)), hash: 'h' }
  for (let n = 0; n < 200; n++) await host.commit(commit(`t${n}`, 0, { entry }))
  const read = async (): Promise<number> => {
    for (let n = 0; n < 200; n++) await host.journal.read(`t${n}`)
    return mappedKb()
  }
  // From the log until that was copied into the file.
  await vi.waitFor(async () => expect(await read()).toBeGreaterThan(200), { timeout: 5_000, interval: 20 })
  await host.commit(commit('last', 0))
  await vi.waitFor(async () => expect(await mappedKb()).toBeLessThan(100), { timeout: 5_000, interval: 20 })
  expect((await host.journal.read('t7')).map(({ body }) => body)).toEqual([entry.body])
  await host.close()
})
