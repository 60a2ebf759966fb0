/**
 * The suite that every backend passes. Test names quote the invariants of src/backend/port.ts.
 * Owns no backend: `makeSource` gives a fresh store for each test and what removes it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostSelf } from '../../src/backend/host-info.js'
import type { Backend, Store, Head, StoredEntry } from '../../src/backend/port.js'
import { blobs } from './backend-blobs.js'
import { keyCheck } from './backend-key.js'
import { removedTrees } from './backend-trees.js'
import { bytesOf, commit, head, withoutRecords } from './entries.js'

export interface Fresh {
  readonly source: Store
  readonly remove?: () => Promise<void>
}

/** What the hosts of this suite say of themselves. */
const self: HostSelf = {
  profile: { name: 'pear/1', since: 5, skein: '1.2.3', records: 7, app: 'shop', appVersion: '4.0.0' },
  work: () => ({ awake: 3, busy: 2, load: 0.25 }),
  warn: (what) => process.emitWarning(what),
  reach: () => undefined,
}

const bodies = (entries: readonly StoredEntry[]): string[] => entries.map((entry) => entry.body)

export function backendContract(name: string, makeSource: () => Promise<Fresh>): void {
  describe(`backend contract: ${name}`, () => {
    let fresh: Fresh
    let backend: Backend
    const opened: Backend[] = []
    const open = async (role: 'host' | 'client'): Promise<Backend> => {
      const made = await fresh.source.open(role, role === 'host' ? self : undefined)
      opened.push(made)
      return made
    }

    beforeEach(async () => {
      fresh = await makeSource()
      backend = await open('host')
    })
    afterEach(async () => {
      for (const made of opened.splice(0).reverse()) await made.close()
      await fresh.remove?.()
    })
    const context: Context = {
      backend: () => backend,
      open,
      reopen: async () => {
        await backend.close()
        return (backend = await open('host'))
      },
    }

    journal(context)
    reading(context)
    refusals(context)
    trees(context)
    heads(context)
    mailbox(context)
    sends(context)
    ephemeral(context)
    roles(context)
    hosts(context)
    blobs(context)
    removedTrees(context)
    keyCheck(context)
    lives(context)
  })
}

/** Every partition, for a host that is alone. */
async function acquireAll({ leases }: Backend): Promise<void> {
  for (let partition = 0; partition < leases.partitions; partition += 1)
    expect(await leases.acquire(partition)).toBeDefined()
}

export interface Context {
  readonly backend: () => Backend
  readonly open: (role: 'host' | 'client') => Promise<Backend>
  readonly reopen: () => Promise<Backend>
}

