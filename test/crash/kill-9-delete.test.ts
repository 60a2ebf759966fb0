/**
 * kill -9 while a tree is deleted: at every write, before and after it. Whoever looks then sees a whole tree or none
 * of it; the next host ends what was begun, and leaves nothing behind; the other tree never notices.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/backend/local/database/driver.js'
import { local } from '../../src/backend/local/local.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import { createChance, live } from '../helpers/lives.js'
import { times } from '../helpers/soak.js'

const script = fileURLToPath(new URL('./fixtures/delete.mjs', import.meta.url))
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)
const kills = times(5, 160)
/**
 * Soaking, every beat up to here is a kill: there the tree is ended, removed and collected. What follows, up to the
 * 1,044th, is a sweep through 256 folders of blobs that writes twice: there kills are further apart.
 */
const dense = times(0, 40)
const widest = times(3, 16)

/** After how many beats each life is killed. */
function killPoints(): readonly number[] {
  const chance = createChance(seed)
  const points: number[] = []
  for (let beats = 1; points.length < kills; beats += beats < dense ? 1 : 1 + Math.floor(chance() * widest))
    points.push(beats)
  return points
}

let folder = ''
let before: Awaited<ReturnType<typeof look>>
/** A life has ended before its kill: later kills would come too late as well. */
let ended = false
const made = (): string => join(folder, 'made')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-delete-'))
  await live(script, ['make', made()], Infinity)
  // Looking opens the store; what is copied below stays as its process has left it.
  const looked = join(folder, 'looked')
  await copyStore(looked)
  before = await look(looked)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function copyStore(to: string): Promise<void> {
  await cp(made(), to, { recursive: true, filter: (path) => !path.endsWith('.sock') })
}

async function look(store: string): Promise<{ readonly doomed: number; readonly other: readonly unknown[] }> {
  const client = await connectSkein({ backend: local(store) })
  try {
    const { threads: doomed } = await client.threads.list({ root: 'doomed' })
    for (const { thread } of doomed)
      expect((await (await client.threads.get(thread)).messages()).length).toBeGreaterThan(1)
    const { threads: other } = await client.threads.list({ root: 'other' })
    const lead = await client.threads.get('other')
    return {
      doomed: doomed.length,
      other: [
        other.map(({ thread, seq }) => [thread, seq]),
        await lead.messages(),
        (await lead.files.readFile('/large.bin')).length,
        await lead.files.readFile('/both.txt', 'utf8'),
      ],
    }
  } finally {
    await client.close()
  }
}

/** Rows that belong to nobody. */
async function leftovers(store: string): Promise<unknown> {
  const database = await openDatabase(join(store, 'skein.db'))
  try {
    return database
      .query(
        'SELECT (SELECT count(*) FROM removed), (SELECT count(*) FROM journal WHERE tid NOT IN (SELECT tid FROM ' +
          'threads)), (SELECT count(*) FROM blob_refs WHERE root NOT IN (SELECT tid FROM threads)), (SELECT ' +
          'count(*) FROM mail)',
      )
      .one()
  } finally {
    database.close()
  }
}

// A test for each kill: the limit is that of one, however many there are.
test.each(killPoints())(
  `F8, P1, J9: a delete that is killed at any write leaves a whole tree or none (seed ${seed}, after %i beats)`,
  async (beats) => {
    if (ended) return
    expect(before.doomed).toBe(4)
    const store = join(folder, `store-${beats}`)
    await copyStore(store)
    ended = (await live(script, ['delete', store], beats)) === 'ended'
    const seen = await look(store)
    expect([0, 4]).toContain(seen.doomed)
    expect(seen.other).toEqual(before.other)
    expect(await live(script, ['delete', store], Infinity)).toBe('ended')
    expect(await look(store)).toEqual({ doomed: 0, other: before.other })
    expect(await leftovers(store)).toEqual([0, 0, 0, 0])
    await rm(store, { recursive: true, force: true })
  },
)
