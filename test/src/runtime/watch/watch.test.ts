/** Watching a tree of two threads whose signals get lost. */
import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Backend } from '../../../../src/backend/port.js'
import type { DeltaEvent } from '../../../../src/core/records/event.js'
import type { ThreadRecord } from '../../../../src/core/records/record.js'
import { chainStart, pack } from '../../../../src/runtime/journal/journal.js'
import { follow } from '../../../../src/runtime/watch/events.js'
import { tellDelta, tellThread, treeTopic } from '../../../../src/runtime/watch/topics.js'
import { watch } from '../../../../src/runtime/watch/watch.js'
import { collect, quiet, turn, until } from '../../../helpers/deferred.js'

/**
 * A store with threads of the tree `root`; each call commits one record of a thread, and tells of it unless it is lost.
 */
async function tree(text = ''): Promise<{
  readonly backend: Backend
  write(thread: string, told?: 'told' | 'lost'): Promise<void>
  /** The same, told when the function that it gives is called. */
  commit(thread: string): Promise<() => void>
}> {
  const backend = await memory().open('host')
  const lease = await backend.leases.acquire(0)
  const ends = new Map<string, { seq: number; chain: string }>()
  return {
    backend,
    async write(thread, told = 'told') {
      const tell = await commit(thread)
      if (told === 'told') tell()
    },
    commit,
  }

  async function commit(thread: string): Promise<() => void> {
    const { seq, chain } = ends.get(thread) ?? { seq: 0, chain: chainStart }
    const path = thread === 'root' ? ['root'] : ['root', thread]
    const record: ThreadRecord = {
      type: 'message.received',
      id: `${thread}${seq + 1}`,
      text,
      role: 'user',
      delivery: 'store',
      seq: seq + 1,
      at: 0,
    }
    const entry = pack([record], chain)
    ends.set(thread, { seq: seq + 1, chain: entry.hash })
    const head = { agent: 'a', status: 'idle', root: 'root', path, tags: [], rest: true, createdAt: 0, updatedAt: 0 }
    const result = await backend.commit({
      thread,
      expected: seq,
      epoch: lease?.epoch ?? 0,
      entry,
      head,
      sends: [],
      done: [],
    })
    if (!result.ok) throw new Error('the commit was refused')
    const { position, follows } = result
    return () =>
      tellThread(backend, { id: thread, path }, () => ({
        kind: 'committed',
        thread,
        path,
        position,
        follows,
        records: [record],
      }))
  }
}

it('FW1, R2: what one thread lost is healed although another went on meanwhile', async () => {
  const { backend, write } = await tree()
  for (const thread of ['root', 'child', 'root', 'child']) await write(thread)
  const heard: string[] = []
  const stop = watch(
    backend,
    { root: 'root' },
    {
      records: ({ thread, records }) => heard.push(...records.map(({ seq }) => `${thread} ${seq}`)),
      ended: () => heard.push('ended'),
    },
  )
  await until('the past', () => heard.length === 4)
  await write('child', 'lost')
  await write('root')
  await until('the news', () => heard.length >= 5)
  await write('child')
  await until('what was lost', () => heard.filter((entry) => entry.startsWith('child')).length === 4)
  await quiet()
  expect(heard.filter((entry) => entry.startsWith('child'))).toEqual(['child 1', 'child 2', 'child 3', 'child 4'])
  expect(heard.filter((entry) => entry.startsWith('root'))).toEqual(['root 1', 'root 2', 'root 3'])
  stop()
  await backend.close()
})

/** The same store, and how often trees were read from it. */
function countReads(backend: Backend): { readonly counted: Backend; reads(): number } {
  let reads = 0
  const readTree: Backend['journal']['readTree'] = (...args) => {
    reads++
    return backend.journal.readTree(...args)
  }
  return { counted: { ...backend, journal: { ...backend.journal, readTree } }, reads: () => reads }
}

const threads = ['root', 'child', 'other']

it('FW1: of a tree each record is given once and in the order of the journal, however signals come', async () => {
  const each = fc.record({ thread: fc.nat(2), told: fc.constantFrom('now', 'later', 'never'), pause: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(each, { maxLength: 24 }), fc.nat(8), async (steps, from) => {
      const { backend, commit } = await tree()
      const heard: string[] = []
      let stop = (): void => undefined
      const late: (() => void)[] = []
      for (const [index, { thread, told, pause }] of [...steps, { thread: 0, told: 'now', pause: true }].entries()) {
        if (index === Math.min(from, steps.length))
          stop = watch(
            backend,
            { root: 'root' },
            {
              records: (given) => heard.push(...given.records.map(({ seq }) => `${given.thread} ${seq}`)),
              ended: () => heard.push('ended'),
            },
          )
        const tell = await commit(threads[thread] ?? 'root')
        if (told === 'now') tell()
        if (told === 'later') late.unshift(tell)
        if (pause) await turn()
        if (pause) for (const other of late.splice(0)) other()
      }
      const entries = await backend.journal.readTree('root')
      await until('all that was committed', () => heard.length >= entries.length)
      await quiet()
      expect(heard).toEqual(entries.map(({ thread, first }) => `${thread} ${first}`))
      stop()
      await backend.close()
    }),
    { numRuns: 200 },
  )
})

