/** What every backend promises of commits and journals (J1, J2, J3, J5), part of the suite in backend.ts. */
import { expect, it } from 'vitest'
import { bodies } from './backend-context.js'
import type { Commit, JournalRange, Placed } from '../../src/backend/port.js'
import type { Context } from './backend-context.js'
import { commit, head } from './entries.js'

export function journals(context: Context): void {
  commits(context)
  together(context)
  reading(context)
  refusals(context)
  trees(context)
}

function commits({ backend }: Context): void {
  it('J1: a commit writes records, head, sends and finished mail together', async () => {
    await backend().mailbox.put({ to: 'a', id: 'm1', body: 'go' })
    const [mail] = await backend().mailbox.read('a', 0)
    const result = await backend().commit(
      commit('a', 0, { done: [mail?.number ?? -1], sends: [{ to: 'b', id: 's1', body: { n: 1 } }] }),
    )
    expect(result).toMatchObject({ ok: true })
    expect(bodies(await backend().journal.read('a'))).toEqual(['["a 1"]'])
    expect(await backend().heads.get('a')).toEqual({ ...head('a'), thread: 'a', seq: 1 })
    expect(await backend().mailbox.read('a', 0)).toEqual([])
    expect(await backend().mailbox.read('b', 0)).toMatchObject([{ id: 's1', body: { n: 1 } }])
  })

  it('J1: a commit whose records do not follow its expected sequence is a bug and harms no other', async () => {
    const bad = commit('a', 0, { entry: { first: 5, count: 1, body: '[]', hash: '' } })
    const [refused, stored] = await Promise.allSettled([backend().commit(bad), backend().commit(commit('b', 0))])
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'INVARIANT' } })
    expect(stored).toMatchObject({ status: 'fulfilled', value: { ok: true } })
    expect(await backend().heads.get('a')).toBeUndefined()
  })

  it('J3: commits of one thread in one turn become durable in order', async () => {
    const results = await Promise.all([0, 1, 2, 3].map((seq) => backend().commit(commit('a', seq))))
    const positions = results.map((result) => (result.ok ? result.position : -1))
    expect(positions).toEqual([...positions].sort((x, y) => x - y))
    expect(bodies(await backend().journal.read('a'))).toEqual(['["a 1"]', '["a 2"]', '["a 3"]', '["a 4"]'])
  })
}

/** Only where the backend says that it can: between servers it cannot. */
function together({ backend, reopen }: Context): void {
  it('J1, J2: commits of several threads stand or fall together', async ({ skip }) => {
    if (!backend().together) skip()
    await backend().commit(commit('a', 0))
    await backend().mailbox.put({ to: 'b', id: 'm1', body: 'go' })
    const [mail] = await backend().mailbox.read('b', 0)
    const b = commit('b', 0, { done: [mail?.number ?? -1], sends: [{ to: 'd', id: 's1', body: 1 }] })
    const stale = { ...commit('a', 1), also: [b, commit('c', 4)] }
    const others = ['x', 'y'].map((thread) => backend().commit(commit(thread, 0)))
    expect(await backend().commit(stale)).toEqual({ ok: false, seq: 0, epoch: 0 })
    expect(await backend().commit({ ...commit('a', 0), also: [b] })).toMatchObject({ ok: false, seq: 1 })
    // Who was written in the same turn is not harmed, and no trace is left of what was refused.
    for (const other of await Promise.all(others)) expect(other.ok).toBe(true)
    await reopen()
    expect(bodies(await backend().journal.read('a'))).toEqual(['["a 1"]'])
    expect(await backend().heads.get('b')).toBeUndefined()
    expect(await backend().mailbox.read('b', 0)).toHaveLength(1)
    expect(await backend().mailbox.read('d', 0)).toEqual([])
    const result = await backend().commit({ ...commit('a', 1), also: [b, commit('c', 0)] })
    const tree = await backend().journal.readTree('b')
    const [position = 0] = tree.map((entry) => entry.position)
    expect(result).toMatchObject({ ok: true, also: [{ position }, { position: position + 1 }] })
    expect(result.ok && result.position).toBe(position - 1)
    expect(bodies(await backend().journal.read('a'))).toEqual(['["a 1"]', '["a 2"]'])
    expect(await backend().heads.get('c')).toMatchObject({ seq: 1 })
    expect(await backend().mailbox.read('b', 0)).toEqual([])
    expect(await backend().mailbox.read('d', 0)).toMatchObject([{ id: 's1' }])
  })

  it('J1: a commit that is part of another has no parts itself', async ({ skip }) => {
    if (!backend().together) skip()
    const nested = { ...commit('a', 0), also: [{ ...commit('b', 0), also: [commit('c', 0)] }] }
    await expect(backend().commit(nested)).rejects.toMatchObject({ code: 'INVARIANT' })
    expect(await backend().heads.get('a')).toBeUndefined()
  })
}

