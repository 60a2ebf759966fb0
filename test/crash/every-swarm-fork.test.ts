/**
 * Forks of a whole tree at every position of its life: each goes on to the end that the source came to, with what was
 * on its way at the cut, and the source stays as it was.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { times } from '../helpers/soak.js'
import { createFamilyApp } from '../helpers/tree.js'

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

async function localStore(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'skein-swarm-'))
  folders.push(folder)
  return local(folder)
}

function createApp(acted: string[]) {
  const pay = looseTool('pay', ({ idempotencyKey }) => void acted.push(idempotencyKey), { sideEffect: true })
  return createFamilyApp({
    tools: [pay],
    writer: ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'written' : { calls: [{ tool: 'pay', args: {} }] },
  })
}

/** The tree as its readers see it, without times, ids and the order in which children that nobody waits for report. */
async function outcomeOf(skein: Skein, root: string) {
  const { threads } = await skein.threads.list({ root })
  const told = await Promise.all(
    threads.map(async ({ thread, reference = 'top', status, path }) => {
      const messages = await (await skein.threads.get(thread)).messages({ silent: 'show' })
      return `${path.length} ${reference} ${status} ${messages
        .map(({ text }) => text)
        .toSorted()
        .join(' | ')}`
    }),
  )
  return told.toSorted()
}

const living = (outcome: readonly string[]): readonly string[] => outcome.filter((line) => !line.includes(' done '))

describe.each([
  ['memory', async () => memory(), times(2, 1)],
  ['local', localStore, times(9, 1)],
] as const)('%s', (_, makeStore, every) => {
  test('B4, P4: a tree forked at any position settles as its source did', async () => {
    const acted: string[] = []
    const store = await makeStore()
    await using skein = await createSkein({ app: createApp(acted), backend: store })
    const source = await skein.threads.create({ agent: 'lead', id: 'source', budget: { tokens: 100_000 } })
    await (await source.send('go')).result()
    await source.settled({ tree: true })
    const expected = living(await outcomeOf(skein, 'source'))
    const backend = await store.open('client')
    const entries = await backend.journal.readTree('source')
    const bytes = JSON.stringify(entries)
    const own = new Set(acted)
    for (let at = entries.length - 1; at > 0; at -= every) {
      const entry = entries[at]
      if (!entry) continue
      const cursor = `${entry.position}.${entry.first + entry.count - 1}`
      const what = `cut at ${cursor} (${at} of ${entries.length}), ${entry.thread}`
      const fork = await source.fork({ tree: true, at: { cursor }, go: true, effects: 'run', id: `fork${at}` })
      await fork.settled({ tree: true })
      expect(living(await outcomeOf(skein, fork.id)), what).toEqual(expected)
      await skein.threads.delete(fork.id, { terminate: true })
    }
    expect(JSON.stringify(await backend.journal.readTree('source'))).toBe(bytes)
    expect(acted.slice(own.size).filter((key) => own.has(key))).toEqual([])
    await backend.close()
  })
})
