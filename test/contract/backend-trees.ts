/**
 * What every backend promises of trees that are removed (J9, J10), part of the suite in
 * backend.ts.
 */
import { expect, it } from 'vitest'
import type { Backend, Commit } from '../../src/backend/port.js'
import type { Context } from './backend-context.js'
import { bytesOf, commit, hashOf, head } from './entries.js'

/** A commit of a thread of the tree `r`. */
function ofTree(thread: string, expected: number, body?: string): Commit {
  const made = commit(thread, expected, { head: head(thread, { root: 'r', ...(thread !== 'r' && { parent: 'r' }) }) })
  return body === undefined || !made.entry ? made : { ...made, entry: { ...made.entry, body } }
}

async function plant(backend: Backend, children = 3): Promise<void> {
  await backend.commit(ofTree('r', 0))
  for (let n = 0; n < children; n++) await backend.commit(ofTree(`r/${n}`, 0))
  await backend.commit(commit('other', 0, { head: head('other', { wakeAt: 5 }) }))
  await backend.commit(ofTree('r', 1))
  await backend.snapshots.put('r', Uint8Array.from([1]))
  await backend.mailbox.put({ to: 'r/0', id: 'm', body: 1 })
  await backend.mailbox.put({ to: 'other', id: 'm', body: 1 })
}

const removal = { root: 'r', expected: 2, epoch: 1 }

/** To the end. Nothing is too young. */
async function sweepAll(backend: Backend, olderThanMs = -1_000): Promise<void> {
  for (let more = true; more;) more = (await backend.trees.sweep({ olderThanMs })).more
}

async function seen(backend: Backend): Promise<unknown> {
  const { heads } = await backend.heads.list({})
  return {
    heads: heads.map(({ thread }) => thread),
    ofTree: (await backend.heads.list({ root: 'r' })).heads.length,
    children: (await backend.heads.list({ parent: 'r' })).heads.length,
    head: await backend.heads.get('r/0'),
    tree: await backend.journal.readTree('r'),
    journal: [...(await backend.journal.read('r')), ...(await backend.journal.read('r/0'))],
    snapshot: await backend.snapshots.get('r'),
    mail: await backend.mailbox.waiting(),
    restless: (await backend.heads.restless()).map(({ thread }) => thread),
  }
}

const nothing = {
  heads: ['other'],
  ofTree: 0,
  children: 0,
  head: undefined,
  tree: [],
  journal: [],
  snapshot: undefined,
  mail: ['other'],
  restless: ['other'],
}

export function removedTrees(context: Context): void {
  removing(context)
  sweeping(context)
}

function removing({ backend, open, reopen }: Context): void {
  it('J9: a tree is gone at once, for the host, for clients and after a restart, and nothing else is', async () => {
    await plant(backend())
    const client = await open('client')
    expect(await backend().trees.remove(removal)).toEqual({ ok: true })
    expect(await seen(backend())).toEqual(nothing)
    expect(await seen(client)).toEqual(nothing)
    await client.close()
    await reopen()
    expect(await seen(backend())).toEqual(nothing)
    await sweepAll(backend())
    expect(await seen(backend())).toEqual(nothing)
    expect(await backend().journal.read('other')).toHaveLength(1)
  })

  it('J9: whoever reads meanwhile sees all of it, or nothing', async () => {
    await plant(backend())
    const removed = backend().trees.remove(removal)
    const lists = new Set<string>()
    for (let there = true; there;) {
      there = (await backend().heads.get('r')) !== undefined
      const { heads } = await backend().heads.list({ root: 'r' })
      lists.add(`${there ? '' : 'then '}${heads.map(({ thread }) => thread).join(' ')}`)
    }
    expect(await removed).toEqual({ ok: true })
    for (const list of lists) expect(['r r/0 r/1 r/2', '', 'then ']).toContain(list)
  })

  it('J9, J2: with a stale sequence or an older epoch it is refused and changes nothing', async () => {
    await plant(backend())
    const before = await seen(backend())
    for (const [stale, found] of [
      [
        { ...removal, expected: 1 },
        { seq: 2, epoch: 1 },
      ],
      [
        { ...removal, epoch: 0 },
        { seq: 2, epoch: 1 },
      ],
      [
        { ...removal, root: 'nobody' },
        { seq: 0, epoch: 0 },
      ],
    ] as const) {
      expect(await backend().trees.remove(stale)).toEqual({ ok: false, ...found })
    }
    expect(await seen(backend())).toEqual(before)
  })

  it('J9: a writer that had a thread of it is refused, and mail to it is mail to nobody', async () => {
    await plant(backend())
    await backend().trees.remove(removal)
    expect(await backend().commit(ofTree('r/1', 1))).toEqual({ ok: false, seq: 0, epoch: 0 })
    const { entry: _, ...withoutRecords } = ofTree('r/1', 1)
    expect(await backend().commit(withoutRecords)).toMatchObject({ ok: false })
    await backend().mailbox.put({ to: 'r', id: 'late', body: 1 })
    const [mail] = await backend().mailbox.read('r', 0)
    expect(
      await backend().commit({ thread: 'r', expected: 0, epoch: 1, sends: [], done: [mail?.number ?? -1] }),
    ).toMatchObject({ ok: true })
    expect(await seen(backend())).toEqual(nothing)
  })

  it.each(['before', 'after'] as const)(
    'J9: its ids may be used again %s the sweep, and the new threads have nothing of the old',
    async (when) => {
      await plant(backend())
      await backend().trees.remove(removal)
      if (when === 'after') await sweepAll(backend())
      for (const thread of ['r', 'r/0'])
        expect(await backend().commit(ofTree(thread, 0, '["new"]'))).toMatchObject({ ok: true })
      const check = async (): Promise<void> => {
        expect((await backend().heads.list({ root: 'r' })).heads.map(({ thread, seq }) => [thread, seq])).toEqual([
          ['r', 1],
          ['r/0', 1],
        ])
        expect((await backend().journal.readTree('r')).map(({ body }) => body)).toEqual(['["new"]', '["new"]'])
        expect((await backend().journal.read('r')).map(({ body }) => body)).toEqual(['["new"]'])
        expect(await backend().snapshots.get('r')).toBeUndefined()
      }
      await check()
      await sweepAll(backend())
      await check()
      await reopen()
      await check()
      // And once more.
      expect(await backend().trees.remove({ ...removal, expected: 1 })).toEqual({ ok: true })
      await sweepAll(backend())
      expect(await seen(backend())).toEqual(nothing)
    },
  )

  it('J5, J9: positions go on growing when the last entries were removed, also after a restart', async () => {
    await backend().commit(commit('other', 0))
    const last = await backend().commit(ofTree('r', 0))
    await backend().trees.remove({ ...removal, expected: 1 })
    await sweepAll(backend())
    await reopen()
    const next = await backend().commit(commit('other', 1))
    expect(next.ok && last.ok && next.position > last.position).toBe(true)
    expect((await backend().heads.list({})).heads).toHaveLength(1)
  })
}