function reading({ backend }: Context): void {
  it('J3: an entry comes back as it was given, whatever its text', async () => {
    const texts = [
      '{"a":"ü😀"}',
      'a,b;c\nd',
      'x\u001ey\u001fz',
      '',
      '"\\u0000"',
      'z'.repeat(300_000),
      '\u001e',
      '\u001e7\u001f2\u001f1\u001fh\u001fx',
    ]
    let expected = 0
    for (const body of texts) {
      await backend().commit(commit('a', expected, { entry: { first: expected + 1, count: 2, body, hash: 'ab+/=' } }))
      expected += 2
    }
    const entries = await backend().journal.read('a')
    expect(bodies(entries)).toEqual(texts)
    expect(entries[1]).toMatchObject({ thread: 'a', first: 3, count: 2, hash: 'ab+/=' })
  })

  it('reads entries that have a record after a sequence, and no more than the limit', async () => {
    let expected = 0
    for (const count of [1, 3, 2, 1]) {
      await backend().commit(
        commit('a', expected, { entry: { first: expected + 1, count, body: `${count}`, hash: '' } }),
      )
      expected += count
    }
    const after = async (seq: number, limit?: number): Promise<number[]> =>
      (await backend().journal.read('a', { after: seq, ...(limit !== undefined && { limit }) })).map(
        (entry) => entry.first,
      )
    expect(await after(0)).toEqual([1, 2, 5, 7])
    expect(await after(1)).toEqual([2, 5, 7])
    expect(await after(3)).toEqual([2, 5, 7])
    expect(await after(4)).toEqual([5, 7])
    expect(await after(6)).toEqual([7])
    expect(await after(7)).toEqual([])
    expect(await after(2, 2)).toEqual([2, 5])
    expect(await backend().journal.read('nobody')).toEqual([])
  })

  it('reads no further than the entry that brings the bodies to a number of bytes, of a thread and of a tree', async () => {
    const texts = [10, 10, 10, 500, 10, 10, 10, 10, 10, 10, 10, 10, 10].map((length) => 'x'.repeat(length))
    for (const [seq, body] of texts.entries())
      await backend().commit(commit('a', seq, { entry: { first: seq + 1, count: 1, body, hash: '' } }))
    const { journal } = backend()
    const [third] = (await journal.readTree('a')).slice(2)
    for (const read of [
      (range: JournalRange) => journal.read('a', range),
      ({ after, ...range }: JournalRange) =>
        journal.readTree('a', { ...range, after: after ? (third?.position ?? 0) : 0 }),
    ]) {
      const firsts = async (range: JournalRange) => (await read(range)).map(({ first }) => first)
      expect(await firsts({ bytes: 1 })).toEqual([1])
      expect(await firsts({ bytes: 30 })).toEqual([1, 2, 3])
      expect(await firsts({ bytes: 31 })).toEqual([1, 2, 3, 4])
      expect(await firsts({ after: 3, bytes: 200 })).toEqual([4])
      expect(await firsts({ bytes: 10_000 })).toHaveLength(13)
      expect(await firsts({ bytes: 615, limit: 12 })).toHaveLength(12)
      expect(await firsts({ bytes: 600, limit: 9 })).toHaveLength(9)
    }
  })

  it('reads a journal of 2,500 entries whole and in order', async () => {
    const all = Array.from({ length: 2500 }, (_, seq) => backend().commit(commit('a', seq)))
    await Promise.all(all)
    const entries = await backend().journal.read('a')
    expect(entries.map((entry) => entry.first)).toEqual(Array.from({ length: 2500 }, (_, seq) => seq + 1))
    expect(await backend().journal.read('a', { after: 100, limit: 1200 })).toHaveLength(1200)
  })
}

