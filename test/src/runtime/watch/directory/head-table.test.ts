/** The table of heads against a plain list of them: random changes, every way to ask. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HeadChange, StoredHead } from '../../../../../src/backend/port.js'
import { HeadTable } from '../../../../../src/runtime/watch/directory/head-table.js'
import { updateOrder } from '../../../../../src/runtime/watch/directory/update-order.js'
import type { HeadQuery } from '../../../../../src/runtime/watch/directory/thread-query.js'
import { head } from '../../../../contract/entries.js'
import { times } from '../../../../helpers/soak.js'

interface Fields {
  readonly root: number
  readonly child: number
  readonly grandchild: number
  readonly status: string
  readonly tags: readonly string[]
  readonly rest: boolean
  readonly waits: boolean
  readonly cost: number
  readonly updatedAt: number
}

const fields = fc.record<Fields>({
  root: fc.nat(3),
  child: fc.nat(2),
  grandchild: fc.nat(2),
  status: fc.constantFrom('idle', 'thinking', 'failed'),
  tags: fc.subarray(['x', 'y']),
  rest: fc.boolean(),
  waits: fc.boolean(),
  cost: fc.nat(5),
  updatedAt: fc.nat(20),
})

const happening = fc.oneof({ weight: 8, arbitrary: fields }, { weight: 1, arbitrary: fc.nat(3) })

/** A root, a child of it or a grandchild: 0 stands for "not so deep". */
function idsOf({ root, child, grandchild }: Fields): readonly string[] {
  const path = [`r${root}`]
  if (child > 0) path.push(`${path[0]}/${child}`)
  if (child > 0 && grandchild > 0) path.push(`${path[1]}/${grandchild}`)
  return path
}

function headFrom(of: Fields): StoredHead {
  const path = idsOf(of)
  const thread = path.at(-1) ?? ''
  const parent = path.at(-2)
  const pending = [{ call: 'call_1_0', why: 'person' as const, tool: 'ask', args: {}, requestedAt: 1 }]
  const made = head(thread, {
    root: path[0] ?? '',
    path,
    ...(parent !== undefined && { parent }),
    status: of.status,
    tags: of.tags,
    rest: of.rest,
    ...(of.waits && { pending }),
    usage: { tokens: of.cost, nanoUsd: of.cost },
    title: `About ${of.status}`,
    updatedAt: of.updatedAt,
  })
  return { ...made, thread, seq: 1 }
}

class Reference {
  readonly rows = new Map<string, { readonly head: StoredHead; readonly born: number }>()

  apply(change: HeadChange): void {
    if ('head' in change) return void this.rows.set(change.head.thread, change)
    for (const [id, row] of this.rows) if (row.head.root === change.removed) this.rows.delete(id)
  }

  list(query: HeadQuery): readonly string[] {
    const { sort = 'created' } = query
    const found = [...this.rows.values()].filter(
      ({ head: each }) =>
        (query.status === undefined || each.status === query.status) &&
        (query.tag === undefined || each.tags.includes(query.tag)) &&
        (query.root === undefined || each.root === query.root) &&
        (query.parent === undefined || each.parent === query.parent) &&
        (!query.pending || each.pending !== undefined) &&
        (!query.rootsOnly || each.parent === undefined) &&
        (query.q === undefined || each.title?.toLowerCase().includes(query.q.toLowerCase())),
    )
    const key = ({ head: each, born }: (typeof found)[number]): number => {
      if (sort === 'updated') return each.updatedAt
      return sort === 'cost' ? (each.usage?.nanoUsd ?? 0) : born
    }
    const sign = sort === 'created' ? 1 : -1
    return found.toSorted((a, b) => sign * (key(a) - key(b) || a.born - b.born)).map(({ head: each }) => each.thread)
  }
}

const queries: readonly HeadQuery[] = [
  {},
  { rootsOnly: true },
  { status: 'failed' },
  { tag: 'x', status: 'idle' },
  { root: 'r1' },
  { parent: 'r1' },
  { pending: true },
  { q: 'ABOUT THINK' },
  { root: 'nobody' },
]

function pagesOf(table: HeadTable, query: HeadQuery): readonly string[] {
  const found: string[] = []
  for (let cursor: string | undefined, more = true; more;) {
    const page = table.list({ ...query, limit: 2, ...(cursor !== undefined && { cursor }) })
    expect(page.heads.length).toBeLessThanOrEqual(2)
    found.push(...page.heads.map(({ thread }) => thread))
    cursor = page.next
    more = cursor !== undefined
  }
  return found
}

