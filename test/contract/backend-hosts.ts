/**
 * What every backend promises of leases, of hosts and clients, and of closing and opening again, part of the suite in
 * backend.ts.
 */
import { expect, it } from 'vitest'
import { acquireAll, self } from './backend-context.js'
import type { Context } from './backend-context.js'
import { bytesOf, commit, head } from './entries.js'

export function hosts(context: Context): void {
  holding(context)
  roles(context)
  lives(context)
}

function holding({ backend }: Context): void {
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
}

function roles({ backend, open }: Context): void {
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