function refusals({ backend, reopen }: Context): void {
  const stored = commit('a', 0, { epoch: 3 })

  it('J2: a commit with a stale sequence is refused and changes nothing', async () => {
    await backend().commit(stored)
    await backend().mailbox.put({ to: 'a', id: 'm1', body: 1 })
    const [mail] = await backend().mailbox.read('a', 0)
    const stale = {
      epoch: 4,
      head: head('a', { status: 'wrong', rest: false }),
      sends: [{ to: 'b', id: 's', body: 1 }],
      done: [mail?.number ?? -1],
    }
    for (const expected of [0, 2]) {
      expect(await backend().commit(commit('a', expected, stale))).toEqual({ ok: false, seq: 1, epoch: 3 })
    }
    expect(bodies(await backend().journal.read('a'))).toEqual(['["a 1"]'])
    expect(await backend().heads.get('a')).toMatchObject({ status: 'idle', rest: true, seq: 1 })
    expect(await backend().mailbox.read('a', 0)).toHaveLength(1)
    expect(await backend().mailbox.waiting()).toEqual(['a'])
  })

  it('J2: a commit with an older epoch is refused and changes nothing', async () => {
    await backend().commit(stored)
    const late = commit('a', 1, { epoch: 2, sends: [{ to: 'b', id: 's', body: 1 }] })
    expect(await backend().commit(late)).toEqual({ ok: false, seq: 1, epoch: 3 })
    expect(await backend().journal.read('a')).toHaveLength(1)
    expect(await backend().mailbox.waiting()).toEqual([])
    expect(await backend().commit({ ...late, epoch: 4 })).toMatchObject({ ok: true })
    expect(await backend().commit(commit('a', 2, { epoch: 3 }))).toEqual({ ok: false, seq: 2, epoch: 4 })
  })

  it('J2: a commit that only goes on with a thread, alone in its turn, is refused like any other', async () => {
    await backend().commit(stored)
    const { position } = await placed(commit('a', 1, { epoch: 3 }))
    for (const late of [commit('a', 1, { epoch: 3 }), commit('a', 3, { epoch: 3 }), commit('a', 2, { epoch: 2 })])
      expect(await backend().commit(late)).toEqual({ ok: false, seq: 2, epoch: 3 })
    expect(bodies(await backend().journal.read('a'))).toEqual(['["a 1"]', '["a 2"]'])
    expect((await placed(commit('a', 2, { epoch: 3 }))).position).toBeGreaterThan(position)
    expect(await backend().heads.get('a')).toMatchObject({ seq: 3 })
  })

  async function placed(wanted: Commit): Promise<Placed> {
    const result = await backend().commit(wanted)
    if (!result.ok) throw new Error(`refused at ${result.seq}`)
    return result
  }

  it('J2: a thread that is not there has sequence 0', async () => {
    expect(await backend().commit(commit('a', 4))).toEqual({ ok: false, seq: 0, epoch: 0 })
    expect(await backend().heads.get('a')).toBeUndefined()
  })

  it('J2: creating a thread twice is refused, in the same turn and after a restart', async () => {
    const [one, two] = await Promise.all([backend().commit(stored), backend().commit(stored)])
    expect([one, two]).toMatchObject([{ ok: true }, { ok: false, seq: 1, epoch: 3 }])
    await reopen()
    expect(await backend().commit(stored)).toEqual({ ok: false, seq: 1, epoch: 3 })
    expect(await backend().journal.read('a')).toHaveLength(1)
  })

  it('J2: a refused commit does not harm the others of its turn', async () => {
    await backend().commit(stored)
    const results = await Promise.all([
      backend().commit(commit('b', 0)),
      backend().commit(stored),
      backend().commit(commit('a', 1, { epoch: 3 })),
    ])
    expect(results.map((result) => result.ok)).toEqual([true, false, true])
    expect(await backend().journal.read('a')).toHaveLength(2)
    expect(await backend().journal.read('b')).toHaveLength(1)
  })
}

