/**
 * kill -9: a real process with the embedded store is killed after a random number of beats, again and again, until
 * its work is complete. Nothing acknowledged may be lost, nothing finished run again, and the transcripts must be
 * those of a quiet run. `npm run soak` does 500 kills. The seed is printed when it fails.
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

const swarm = fileURLToPath(new URL('./fixtures/swarm.mjs', import.meta.url))
const threads = 4
const wantedKills = times(15, 500)
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-kill-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function transcripts(store: string): Promise<unknown[]> {
  const client = await connectSkein({ backend: local(store) })
  const all: unknown[] = []
  for (let number = 0; number < threads; number++) {
    const thread = await client.threads.get(`t${number}`)
    all.push((await thread.messages()).map(({ at: _, ...rest }: Message) => rest))
  }
  await client.close()
  return all
}

/** From the log: messages that were acknowledged, and bodies that started after their result was durable. */
function audit(log: string): { readonly kept: ReadonlySet<string>; readonly again: readonly string[] } {
  const kept = new Set<string>()
  const done = new Set<string>()
  const again: string[] = []
  for (const line of log.split('\n')) {
    const space = line.indexOf(' ')
    const verb = line.slice(0, space)
    const what = line.slice(space + 1)
    if (verb === 'kept') kept.add(what)
    if (verb === 'done') done.add(what)
    if (verb === 'run' && done.has(what)) again.push(what)
  }
  return { kept, again }
}

test(`P1: work survives ${wantedKills} kills (seed ${seed})`, async () => {
  const quiet = join(folder, 'quiet')
  expect(await live(swarm, [quiet, join(folder, 'quiet.log'), String(threads)], Infinity)).toBe('ended')
  const expected = await transcripts(quiet)

  const chance = createChance(seed)
  let kills = 0
  for (let round = 0; kills < wantedKills; round++) {
    const store = join(folder, `store-${round}`)
    const log = join(folder, `log-${round}`)
    for (let ended = false; !ended;) {
      if ((await live(swarm, [store, log, String(threads)], 1 + Math.floor(chance() * 40))) === 'killed') kills++
      else ended = true
    }
    expect(await transcripts(store)).toEqual(expected)
    const { kept, again } = audit(await readFile(log, 'utf8'))
    expect(kept.size).toBe(threads * 3)
    expect(again).toEqual([])
    await rm(store, { recursive: true, force: true })
  }
})