describe('the table of heads', () => {
  it('DY1: gives what a plain list of all heads gives, in every order, page by page, after any changes', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), fc.nat(60), (all, completeAt) => {
        const table = new HeadTable()
        const reference = new Reference()
        const births = new Map<string, number>()
        const completing = table.completing(3)
        all.forEach((each, position) => {
          // The order of updates is made in slices, and rows come, change and go in between.
          if (position >= completeAt) completing.next()
          if (typeof each === 'number') {
            for (const [id] of [...births].filter(([thread]) => thread.split('/')[0] === `r${each}`)) births.delete(id)
            for (const one of [table, reference]) one.apply({ position, removed: `r${each}` })
            return
          }
          const made = headFrom(each)
          const born = births.get(made.thread) ?? position + 1
          births.set(made.thread, born)
          for (const one of [table, reference]) one.apply({ position, born, head: made })
        })
        while (!completing.next().done);
        for (const query of queries)
          for (const sort of ['created', 'newest', 'updated', 'cost'] as const)
            expect(pagesOf(table, { ...query, sort })).toEqual(reference.list({ ...query, sort }))
        for (const { head: each } of reference.rows.values()) {
          const below = [...reference.rows.values()].filter(({ head: other }) => other.path.includes(each.thread))
          const sum = (of: (one: StoredHead) => number): number => below.reduce((total, row) => total + of(row.head), 0)
          expect(table.countsOf(each.thread)).toMatchObject({
            threads: below.length,
            working: sum(({ rest }) => (rest ? 0 : 1)),
            waiting: sum(({ pending }) => (pending ? 1 : 0)),
            failed: sum(({ status }) => (status === 'failed' ? 1 : 0)),
            nanoUsd: sum(({ usage }) => usage?.nanoUsd ?? 0),
          })
        }
      }),
      { numRuns: times(100, 3_000) },
    )
  })

  it('the order of updates is made in slices, from the first row on', () => {
    let looked = 0
    const rows = Array.from({ length: 20 }, (_, n) => ({
      born: n,
      get head(): StoredHead {
        looked++
        return { ...head(`t${n}`, { updatedAt: 20 - n }), thread: `t${n}`, seq: 1 }
      },
    }))
    const order = updateOrder(rows, 3)
    let step = order.next()
    for (let before = 0; !step.done; step = order.next()) {
      expect(looked - before).toBeLessThanOrEqual(3)
      before = looked
    }
    expect([...step.value]).toEqual(rows.map((_, n) => 19 - n))
  })

  it('walks an order where a list is long, and refuses a cursor of another order', () => {
    const table = new HeadTable()
    for (let n = 0; n < 3_000; n++)
      table.apply({ position: n, born: n + 1, head: { ...head(`t${n}`, { updatedAt: n }), thread: `t${n}`, seq: 1 } })
    table.complete()
    expect(table.list({ status: 'idle', sort: 'updated', limit: 2 })).toMatchObject({
      heads: [{ thread: 't2999' }, { thread: 't2998' }],
      next: '2998.2999',
    })
    expect(table.list({ sort: 'newest', limit: 1, cursor: '2999' }).heads).toMatchObject([{ thread: 't2997' }])
    for (const sort of ['created', 'updated'] as const)
      for (const cursor of ['nonsense', sort === 'created' ? '1.1' : '1'])
        expect(() => table.list({ sort, cursor })).toThrow('is not one that this list gave')
  })

  it('DY1: a list in slices gives what there was when it began, whatever happens in its pauses', () => {
    const changeTo = (n: number, status: 'idle' | 'failed', updatedAt = n): HeadChange => ({
      position: updatedAt,
      born: n + 1,
      head: { ...head(`t${n}`, { updatedAt, status }), thread: `t${n}`, seq: 1 },
    })
    for (const sort of ['created', 'newest', 'updated', 'cost'] as const) {
      const table = new HeadTable()
      for (let n = 0; n < 100; n++) table.apply(changeTo(n, n % 10 === 0 ? 'failed' : 'idle'))
      table.complete()
      const query: HeadQuery = { q: 'T', status: 'failed', sort, limit: 8 }
      const before = table.list(query)
      const listing = table.listing(query, 3)
      let [step, pauses] = [listing.next(), 0]
      for (; !step.done; step = listing.next(), pauses++) {
        table.apply(changeTo(pauses * 10, 'idle', 1_000 + pauses))
        table.apply(changeTo(pauses * 10 + 1, 'failed', 2_000 + pauses))
        table.apply({ position: 3_000 + pauses, removed: `t${90 - pauses * 10}` })
      }
      expect(pauses).toBeGreaterThan(1)
      expect(step.value).toEqual(before)
    }
  })
})
