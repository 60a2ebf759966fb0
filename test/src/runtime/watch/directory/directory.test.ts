/** The directory of a skein: lists, counts, the inbox and watchers of one projection, on every store. */
import { describe, expect, it } from 'vitest'
import type { ThreadInfo } from '../../../../../src/runtime/watch/directory/thread-info.js'
import type { DirectoryChange } from '../../../../../src/runtime/watch/directory/directory.js'
import { connectSkein } from '../../../../../src/runtime/handles/client.js'
import type { SkeinClient } from '../../../../../src/runtime/handles/client.js'
import { asking, begin, pending } from '../../../../helpers/asking.js'
import { defineTool } from '../../../../../src/agent/define.js'
import { family, write } from '../../../../helpers/family.js'
import { onEveryStore } from '../../../../helpers/world.js'
import { z } from 'zod'

const ids = (threads: readonly ThreadInfo[]): readonly string[] => threads.map(({ thread }) => thread)

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  args: z.object({ cents: z.number() }),
  needsApproval: true,
  execute: () => 'paid',
})

const team = () =>
  family({
    lead: ({ step }) =>
      step === 0 ? { calls: [write('a'), write('b')], usage: { inputTokens: 10, costUsd: 0.5 } } : 'both are done',
    writer: () => ({ text: 'written', usage: { outputTokens: 3, costUsd: 0.25 } }),
  })

onEveryStore('the directory', (world) => {
  it('DY1: has what was acknowledged before, in the pages of the store, with the position that it is true for', async () => {
    const skein = await world.open(team())
    for (const id of ['a', 'b', 'c']) await skein.threads.create({ agent: 'writer', id, tags: [`of ${id}`] })
    const first = await skein.threads.list({ limit: 2 })
    const directory = skein.directory()
    await directory.ready()
    expect(await skein.threads.list({ limit: 2 })).toEqual(first)
    // A cursor of the store goes on in the directory.
    expect(ids((await skein.threads.list({ cursor: first.next ?? '' })).threads)).toEqual(['c'])
    const before = await directory.list()
    await skein.threads.create({ agent: 'writer', id: 'd' })
    const after = await directory.list({ sort: 'newest', limit: 2 })
    expect(ids(after.threads)).toEqual(['d', 'c'])
    expect(after.position).toBeGreaterThan(before.position)
    expect(ids((await directory.list({ q: 'OF B' })).threads)).toEqual(['b'])
    await skein.threads.delete('b')
    expect(ids((await skein.threads.list()).threads)).toEqual(['a', 'c', 'd'])
    await expect(skein.threads.get('b')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await expect(directory.counts('b')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
  })

  it('DY1: says of each thread what it is about, what it used and how far it is, and counts whole trees', async () => {
    const skein = await world.open(team())
    const directory = skein.directory()
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { steps: 20 } })
    await thread.send('  Write\n two   letters, please: '.padEnd(200, 'x')).result()
    const [lead] = (await directory.list({ rootsOnly: true })).threads
    expect(lead).toMatchObject({ thread: 'lead', step: 2, left: { steps: 16 } })
    expect(lead?.title).toMatch(/^Write two letters, please: x+$/)
    expect(lead?.title).toHaveLength(80)
    expect(lead).toEqual(await thread.info())
    expect(lead?.usage).toEqual({ tokens: 10, costUsd: 0.5, tree: { tokens: 16, costUsd: 1 } })
    expect(await directory.counts('lead')).toMatchObject({ threads: 3, working: 0, failed: 0, tokens: 16, costUsd: 1 })
  })

  it('A4: the inbox of all trees is one list, which is watched without naming a tree', async () => {
    const skein = await world.open(asking([pay], [{ tool: 'pay', args: { cents: 3 } }]))
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    const seen: string[][] = []
    const watching = (async () => {
      for await (const items of client.inbox.watch()) {
        seen.push(items.map(({ id }) => id))
        if (seen.length > 1 && items.length === 0) return
      }
    })()
    await client.directory().ready()
    await begin(skein)
    await pending(skein, 1)
    const { items, position } = await client.directory().inbox()
    expect(items).toEqual(await skein.inbox.list())
    expect(items).toMatchObject([{ id: 't/call_1_0', tool: 'pay' }])
    expect(await client.directory().counts('t')).toMatchObject({ waiting: 1, position })
    await client.inbox.approve('t/call_1_0')
    await watching
    expect(seen[0]).toEqual([])
    expect(seen).toContainEqual(['t/call_1_0'])
    await client.close()
  })

  it('DY1: who watches is given what is there, then each thread that changes, comes or goes', async () => {
    const skein = await world.open(team())
    await skein.threads.create({ agent: 'writer', id: 'a', tags: ['x'] })
    const seen = watcherOf(skein, { tag: 'x' })
    expect(await seen.next()).toMatchObject({ thread: { thread: 'a', status: 'idle' } })
    await skein.threads.create({ agent: 'writer', id: 'other' })
    await skein.threads.create({ agent: 'writer', id: 'b', tags: ['x'] })
    expect(await seen.next()).toMatchObject({ thread: { thread: 'b' } })
    await skein.threads.delete('a', { terminate: true })
    let change = await seen.next()
    while (change && 'thread' in change) change = await seen.next()
    expect(change).toMatchObject({ left: 'a' })
    await seen.return()
    const misspelt = { tagg: 'x' } as object
    await expect(watcherOf(skein, misspelt).next()).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(skein.directory().list(misspelt)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})

function watcherOf(skein: SkeinClient, query: { readonly tag?: string }) {
  const iterator = skein.directory().watch(query)[Symbol.asyncIterator]()
  return {
    next: async (): Promise<DirectoryChange | undefined> => (await iterator.next()).value,
    return: () => iterator.return?.(),
  }
}

describe('a client that is closed', () => {
  it('ends who watches, and follows nothing any more', async () => {
    const { memory } = await import('../../../../../src/backend/memory/memory.js')
    const client = await connectSkein({ backend: memory() })
    const watcher = watcherOf(client, {})
    const next = watcher.next()
    await client.directory().ready()
    await client.close()
    expect(await next).toBeUndefined()
  })
})
