/**
 * kill -9 while a thread goes back: a process is killed at random points until its rewind is complete. Every payment was
 * made once and undone once, newest first, and the thread stands where it stood before it paid.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import { createChance, live } from '../helpers/lives.js'
import { times } from '../helpers/soak.js'

const undo = fileURLToPath(new URL('./fixtures/undo.mjs', import.meta.url))
const wantedKills = times(4, 100)
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-undo-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test(`T10, P4: what is undone is undone once over ${wantedKills} kills (seed ${seed})`, async () => {
  const chance = createChance(seed)
  let kills = 0
  for (let round = 0; kills < wantedKills; round++) {
    const store = join(folder, `store-${round}`)
    const world = join(folder, `world-${round}`)
    for (let ended = false; !ended;) {
      if ((await live(undo, [store, world], 1 + Math.floor(chance() * 8))) === 'killed') kills++
      else ended = true
    }
    const lines = (await readFile(world, 'utf8')).trim().split('\n')
    expect(lines.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      ...['charge 1', 'charge 2', 'charge 3'],
      ...['undo 3', 'undo 2', 'undo 1'],
    ])
    const keys = lines.map((line) => line.split(' ')[2])
    expect(keys.slice(3)).toEqual(keys.slice(0, 3).reverse())
    const client = await connectSkein({ backend: local(store) })
    expect(await (await client.threads.get('r')).messages()).toEqual([])
    await client.close()
    await rm(store, { recursive: true, force: true })
  }
})