function trees({ backend }: Context): void {
  it('J5: positions grow over threads, and reading a tree after a position misses nothing committed later', async () => {
    await backend().commit(commit('a', 0))
    await backend().commit(commit('other', 0))
    await backend().commit(commit('a/1', 0, { head: head('a/1', { root: 'a', parent: 'a' }) }))
    await backend().commit(commit('a', 1))
    const first = await backend().journal.readTree('a', { limit: 2 })
    expect(first.map((entry) => [entry.thread, entry.first])).toEqual([
      ['a', 1],
      ['a/1', 1],
    ])
    const after = first.at(-1)?.position ?? 0
    const result = await backend().commit(commit('a/1', 1, { head: head('a/1', { root: 'a', parent: 'a' }) }))
    const next = await backend().journal.readTree('a', { after })
    expect(next.map((entry) => [entry.thread, entry.first])).toEqual([
      ['a', 2],
      ['a/1', 2],
    ])
    expect(result).toMatchObject({ ok: true, position: next.at(-1)?.position })
    expect(await backend().journal.readTree('nobody')).toEqual([])
  })

  it('J5: a commit is told which entry of its tree it follows, or nothing, never a wrong one', async () => {
    const told = new Map<number, number | undefined>()
    const write = async (thread: string, seq: number, root: string): Promise<void> => {
      const result = await backend().commit(commit(thread, seq, { head: head(thread, { root }) }))
      if (result.ok) told.set(result.position, result.follows)
    }
    // Children of `a` are there before it; `b` begins with itself; `c` is removed, and begins anew.
    const order = ['a/1', 'b', 'a/2', 'b', 'a', 'c', 'a/1', 'c', 'b/1', 'a', 'b', 'a/2', 'b/1', 'a', 'b', 'b']
    const seqs = new Map<string, number>()
    for (const thread of order) {
      const seq = seqs.get(thread) ?? 0
      await write(thread, seq, thread.slice(0, 1))
      seqs.set(thread, seq + 1)
    }
    await backend().trees.remove({ root: 'c', expected: 2, epoch: 1 })
    await Promise.all([write('c', 0, 'c'), write('c/1', 0, 'c'), write('c', 1, 'c')])
    for (const root of ['a', 'b', 'c']) {
      const positions = (await backend().journal.readTree(root)).map(({ position }) => position)
      const befores = positions.map((_, index) => positions[index - 1] ?? 0)
      expect(positions.map((position, index) => told.get(position) ?? befores[index])).toEqual(befores)
    }
    const known = [...told.values()].filter((follows) => follows !== undefined)
    expect(known.length).toBeGreaterThanOrEqual(backend().together ? 6 : 0)
  })

  it('J5: of many commits at once, with and without sends, each is told the position of its own entry', async () => {
    const threads = Array.from({ length: 40 }, (_, n) => `t${n}`)
    const told = await Promise.all(
      threads.flatMap((thread, n) =>
        [0, 1].map(async (seq) => {
          const mail = Array.from({ length: n % 4 }, (_, to) => ({
            to: `r${to}`,
            id: `${thread} ${seq} ${to}`,
            body: 'x'.repeat(n * 100),
          }))
          const result = await backend().commit(commit(thread, seq, { head: head(thread, { root: 'a' }), sends: mail }))
          return [`["${thread} ${seq + 1}"]`, result.ok ? result.position : -1] as const
        }),
      ),
    )
    const entries = await backend().journal.readTree('a')
    expect(new Map(told)).toEqual(new Map(entries.map(({ body, position }) => [body, position])))
  })

  it('J5: pages of a small tree between much else are complete and in order', async () => {
    const threads = ['a', 'a/1', 'a/2']
    const own = Array.from({ length: 30 }, (_, round) => round)
    for (const round of own) {
      const others = Array.from({ length: 40 }, (_, n) => backend().commit(commit(`x${n}`, round)))
      const ours = threads.map((thread) =>
        backend().commit(commit(thread, round, { head: head(thread, { root: 'a' }) })),
      )
      await Promise.all([...others, ...ours])
    }
    const seen: string[] = []
    let after = 0
    for (;;) {
      const page = await backend().journal.readTree('a', { after, limit: 7 })
      if (page.length === 0) break
      seen.push(...bodies(page))
      after = page.at(-1)?.position ?? 0
    }
    expect(seen).toEqual(own.flatMap((round) => threads.map((thread) => `["${thread} ${round + 1}"]`)))
  })
}
