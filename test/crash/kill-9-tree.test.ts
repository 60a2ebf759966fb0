/**
 * kill -9 of a process that leads a tree of nine threads, again and again after a random number of beats, until the
 * tree has come to its end. No child is lost and none is there twice, every effect happened once, and every thread of
 * the tree has the transcript and the files of a quiet run. `npm run soak` does 200 kills. The seed is printed when
 * it fails.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import type { Message } from '../../src/core/records/message.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import { createChance, live } from '../helpers/lives.js'
import { times } from '../helpers/soak.js'

const tree = fileURLToPath(new URL('./fixtures/tree.mjs', import.meta.url))
const wantedKills = times(6, 200)
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-kill-tree-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/**
 * What every thread of the tree came to. A child's id is made of its parent and its call, so it is the same in every
 * run.
 */
async function endOf(store: string): Promise<unknown> {
  const client = await connectSkein({ backend: local(store) })
  const { threads } = await client.threads.list({ root: 'root' })
  const ends = await Promise.all(
    threads.map(async ({ thread: id, agent, status }) => {
      const thread = await client.threads.get(id)
      const messages = (await thread.messages()).map(({ at: _, ...rest }: Message) => rest)
      return {
        id,
        agent,
        status,
        messages,
        draft: await thread.files.readFile('/draft.md', 'utf8').catch(() => undefined),
      }
    }),
  )
  await client.close()
  return ends.sort((a, b) => (a.id < b.id ? -1 : 1))
}

const stamps = async (world: string): Promise<readonly string[]> =>
  (await readFile(world, 'utf8')).trim().split('\n').sort()

test(
  `P1, S13: a tree survives ${wantedKills} kills; no child is lost, none is run twice, and results keep their ` +
    `order (seed ${seed})`,
  async () => {
    const quiet = join(folder, 'quiet')
    expect(await live(tree, [quiet, join(folder, 'quiet.world')], Infinity)).toBe('ended')
    const expected = await endOf(quiet)
    expect(expected).toHaveLength(9)
    const once = ['a1', 'a2', 'b1', 'b2', 'first', 'second']
    expect(await stamps(join(folder, 'quiet.world'))).toEqual(once)

    const chance = createChance(seed)
    let kills = 0
    for (let round = 0; kills < wantedKills; round++) {
      const store = join(folder, `store-${round}`)
      const world = join(folder, `world-${round}`)
      for (let ended = false; !ended;) {
        if ((await live(tree, [store, world], 1 + Math.floor(chance() * 24))) === 'killed') kills++
        else ended = true
      }
      expect(await endOf(store)).toEqual(expected)
      expect(await stamps(world)).toEqual(once)
    }
  },
)
