/**
 * kill -9 around effects on the world: a process that charges, marks and notifies is killed at random points until its
 * work is complete. Every effect whose key is honoured or that can be probed happens exactly once; one with neither is
 * never silently repeated: it happened at most once, and when that is not known the model was told so.
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

const payments = fileURLToPath(new URL('./fixtures/payments.mjs', import.meta.url))
const threads = 3
const bills = threads * 3
const wantedKills = times(8, 200)
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-pay-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** How the model was answered about each notification. */
async function notified(store: string): Promise<{ readonly done: number; readonly unknown: number }> {
  const client = await connectSkein({ backend: local(store) })
  const results: string[] = []
  for (let number = 0; number < threads; number++) {
    const messages = await (await client.threads.get(`p${number}`)).messages()
    results.push(...messages.flatMap(({ tool, text }) => (tool === 'notify' ? [text] : [])))
  }
  await client.close()
  return {
    done: results.filter((text) => text === 'notify: done').length,
    unknown: results.filter((text) => text.startsWith('Error EFFECT_UNKNOWN')).length,
  }
}

test(`T10, B2: effects happen once over ${wantedKills} kills (seed ${seed})`, async () => {
  const chance = createChance(seed)
  let kills = 0
  for (let round = 0; kills < wantedKills; round++) {
    const store = join(folder, `store-${round}`)
    const world = join(folder, `world-${round}`)
    for (let ended = false; !ended;) {
      if ((await live(payments, [store, world, String(threads)], 1 + Math.floor(chance() * 12))) === 'killed') kills++
      else ended = true
    }
    const lines = (await readFile(world, 'utf8')).trim().split('\n')
    expect(new Set(lines).size, 'an effect happened twice').toBe(lines.length)
    const happened = (tool: string): number => lines.filter((line) => line.startsWith(tool)).length
    expect(happened('charge')).toBe(bills)
    expect(happened('mark')).toBe(bills)
    const { done, unknown } = await notified(store)
    expect(done + unknown).toBe(bills)
    expect(happened('notify')).toBeGreaterThanOrEqual(done)
    expect(happened('notify')).toBeLessThanOrEqual(done + unknown)
    await rm(store, { recursive: true, force: true })
  }
})
