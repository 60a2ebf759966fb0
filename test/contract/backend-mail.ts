/** What every backend promises of mailboxes (J4) and of mail that commits send, part of the suite in backend.ts. */
import { expect, it } from 'vitest'
import { acquireAll } from './backend-context.js'
import type { Context } from './backend-context.js'
import { commit, head, withoutRecords } from './entries.js'

export function mailboxes(context: Context): void {
  mailbox(context)
  sends(context)
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