function sweeping({ backend, open, reopen }: Context): void {
  const put = async (text: string): Promise<string> => (await backend().blobs.put(Buffer.from(text))).hash
  const large = 'x'.repeat(100_000)

  it('J10: blobs that only the removed tree named are collected, all others stay', async () => {
    const [own, both, mailed, big] = [await put('own'), await put('both'), await put('mailed'), await put(large)]
    await backend().commit(ofTree('r', 0, JSON.stringify({ own, both })))
    await backend().commit(ofTree('r/0', 0, JSON.stringify([['file', big], JSON.stringify({ own }), mailed])))
    await backend().commit({
      ...commit('other', 0),
      entry: { first: 1, count: 1, body: JSON.stringify({ both }), hash: 'h' },
    })
    await backend().mailbox.put({ to: 'other', id: 'm', body: { tree: [mailed] } })
    await sweepAll(backend())
    for (const hash of [own, both, mailed, big]) expect(await backend().blobs.has(hash)).toBe(true)
    await backend().trees.remove({ ...removal, expected: 1 })
    await sweepAll(backend())
    const has = async (): Promise<boolean[]> =>
      Promise.all([own, both, mailed, big].map((hash) => backend().blobs.has(hash)))
    expect(await has()).toEqual([false, true, true, false])
    await reopen()
    await sweepAll(backend())
    expect(await has()).toEqual([false, true, true, false])
    expect((await bytesOf(backend().blobs.get(both))).toString()).toBe('both')
  })

  it('J10: what was put a short time ago stays, and goes when it is old enough; a client may put it again meanwhile', async () => {
    const client = await open('client')
    const [small, big] = [await put('small'), await put(large)]
    await client.blobs.put(Buffer.from('by a client'))
    const all = [small, big, hashOf(Buffer.from('by a client'))]
    await backend().commit(ofTree('r', 0, JSON.stringify(all)))
    await backend().trees.remove({ ...removal, expected: 1 })
    const has = async (): Promise<boolean[]> => Promise.all(all.map((hash) => backend().blobs.has(hash)))
    await sweepAll(backend(), 60_000)
    expect(await has()).toEqual([true, true, true])
    await sweepAll(backend(), 60_000)
    expect(await has()).toEqual([true, true, true])
    await sweepAll(backend())
    expect(await has()).toEqual([false, false, false])
    for (const text of ['small', large]) {
      const { hash } = await client.blobs.put(Buffer.from(text))
      expect((await bytesOf(backend().blobs.get(hash))).toString()).toBe(text)
    }
  })

  it('J10: a blob that is put again while it is swept is there in the end, or can be put', async () => {
    const client = await open('client')
    for (let round = 0; round < 20; round++) {
      const hash = await put(large)
      await backend().commit(ofTree('r', 0, JSON.stringify([hash])))
      await backend().trees.remove({ ...removal, expected: 1 })
      const [, again] = await Promise.all([sweepAll(backend(), 0), client.blobs.put(Buffer.from(large))])
      expect(again.hash).toBe(hash)
      await client.blobs.put(Buffer.from(large))
      expect((await bytesOf(backend().blobs.get(hash))).length).toBe(large.length)
    }
  })

  it('a client may neither remove nor sweep', async () => {
    const client = await open('client')
    await expect(client.trees.remove(removal)).rejects.toMatchObject({ code: 'INVARIANT' })
    await expect(client.trees.sweep({ olderThanMs: 0 })).rejects.toMatchObject({ code: 'INVARIANT' })
  })

  it('J9: a tree of 300 threads and 3,000 entries is swept in slices, and others commit in between', async () => {
    for (let n = 0; n < 300; n++) {
      const thread = n === 0 ? 'r' : `r/${n}`
      await Promise.all(Array.from({ length: 10 }, (_, seq) => backend().commit(ofTree(thread, seq))))
    }
    await backend().trees.remove({ ...removal, expected: 10 })
    let commits = 0
    for (let more = true; more;) {
      ;({ more } = await backend().trees.sweep({ olderThanMs: 0 }))
      expect(await backend().commit(commit('other', commits++))).toMatchObject({ ok: true })
    }
    expect((await backend().journal.readTree('other')).length).toBe(commits)
    expect(await backend().journal.readTree('r')).toEqual([])
  })
}
