/** What every backend promises to who follows heads (J12), part of the suite in backend.ts. */
import { expect, it } from 'vitest'
import type { Backend, HeadChange, HeadFollower, StoredHead } from '../../src/backend/port.js'
import type { Context } from './backend-context.js'
import { commit, head } from './entries.js'

interface Copy extends HeadFollower {
  readonly changes: HeadChange[]
  /** What a reader of the changes has: as `list` gives it. */
  heads(): readonly StoredHead[]
}

function copyOf({ heads }: Backend): Copy {
  const changes: HeadChange[] = []
  const known = new Map<string, { readonly born: number; readonly head: StoredHead }>()
  const follower = heads.follow((change) => {
    changes.push(change)
    if ('head' in change) return void known.set(change.head.thread, change)
    for (const [id, row] of known) if (row.head.root === change.removed) known.delete(id)
  })
  return {
    ready: follower.ready,
    current: () => follower.current(),
    stop: () => follower.stop(),
    changes,
    heads: () => [...known.values()].toSorted((a, b) => a.born - b.born).map((row) => row.head),
  }
}

const listed = async ({ heads }: Backend): Promise<readonly StoredHead[]> => (await heads.list({})).heads

const child = (thread: string, root: string) => head(thread, { root, parent: root })

export function followedHeads({ backend, open, reopen }: Context): void {
  it('J12: who follows is told all heads as of one position, then every change in its order', async () => {
    const { position } = await made(backend(), ['a', 0])
    const copy = copyOf(backend())
    expect(await copy.ready).toBeGreaterThanOrEqual(position)
    expect(copy.heads()).toEqual(await listed(backend()))
    const before = copy.changes.length
    for (let n = 0; n < 5; n++) {
      await made(backend(), [`t${n}`, 0])
      await made(backend(), ['a', n + 1], { status: `s${n}` })
    }
    const last = await made(backend(), ['t0', 1], { tags: ['x'] })
    expect(await copy.current()).toBeGreaterThanOrEqual(last.position)
    expect(copy.heads()).toEqual(await listed(backend()))
    const positions = copy.changes.slice(before).map((change) => change.position)
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
    expect(positions.at(-1)).toBe(last.position)
  })

  it('J12: nothing is missing that is committed while the heads are read', async () => {
    for (let n = 0; n < 30; n++) await made(backend(), [`t${n}`, 0])
    const copy = copyOf(backend())
    const writing = Array.from({ length: 60 }, (_, n) => made(backend(), [`u${n}`, 0]))
    for (let n = 0; n < 30; n++) writing.push(made(backend(), [`t${n}`, 1], { status: 'working' }))
    await copy.ready
    await Promise.all(writing)
    await copy.current()
    expect(copy.heads()).toEqual(await listed(backend()))
    expect(copy.heads()).toHaveLength(90)
  })

  it('J12: a place in the list is the cursor of what comes after it', async () => {
    for (const thread of ['a', 'b', 'c']) await made(backend(), [thread, 0])
    await made(backend(), ['a', 1])
    const copy = copyOf(backend())
    await copy.ready
    const born = new Map(
      copy.changes.flatMap((change) => ('head' in change ? [[change.head.thread, change.born] as const] : [])),
    )
    const { heads } = await backend().heads.list({ cursor: String(born.get('b')) })
    expect(heads.map(({ thread }) => thread)).toEqual(['c'])
  })

  it('J12: a removed tree is told once, none of it comes again, and its id may be used again', async () => {
    await made(backend(), ['r', 0])
    for (const thread of ['r/1', 'r/2']) await backend().commit(commit(thread, 0, { head: child(thread, 'r') }))
    await made(backend(), ['other', 0])
    const copy = copyOf(backend())
    await copy.ready
    const client = copyOf(await open('client'))
    await client.ready
    expect(await backend().trees.remove({ root: 'r', expected: 1, epoch: 1 })).toEqual({ ok: true })
    for (const each of [copy, client]) {
      await each.current()
      expect(each.heads().map(({ thread }) => thread)).toEqual(['other'])
      expect(each.changes.filter((change) => 'removed' in change)).toMatchObject([{ removed: 'r' }])
    }
    await made(backend(), ['r', 0], { tags: ['again'] })
    for (const each of [copy, client]) {
      await each.current()
      expect(each.heads()).toEqual(await listed(backend()))
      expect(each.heads().map(({ thread }) => thread)).toEqual(['other', 'r'])
    }
  })

  it('J12: a tree that was removed, swept and made again between two looks is another tree', async () => {
    await made(backend(), ['r', 0])
    await backend().commit(commit('r/1', 0, { head: child('r/1', 'r') }))
    const copy = copyOf(await open('client'))
    await copy.ready
    await backend().trees.remove({ root: 'r', expected: 1, epoch: 1 })
    for (let more = true; more;) more = (await backend().trees.sweep({ olderThanMs: -1_000 })).more
    await made(backend(), ['r', 0])
    await copy.current()
    expect(copy.heads()).toEqual(await listed(backend()))
    expect(copy.heads()).toHaveLength(1)
  })

  it('J12: two who follow are told the same; one that has stopped hears nothing more', async () => {
    const [one, two] = [copyOf(backend()), copyOf(await open('client'))]
    await Promise.all([one.ready, two.ready])
    await made(backend(), ['a', 0])
    await Promise.all([one.current(), two.current()])
    expect(one.heads()).toEqual(two.heads())
    one.stop()
    await made(backend(), ['b', 0])
    await two.current()
    expect([one.heads().length, two.heads().length]).toEqual([1, 2])
  })

  it('J12: a client follows on from one host to the next', async () => {
    await made(backend(), ['a', 0])
    const copy = copyOf(await open('client'))
    await copy.ready
    await reopen()
    await made(backend(), ['b', 0])
    await made(backend(), ['a', 1], { status: 'working' })
    await copy.current()
    expect(copy.heads()).toEqual(await listed(backend()))
  })

  it('J12: heads that are too long for a header keep their place in the order', async () => {
    const copy = copyOf(backend())
    await copy.ready
    for (let n = 0; n < 4; n++) await made(backend(), [`t${n}`, 0], n % 2 ? {} : { says: 'x'.repeat(20_000) })
    await copy.current()
    expect(copy.heads()).toEqual(await listed(backend()))
    const second = copyOf(backend())
    await second.ready
    expect(second.heads()).toEqual(await listed(backend()))
  })
}

/** Commits to `[thread, expected]`. */
async function made(
  backend: Backend,
  [thread, expected]: readonly [string, number],
  fields: Partial<StoredHead> = {},
): Promise<{ readonly position: number }> {
  const result = await backend.commit(commit(thread, expected, { head: head(thread, fields) }))
  if (!result.ok) throw new Error(`the commit to ${thread} was refused`)
  return result
}
