/** What every backend promises of heads, part of the suite in backend.ts. */
import { expect, it } from 'vitest'
import type { Backend, Head } from '../../src/backend/port.js'
import { defined } from '../../src/core/defined.js'
import type { Context } from './backend-context.js'
import { commit, head } from './entries.js'

export function heads({ backend }: Context): void {
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

  it('lists threads that begin in one turn in the order of their first commits, by tree, by parent and of all', async () => {
    await backend().commit(commit('p', 0))
    const children = Array.from({ length: 20 }, (_, n) => `p/${(n * 7) % 20}`)
    const begin = (thread: string) =>
      backend().commit(commit(thread, 0, { head: head(thread, { root: 'p', parent: 'p' }) }))
    await Promise.all(children.map(begin))
    // A later commit does not move a thread.
    await backend().commit(commit('p/0', 1, { head: head('p/0', { root: 'p', parent: 'p' }) }))
    expect(await names({ parent: 'p' })).toEqual(children)
    expect(await names({ root: 'p' })).toEqual(['p', ...children])
    expect(await names({})).toEqual(['p', ...children])
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
        ...defined({ cursor }),
      })
      seen.push(...page.heads.map((found) => found.thread))
      cursor = page.next
    } while (cursor !== undefined)
    expect(seen).toEqual(['r1', 'r2', 'r1/a', 'r1/b', 'r1/a/c'])
    expect((await backend().heads.list({ limit: 5 })).next).toBeUndefined()
    const page = await backend().heads.list({ root: 'r1', limit: 1 })
    expect(await names({ root: 'r1', limit: 2, ...defined({ cursor: page.next }) })).toEqual(['r1/a', 'r1/b'])
    await expect(backend().heads.list({ cursor: 'nonsense' })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('a head is replaced whole by each commit', async () => {
    const rich = head('a', { status: 'x', parent: 'p', tags: ['t'], rest: false, wakeAt: 5, path: ['p', 'a'] })
    await backend().commit(commit('a', 0, { head: rich }))
    expect(await backend().heads.get('a')).toEqual({ ...rich, thread: 'a', seq: 1 })
    await backend().commit(commit('a', 1, { head: head('a', { updatedAt: 7 }) }))
    expect(await backend().heads.get('a')).toEqual({ ...head('a', { updatedAt: 7 }), thread: 'a', seq: 2 })
  })

  it('knows every thread that is not at rest, has a wake or awaits variables, and forgets it when that ends', async () => {
    await make()
    const restless = async (): Promise<string[]> => (await backend().heads.restless()).map((found) => found.thread)
    expect(await restless()).toEqual(['r2', 'r1/b'])
    await backend().commit(commit('r2', 1, { head: head('r2') }))
    await backend().commit(commit('r1', 1, { head: head('r1', { rest: false }) }))
    await backend().commit(commit('r1', 2, { head: head('r1', { rest: false, updatedAt: 8 }) }))
    expect(await restless()).toEqual(['r1', 'r1/b'])
    await backend().commit(commit('r1/b', 1, { head: head('r1/b', { root: 'r1', parent: 'r1' }) }))
    expect(await restless()).toEqual(['r1'])
    await backend().commit(commit('r1', 3, { head: head('r1', { status: 'awaiting_variables' }) }))
    expect(await restless()).toEqual(['r1'])
    await backend().commit(commit('r1', 4, { head: head('r1') }))
    expect(await restless()).toEqual([])
  })
}