it('FW1: what is told in its order is not read from the journal; a reader that is slow gets it from there', async () => {
  const { backend, write } = await tree()
  const { counted, reads } = countReads(backend)
  const reader = follow(counted, { root: 'root' })[Symbol.asyncIterator]()
  const take = async (): Promise<unknown> => {
    const { value } = await reader.next()
    return value && 'seq' in value && `${value.thread} ${value.seq}`
  }
  await write('root')
  expect(await take()).toBe('root 1')
  await quiet()
  const before = reads()
  for (const thread of ['child', 'root', 'other']) await write(thread)
  expect([await take(), await take(), await take()]).toEqual(['child 1', 'root 2', 'other 1'])
  expect(reads()).toBe(before)
  for (let seq = 2; seq <= 40; seq++) await write('other')
  await quiet()
  // The reader has taken nothing meanwhile: what waits for it is in the journal, and is found there.
  expect(reads()).toBeGreaterThan(before)
  for (let seq = 2; seq <= 40; seq++) expect(await take()).toBe(`other ${seq}`)
  await reader.return(undefined)
  await backend.close()
})

it('FW1: of large commits that a reader does not take, few wait for it; the rest stays in the journal', async () => {
  const { backend, write } = await tree('x'.repeat(2 ** 20))
  const { counted, reads } = countReads(backend)
  const reader = follow(counted, { root: 'root' })[Symbol.asyncIterator]()
  await write('root')
  await reader.next()
  await quiet()
  const before = reads()
  for (let count = 0; count < 3; count++) await write('root')
  await quiet()
  expect(reads()).toBeGreaterThan(before)
  for (const seq of [2, 3, 4]) expect(await reader.next()).toMatchObject({ value: { seq } })
  await reader.return(undefined)
  await backend.close()
})

it('FW3: nothing is given after stop', async () => {
  const { backend, write } = await tree()
  await write('root')
  let given = 0
  const stop = watch(backend, { root: 'root' }, { records: () => given++, ended: () => given++ })
  await until('the past', () => given === 1)
  stop()
  await write('root')
  await quiet()
  expect(given).toBe(1)
  expect(backend.signals.heard(treeTopic('root'))).toBe(false)
  await backend.close()
})

it('FW3: an iteration that cannot begin leaves no listener on its signal', async () => {
  const { backend } = await tree()
  const { signal } = new AbortController()
  await expect(collect(follow(backend, { root: 'root', from: 'yesterday', signal }))).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  expect(getEventListeners(signal, 'abort')).toEqual([])
  await backend.close()
})

/** What the model of the child says in its first step, when the child has this many records. */
function say(
  backend: Backend,
  text: string,
  { after, offset }: { readonly after: number; readonly offset: number },
): void {
  const event: DeltaEvent = {
    type: 'text.delta',
    thread: 'child',
    path: ['root', 'child'],
    run: 'r',
    step: 1,
    attempt: 1,
    offset,
    text,
  }
  tellDelta(backend, { id: event.thread, path: event.path }, () => ({ kind: 'spoken', after, event }))
}

it.each([
  { name: 'of the thread', watching: { root: 'root', thread: 'child' }, past: 1 },
  { name: 'of the tree', watching: { root: 'root' }, past: 2 },
  {
    name: 'of the tree that goes on from a cursor behind the thread',
    watching: { root: 'root', from: '2.1' },
    past: 0,
  },
])(
  'FW6, TH1: what a model says before its turn is durable comes after the record it follows, for a watcher $name',
  async ({ watching, past }) => {
    const { backend, write } = await tree()
    await write('child')
    await write('root')
    const heard: string[] = []
    const stop = watch(backend, watching, {
      records: ({ thread, records }) => heard.push(...records.map(({ seq }) => `${thread} ${seq}`)),
      delta: (event) => heard.push(event.type === 'text.delta' ? event.text : event.type),
      ended: () => heard.push('ended'),
    })
    await until('the past', () => heard.length === past)
    heard.length = 0
    say(backend, 'one ', { after: 1, offset: 0 })
    say(backend, 'two', { after: 2, offset: 4 })
    await until('what needs no more records', () => heard.length === 1)
    await quiet()
    expect(heard).toEqual(['one '])
    await write('child', 'lost')
    await write('child')
    await until('all of it', () => heard.length === 4)
    expect(heard).toEqual(['one ', 'child 2', 'two', 'child 3'])
    stop()
    await backend.close()
  },
)
