/**
 * Forks of a whole tree at every position of its life: each goes on to the end that the source came to, with what was
 * on its way at the cut, and the source stays as it was. And the copying itself, cut off after each of its commits.
 */
import { expect, test } from 'vitest'
import { memory } from '../../src/backend/memory/memory.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { turn } from '../helpers/deferred.js'
import { times } from '../helpers/soak.js'
import { tapped } from '../helpers/tap.js'
import { createFamilyApp } from '../helpers/tree.js'
import { onEveryStore } from '../helpers/world.js'

function createApp(acted: string[]) {
  const pay = looseTool('pay', ({ idempotencyKey }) => void acted.push(idempotencyKey), { sideEffect: true })
  return createFamilyApp({
    tools: [pay],
    writer: ({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'written' : { calls: [{ tool: 'pay', args: {} }] },
  })
}

/** Threads that are not over, as readers see them; what nobody waits for comes in any order, in a turn or after it. */
async function outcomeOf(skein: Skein, root: string): Promise<readonly string[]> {
  const { threads } = await skein.threads.list({ root })
  const told = await Promise.all(
    threads.map(async ({ thread, reference = 'top', status, path }) => {
      const messages = await (await skein.threads.get(thread)).messages({ silent: 'show' })
      const texts = [...new Set(messages.map(({ text }) => text))].toSorted()
      return status === 'done' ? [] : [`${path.length} ${reference} ${status} ${texts.join(' | ')}`]
    }),
  )
  return told.flat().toSorted()
}

/** BG1: what is left and was spent is what the tree was given. */
async function given(skein: Skein, root: string): Promise<number> {
  const { budget, subtree } = await (await skein.threads.get(root)).usage()
  return (budget?.left.tokens ?? 0) + (budget?.reserved.tokens ?? 0) + subtree.inputTokens + subtree.outputTokens
}

onEveryStore('swarm forks', (world) => {
  test('B4, P4: a tree forked at any position settles as its source did', async () => {
    const acted: string[] = []
    const skein = await world.open(createApp(acted))
    if (world.store.shared) await world.open(createApp(acted))
    const source = await skein.threads.create({ agent: 'lead', id: 'source', budget: { tokens: 100_000 } })
    await (await source.send('go')).result()
    await source.settled({ tree: true })
    const expected = await outcomeOf(skein, 'source')
    const backend = await world.store.source.open('client')
    const entries = await backend.journal.readTree('source')
    const bytes = JSON.stringify(entries)
    const own = new Set(acted)
    for (let at = entries.length - 1; at > 0; at -= times(4, 1)) {
      const entry = entries[at]
      if (!entry) continue
      const cursor = `${entry.position}.${entry.first + entry.count - 1}`
      const what = `cut at ${cursor} (${at} of ${entries.length}), ${entry.thread}`
      const fork = await source.fork({ tree: true, at: { cursor }, go: true, effects: 'run', id: `fork${at}` })
      await fork.settled({ tree: true })
      expect(await outcomeOf(skein, fork.id), what).toEqual(expected)
      expect(await given(skein, fork.id), what).toBe(100_000)
    }
    expect(JSON.stringify(await backend.journal.readTree('source'))).toBe(bytes)
    expect(acted.slice(own.size).filter((key) => own.has(key))).toEqual([])
    await backend.close()
  })
})

test('B4: the copying of a tree goes on after a crash at any of its commits', async () => {
  const store = memory()
  const app = createApp([])
  let expected: readonly string[] = []
  let cursor = ''
  {
    await using skein = await createSkein({ app, backend: store })
    const source = await skein.threads.create({ agent: 'lead', id: 'source' })
    await (await source.send('go')).result()
    await source.settled({ tree: true })
    expected = await outcomeOf(skein, 'source')
    const backend = await store.open('client')
    const middle = (await backend.journal.readTree('source'))[7]
    cursor = `${middle?.position}.${middle?.first}`
    await backend.close()
  }
  for (let commits = 0; commits < 12; commits += times(3, 1)) {
    let taken = 0
    const clock = manualClock(Date.now())
    const cut = tapped(store, {
      commit: (_, go) =>
        taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone')),
    })
    const dying = await createSkein({ app, backend: cut, clock, warn: () => undefined })
    const id = `fork${commits}`
    const options = { tree: true, at: { cursor }, go: true, effects: 'run', id } as const
    const asked = (await dying.threads.get('source')).fork(options).catch(() => undefined)
    for (let turns = 0; turns < 40; turns++) await turn()
    const closed = dying.close()
    clock.advance(60_000)
    await closed
    await asked
    await using skein = await createSkein({ app, backend: store })
    while (!(await skein.threads.list({ root: id })).threads.length) await turn()
    const fork = await skein.threads.get(id)
    await fork.settled({ tree: true })
    expect(await outcomeOf(skein, id), `power lost after ${commits} commits`).toEqual(expected)
  }
})