function journal({ backend }: Context): void {
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
    expect(result).toEqual({ ok: true, position: next.at(-1)?.position })
    expect(await backend().journal.readTree('nobody')).toEqual([])
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

function heads({ backend }: Context): void {
  const make = async (): Promise<void> => {
    const all: Record<string, Partial<Head>> = {
      r1: { tags: ['x', 'y'] },
      r2: { agent: 'reader', status: 'working', rest: false },
      'r1/a': { root: 'r1', parent: 'r1', path: ['writer', 'a'], tags: ['y'] },
      'r1/b': { root: 'r1', parent: 'r1', status: 'working', wakeAt: 1_767_225_700_000 },
      'r1/a/c': { root: 'r1', parent: 'r1/a' },
    }
    for (const [thread, fields] of Object.entries(all))
      await backend().commit(commit(thread, 0, { head: head(thread, fields) }))
  }
  const names = async (filter: Parameters<Backend['heads']['list']>[0]): Promise<string[]> =>
    (await backend().heads.list(filter)).heads.map((found) => found.thread)

  it('lists heads in order of creation, by every filter and by several', async () => {
    await make()
    await backend().commit(commit('r1', 1, { head: head('r1', { tags: ['x', 'y'], updatedAt: 9_999_999_999_999 }) }))
    expect(await names({})).toEqual(['r1', 'r2', 'r1/a', 'r1/b', 'r1/a/c'])
    expect(await names({ status: 'working' })).toEqual(['r2', 'r1/b'])
    expect(await names({ agent: 'reader' })).toEqual(['r2'])
    expect(await names({ tag: 'y' })).toEqual(['r1', 'r1/a'])
    expect(await names({ parent: 'r1' })).toEqual(['r1/a', 'r1/b'])
    expect(await names({ root: 'r1' })).toEqual(['r1', 'r1/a', 'r1/b', 'r1/a/c'])
    expect(await names({ root: 'r1', status: 'idle', tag: 'y' })).toEqual(['r1', 'r1/a'])
    expect(await names({ root: 'r2', parent: 'r1' })).toEqual([])
    expect(await names({ parent: 'gone' })).toEqual([])
    expect(await names({ tag: '' })).toEqual([])
  })

  it('keeps what a thread waits for, lists by it, and forgets it', async () => {
    await make()
    const pending = [
      {
        call: 'call_1_0',
        why: 'approval' as const,
        tool: 'pay',
        args: { cents: [1, 'a'] },
        requestedAt: 5,
        prompt: 'Pay?',
        defaults: { a: null },
        deadlineAt: 9,
      },
    ]
    await backend().commit(commit('r1/b', 1, { head: head('r1/b', { root: 'r1', parent: 'r1', pending }) }))
    await backend().commit(commit('r2', 1, { head: head('r2', { pending }) }))
    expect(await names({ pending: true })).toEqual(['r2', 'r1/b'])
    expect(await names({ pending: true, root: 'r1' })).toEqual(['r1/b'])
    expect((await backend().heads.get('r1/b'))?.pending).toEqual(pending)
    await backend().commit(commit('r2', 2, { head: head('r2') }))
    expect(await names({ pending: true })).toEqual(['r1/b'])
    expect(await backend().heads.get('r2')).not.toHaveProperty('pending')
  })

  it('pages through a list without loss, and says when there is no more', async () => {
    await make()
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page: Awaited<ReturnType<Backend['heads']['list']>> = await backend().heads.list({
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      })
      seen.push(...page.heads.map((found) => found.thread))
      cursor = page.next
    } while (cursor !== undefined)
    expect(seen).toEqual(['r1', 'r2', 'r1/a', 'r1/b', 'r1/a/c'])
    expect((await backend().heads.list({ limit: 5 })).next).toBeUndefined()
    const page = await backend().heads.list({ root: 'r1', limit: 1 })
    expect(await names({ root: 'r1', limit: 2, ...(page.next !== undefined && { cursor: page.next }) })).toEqual([
      'r1/a',
      'r1/b',
    ])
    await expect(backend().heads.list({ cursor: 'nonsense' })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('a head is replaced whole by each commit', async () => {
    const rich = head('a', { status: 'x', parent: 'p', tags: ['t'], rest: false, wakeAt: 5, path: ['p', 'a'] })
    await backend().commit(commit('a', 0, { head: rich }))
    expect(await backend().heads.get('a')).toEqual({ ...rich, thread: 'a', seq: 1 })
    await backend().commit(commit('a', 1, { head: head('a', { updatedAt: 7 }) }))
    expect(await backend().heads.get('a')).toEqual({ ...head('a', { updatedAt: 7 }), thread: 'a', seq: 2 })
  })

  it('knows every thread that is not at rest or has a wake, and forgets it when that ends', async () => {
    await make()
    const restless = async (): Promise<string[]> => (await backend().heads.restless()).map((found) => found.thread)
    expect(await restless()).toEqual(['r2', 'r1/b'])
    await backend().commit(commit('r2', 1, { head: head('r2') }))
    await backend().commit(commit('r1', 1, { head: head('r1', { rest: false }) }))
    await backend().commit(commit('r1', 2, { head: head('r1', { rest: false, updatedAt: 8 }) }))
    expect(await restless()).toEqual(['r1', 'r1/b'])
    await backend().commit(commit('r1/b', 1, { head: head('r1/b', { root: 'r1', parent: 'r1' }) }))
    expect(await restless()).toEqual(['r1'])
  })
}

function mailbox({ backend, reopen }: Context): void {
  it('J4: mail is numbered in order of arrival per thread and stays until a commit names it in done', async () => {
    await Promise.all(['m1', 'm2', 'm3'].map((id) => backend().mailbox.put({ to: 'a', id, body: { id } })))
    await backend().mailbox.put({ to: 'b', id: 'm1', body: null })
    const mail = await backend().mailbox.read('a', 0)
    expect(mail.map(({ id, body }) => [id, body])).toEqual([
      ['m1', { id: 'm1' }],
      ['m2', { id: 'm2' }],
      ['m3', { id: 'm3' }],
    ])
    const numbers = mail.map(({ number }) => number)
    expect(numbers).toEqual([...new Set(numbers)].sort((x, y) => x - y))
    expect((await backend().mailbox.read('a', numbers[0] ?? 0)).map(({ id }) => id)).toEqual(['m2', 'm3'])
    await backend().commit(commit('a', 0, { done: [numbers[1] ?? -1] }))
    expect((await backend().mailbox.read('a', 0)).map(({ id }) => id)).toEqual(['m1', 'm3'])
    expect([...(await backend().mailbox.waiting())].sort()).toEqual(['a', 'b'])
  })

  it('J4: mail that one process puts for a thread arrives in the order of the calls, however long it is', async () => {
    const said = ['first', 'x'.repeat(3_000_000), 'third', 'y'.repeat(1_500_000), 'last']
    await Promise.all(said.map((body, n) => backend().mailbox.put({ to: 'a', id: `m${n}`, body })))
    expect((await backend().mailbox.read('a', 0)).map(({ body }) => String(body).length)).toEqual(
      said.map(({ length }) => length),
    )
  })

  it('J4: done finishes only our own mail', async () => {
    await backend().mailbox.put({ to: 'b', id: 'm1', body: 1 })
    const [mail] = await backend().mailbox.read('b', 0)
    await backend().commit(commit('a', 0, { done: [mail?.number ?? -1, 12345] }))
    expect(await backend().mailbox.read('b', 0)).toHaveLength(1)
  })

  it('J4: numbers are not used again, not even after a restart with an empty mailbox', async () => {
    await backend().mailbox.put({ to: 'a', id: 'm1', body: 1 })
    const [one] = await backend().mailbox.read('a', 0)
    await backend().commit(commit('a', 0, { done: [one?.number ?? -1] }))
    await reopen()
    await backend().mailbox.put({ to: 'a', id: 'm2', body: 2 })
    const [two] = await backend().mailbox.read('a', one?.number ?? 0)
    expect(two).toMatchObject({ id: 'm2' })
  })

  it('J4: the same id twice for one thread is one mail while it is not done', async () => {
    await Promise.all([1, 2].map((body) => backend().mailbox.put({ to: 'a', id: 'same', body })))
    await backend().mailbox.put({ to: 'a', id: 'same', body: 3 })
    await backend().mailbox.put({ to: 'b', id: 'same', body: 4 })
    const mail = await backend().mailbox.read('a', 0)
    expect(mail).toMatchObject([{ id: 'same', body: 1 }])
    await backend().commit(commit('a', 0, { done: [mail[0]?.number ?? -1] }))
    await backend().mailbox.put({ to: 'a', id: 'same', body: 5 })
    expect(await backend().mailbox.read('a', 0)).toMatchObject([{ id: 'same', body: 5 }])
  })

  it('J4: mail is what it was when it was put', async () => {
    const body = { list: [1] }
    const put = backend().mailbox.put({ to: 'a', id: 'm', body })
    body.list.push(2)
    await put
    expect(await backend().mailbox.read('a', 0)).toMatchObject([{ body: { list: [1] } }])
  })
}

function sends({ backend, open }: Context): void {
  it('a watcher hears of mail from puts, from commits and from clients, once it can be read', async () => {
    await acquireAll(backend()) // a host is told of the mail of its partitions
    const arrived: Promise<string[]>[] = []
    const waiting = new Map<string, () => void>()
    const heardOf = (thread: string): Promise<void> => new Promise((resolve) => waiting.set(thread, resolve))
    const stop = backend().mailbox.watch((thread) => {
      arrived.push(
        backend()
          .mailbox.read(thread, 0)
          .then((mail) => mail.map(({ id }) => `${thread}:${id}`)),
      )
      waiting.get(thread)?.()
    })
    const all = Promise.all(['a', 'b', 'c'].map(heardOf))
    await backend().mailbox.put({ to: 'a', id: 'put', body: 1 })
    await backend().commit(commit('z', 0, { sends: [{ to: 'b', id: 'send', body: 1 }] }))
    const client = await open('client')
    await client.mailbox.put({ to: 'c', id: 'client', body: 1 })
    await all
    expect(await Promise.all(arrived)).toEqual([['a:put'], ['b:send'], ['c:client']])
    stop()
    await backend().mailbox.put({ to: 'd', id: 'late', body: 1 })
    expect(arrived).toHaveLength(3)
  })

  it('a thread that does not exist may finish its mail and answer, without getting a head', async () => {
    await backend().mailbox.put({ to: 'ghost', id: 'm', body: 1 })
    const [mail] = await backend().mailbox.read('ghost', 0)
    const answer = withoutRecords('ghost', {
      done: [mail?.number ?? -1],
      sends: [{ to: 'asker', id: 'no', body: 'unknown thread' }],
    })
    expect(await backend().commit(answer)).toMatchObject({ ok: true })
    expect(await backend().heads.get('ghost')).toBeUndefined()
    expect(await backend().heads.list({})).toEqual({ heads: [] })
    expect(await backend().mailbox.waiting()).toEqual(['asker'])
  })

  it('a commit without records finishes mail, keeps the sequence and is fenced like any other', async () => {
    await backend().commit(commit('a', 0, { epoch: 2 }))
    await backend().mailbox.put({ to: 'a', id: 'm', body: 1 })
    const [mail] = await backend().mailbox.read('a', 0)
    const finish = {
      ...withoutRecords('a', { done: [mail?.number ?? -1] }),
      head: head('a', { status: 'done' }),
      expected: 1,
    }
    expect(await backend().commit({ ...finish, epoch: 1 })).toEqual({ ok: false, seq: 1, epoch: 2 })
    expect(await backend().mailbox.read('a', 0)).toHaveLength(1)
    expect(await backend().commit({ ...finish, epoch: 2 })).toMatchObject({ ok: true })
    expect(await backend().mailbox.read('a', 0)).toEqual([])
    expect(await backend().heads.get('a')).toMatchObject({ seq: 1, status: 'done' })
  })
}

function ephemeral({ backend, open }: Context): void {
  it('J6: a snapshot is kept as bytes, the last one counts, and there may be none', async () => {
    expect(await backend().snapshots.get('a')).toBeUndefined()
    const bytes = Uint8Array.from([0, 255, 1])
    await backend().commit(commit('a', 0))
    await backend().snapshots.put('a', bytes)
    bytes[0] = 9
    expect([...((await backend().snapshots.get('a')) ?? [])]).toEqual([0, 255, 1])
    await backend().snapshots.put('a', Uint8Array.from([2]))
    expect([...((await backend().snapshots.get('a')) ?? [])]).toEqual([2])
  })

  it("J7: one publisher's signals on one topic keep their order, and other topics are not heard", async () => {
    const heard: unknown[] = []
    const last = new Promise<void>((resolve) => {
      backend().signals.subscribe('t', (value) => {
        heard.push(value)
        if (value === 99) resolve()
      })
    })
    backend().signals.publish('other', 'no')
    for (let n = 0; n < 100; n += 1) backend().signals.publish('t', n)
    await last
    expect(heard).toEqual(Array.from({ length: 100 }, (_, n) => n))
  })

  it('J7: a host is told when nobody hears what it says, and only then', async () => {
    const { signals } = backend()
    const client = await open('client')
    const there = new Promise((resolve) => void client.signals.subscribe('there', resolve))
    const here = new Promise((resolve) => void signals.subscribe('here', resolve))
    await client.mailbox.put({ to: 'x', id: 'after', body: 1 }) // the host knows of the subscription now
    const unheard: string[] = []
    await new Promise<void>((resolve) => {
      for (const topic of ['here', 'there', 'nowhere'])
        signals.publish(topic, topic, () => {
          unheard.push(topic)
          resolve()
        })
    })
    expect(await Promise.all([here, there])).toEqual(['here', 'there'])
    expect(unheard).toEqual(['nowhere'])
  })

  it('J7: heard() is true while anyone listens, of whatever process, and a stopped listener hears nothing', async () => {
    const heard: unknown[] = []
    const stop = backend().signals.subscribe('t', (value) => heard.push(value))
    expect(backend().signals.heard('t')).toBe(true)
    stop()
    backend().signals.publish('t', 1)
    const client = await open('client')
    const told = new Promise((resolve) => void client.signals.subscribe('t', resolve))
    // Mail goes the same way as the subscription, so the host knows of it now.
    await client.mailbox.put({ to: 'x', id: 'after', body: 1 })
    expect(backend().signals.heard('t')).toBe(true)
    backend().signals.publish('t', { text: 'hello' })
    expect(await told).toEqual({ text: 'hello' })
    expect(heard).toEqual([])
  })
}

function roles({ backend, open }: Context): void {
  it('leases: one holder per partition, and every acquisition has a greater epoch', async () => {
    const one = await backend().leases.acquire(0)
    expect(await backend().leases.acquire(0)).toBeUndefined()
    await one?.release()
    expect(one?.lost.aborted).toBe(true)
    const two = await backend().leases.acquire(0)
    expect(two?.epoch).toBeGreaterThan(one?.epoch ?? Infinity)
    expect(two?.lost.aborted).toBe(false)
  })

  it('leases: every thread belongs to one partition, and a host alone has a share of all of them', async () => {
    const { leases } = backend()
    const { partitions } = leases
    expect(await leases.survey()).toEqual({
      share: partitions,
      free: Array.from({ length: partitions }, (_, n) => n),
      barred: 0,
    })
    await acquireAll(backend())
    expect(await leases.survey()).toEqual({ share: partitions, free: [], barred: 0 })
    const threads = Array.from({ length: 20 }, (_, n) => `t/${n} ü`)
    for (const thread of threads) {
      await backend().commit(
        commit(thread, 0, { head: head(thread, { rest: false }), sends: [{ to: `${thread}+`, id: 'm', body: 1 }] }),
      )
    }
    const restless: string[] = []
    for (let partition = 0; partition < partitions; partition += 1) {
      const found = (await backend().heads.restless(partition)).map(({ thread }) => thread)
      expect(found.every((thread) => leases.partitionOf(thread) === partition)).toBe(true)
      restless.push(...found)
    }
    expect(restless.sort()).toEqual([...threads].sort())
    const listed = await Promise.all(
      Array.from({ length: partitions }, async (_, partition) =>
        (await backend().heads.list({}, partition)).heads.map(({ thread }) => thread),
      ),
    )
    expect(listed.every((found, partition) => found.every((thread) => leases.partitionOf(thread) === partition))).toBe(
      true,
    )
    expect(listed.flat().sort()).toEqual([...threads].sort())
    expect((await backend().heads.restless()).map(({ thread }) => thread)).toEqual(threads)
  })

  it('a client reads, and may not commit, lease or put snapshots', async () => {
    await backend().commit(commit('a', 0))
    const client = await open('client')
    expect(client.role).toBe('client')
    expect(await client.hosted()).toBe(true)
    expect(await client.journal.read('a')).toHaveLength(1)
    expect(await client.heads.get('a')).toMatchObject({ seq: 1 })
    await expect(client.commit(commit('a', 1))).rejects.toMatchObject({ code: 'INVARIANT' })
    await expect(client.leases.acquire(0)).rejects.toMatchObject({ code: 'INVARIANT' })
    await expect(client.snapshots.put('a', new Uint8Array(1))).rejects.toMatchObject({ code: 'INVARIANT' })
  })
}

function hosts({ backend, open }: Context): void {
  it('says who is there, to hosts and clients: what a host says of itself, and the partitions that it holds', async () => {
    await acquireAll(backend())
    const { partitions } = backend().leases
    const there = {
      id: expect.any(String),
      ...self.profile,
      ...self.work(),
      partitions: Array.from({ length: partitions }, (_, n) => n),
    }
    const client = await open('client')
    expect(await client.hosts()).toEqual([there])
    expect(await backend().hosts()).toEqual([there])
    await backend().close()
    expect(await client.hosts()).toEqual([])
  })
}

function lives({ backend, open, reopen }: Context): void {
  it('reopening sees everything: journal, heads, mail, snapshots, blobs, and epochs go on', async () => {
    const lease = await backend().leases.acquire(0)
    await backend().commit(
      commit('a', 0, { head: head('a', { rest: false, tags: ['t'] }), sends: [{ to: 'b', id: 's', body: [1] }] }),
    )
    await backend().snapshots.put('a', Uint8Array.from([1, 2]))
    const { hash } = await backend().blobs.put(Buffer.from('kept'))
    const before = await backend().journal.read('a')
    await reopen()
    expect(lease?.lost.aborted).toBe(true)
    expect(await backend().journal.read('a')).toEqual(before)
    expect(await backend().heads.restless()).toEqual([
      { ...head('a', { rest: false, tags: ['t'] }), thread: 'a', seq: 1 },
    ])
    expect(await backend().mailbox.read('b', 0)).toMatchObject([{ id: 's', body: [1] }])
    expect([...((await backend().snapshots.get('a')) ?? [])]).toEqual([1, 2])
    expect((await bytesOf(backend().blobs.get(hash))).toString()).toBe('kept')
    expect((await backend().leases.acquire(0))?.epoch).toBeGreaterThan(lease?.epoch ?? Infinity)
    const next = await backend().commit(commit('a', 1))
    expect(next.ok && next.position).toBeGreaterThan(before[0]?.position ?? Infinity)
  })

  it('close keeps what is queued, and later operations say STORE_CLOSED', async () => {
    const queued = backend().commit(commit('a', 0))
    const closed = backend()
    await closed.close()
    expect(await queued).toMatchObject({ ok: true })
    await closed.close()
    const late = { code: 'STORE_CLOSED' }
    await expect(closed.commit(commit('a', 1))).rejects.toMatchObject(late)
    await expect(closed.journal.read('a')).rejects.toMatchObject(late)
    await expect(closed.heads.list({})).rejects.toMatchObject(late)
    await expect(closed.mailbox.put({ to: 'a', id: 'm', body: 1 })).rejects.toMatchObject(late)
    await expect(closed.mailbox.waiting()).rejects.toMatchObject(late)
    await expect(closed.snapshots.get('a')).rejects.toMatchObject(late)
    await expect(closed.blobs.put(Buffer.from('x'))).rejects.toMatchObject(late)
    await expect(closed.leases.acquire(0)).rejects.toMatchObject(late)
    await reopen()
    expect(await backend().journal.read('a')).toHaveLength(1)
  })

  it('a client says whether there is a host, and works on when there is none', async () => {
    await backend().commit(commit('a', 0))
    const client = await open('client')
    await backend().close()
    expect(await client.hosted()).toBe(false)
    expect(await client.journal.read('a')).toHaveLength(1)
    await client.mailbox.put({ to: 'a', id: 'm', body: 'while nobody was there' })
    expect(await client.mailbox.read('a', 0)).toMatchObject([{ id: 'm' }])
    await reopen()
    expect(await client.hosted()).toBe(true)
    expect(await backend().mailbox.waiting()).toEqual(['a'])
  })
}
