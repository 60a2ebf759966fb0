/**
 * kill -9: a real process with the embedded store is killed after a random number of beats, again and again, until
 * its work is complete. Nothing acknowledged may be lost, nothing finished run again, and the transcripts must be
 * those of a quiet run. `npm run soak` does ten times as many kills. The seed is printed when it fails.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import type { Message } from '../../src/core/message.js'
import { connectSkein } from '../../src/runtime/skein.js'

const swarm = fileURLToPath(new URL('./fixtures/swarm.mjs', import.meta.url))
const threads = 4
const wantedKills = process.env['SOAK'] ? 500 : 50
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-kill-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Mulberry32: a failing seed reproduces the same kills. */
function createChance(from: number): () => number {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One life; killed after `beats` lines unless it ends by itself first. */
async function live(store: string, log: string, beats: number): Promise<'killed' | 'ended'> {
  const child = spawn(process.execPath, [swarm, store, log, String(threads)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  let heard = 0
  createInterface({ input: child.stdout }).on('line', () => {
    if (++heard === beats) child.kill('SIGKILL')
  })
  const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>((resolve) => child.on('close', (status, killer) => resolve({ code: status, signal: killer })))
  if (signal === 'SIGKILL') return 'killed'
  if (code !== 0) throw new Error(`the process ended with ${code}: ${errors}`)
  return 'ended'
}

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

test(`P1: work survives ${wantedKills} kills (seed ${seed})`, { timeout: 600_000 }, async () => {
  const quiet = join(folder, 'quiet')
  expect(await live(quiet, join(folder, 'quiet.log'), Infinity)).toBe('ended')
  const expected = await transcripts(quiet)

  const chance = createChance(seed)
  let kills = 0
  for (let round = 0; kills < wantedKills; round++) {
    const store = join(folder, `store-${round}`)
    const log = join(folder, `log-${round}`)
    for (let ended = false; !ended; ) {
      if ((await live(store, log, 1 + Math.floor(chance() * 40))) === 'killed') kills++
      else ended = true
    }
    expect(await transcripts(store)).toEqual(expected)
    const { kept, again } = audit(await readFile(log, 'utf8'))
    expect(kept.size).toBe(threads * 3)
    expect(again).toEqual([])
    await rm(store, { recursive: true, force: true })
  }
})
