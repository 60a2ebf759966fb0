/** V2: what the page knows of a tree is a snapshot and changes, taken once each and in order. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangeList } from '../../../src/http/view/change-list.js'
import { ColumnWriter } from '../../../src/http/view/columns.js'
import type { WorkSpan } from '../../../src/http/view/spans.js'
import type { ThreadRow } from '../../../src/http/view/tree-rows.js'
import type { TreeChanges, TreeSnapshot } from '../../../src/http/view/tree-view.js'
import { TreeStore } from '../../../src/page/store/tree-store.js'
import { flatten } from '../../../src/page/tree/flatten.js'
import { criticalPath, pathShares } from '../../../src/page/tree/critical-path.js'

const base = { agent: 'a', createdAt: 100, updatedAt: 200, seq: 1 }
const row = (thread: string, more: Partial<ThreadRow> = {}): ThreadRow => ({ ...base, thread, status: 'idle', ...more })
const span = (thread: string, id: string, more: Partial<WorkSpan> = {}): WorkSpan => ({
  id: `${thread}/${id}`,
  thread,
  kind: 'model',
  step: 1,
  name: 'm',
  queuedAt: 100,
  state: 'running',
  ...more,
})

/** The server's side of it, without a server. */
class Source {
  readonly threads = new ChangeList<ThreadRow>()
  readonly spans = new ChangeList<WorkSpan>()

  get at(): [number, number] {
    return [this.threads.seq, this.spans.seq]
  }

  snapshot(): TreeSnapshot {
    const writer = new ColumnWriter(100)
    const spans = [...this.spans].map(({ id, ...rest }) => ({ ...rest, id: id.slice(rest.thread.length) }))
    const columns = {
      threads: writer.write([...this.threads].map((each) => ({ ...each }))),
      spans: writer.write(spans),
    }
    const [threadsSeq, spansSeq] = this.at
    return { root: 'r', epoch: 'e', threadsSeq, spansSeq, now: 0, base: 100, words: writer.words, ...columns }
  }

  since(from: readonly [number, number]): TreeChanges {
    return { epoch: 'e', from, to: this.at, threads: this.threads.since(from[0]), spans: this.spans.since(from[1]) }
  }
}

function loaded(source: Source): TreeStore {
  const store = new TreeStore('r')
  store.load(source.snapshot())
  return store
}

const change = fc.oneof(
  fc.record({ thread: fc.constantFrom('r', 'a', 'b', 'c'), status: fc.constantFrom('idle', 'thinking', 'failed') }),
  fc.record({ thread: fc.constantFrom('r', 'a', 'b'), span: fc.constantFrom('m0', 'm1'), endedAt: fc.nat(1_000) }),
)

/** `b` may come before its parent. */
const parentOf = (thread: string): { parent?: string } => (thread === 'r' ? {} : { parent: thread === 'b' ? 'c' : 'r' })

function play(source: Source, each: { thread: string; status?: string; span?: string; endedAt?: number }): void {
  const { thread, status, span: id, endedAt } = each
  if (status !== undefined)
    source.threads.set(thread, row(thread, { status, tokens: thread.length, ...parentOf(thread) }))
  else if (id !== undefined) source.spans.set(`${thread}/${id}`, span(thread, id, { endedAt: endedAt ?? 0 }))
}

const count = (store: TreeStore, status: string): number =>
  [...store.rows()].filter((each) => each.status === status).length

describe('a store of the page', () => {
  it('V2: a store is what a naive reader has, whatever is told twice, late or in one piece', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(change, fc.boolean(), fc.boolean())), (steps) => {
        const source = new Source()
        source.threads.set('r', row('r'))
        const store = loaded(source)
        const told: TreeChanges[] = []
        for (const [each, isTold, isAgain] of steps) {
          play(source, each)
          if (!isTold) continue
          const changes = source.since(store.position.at)
          told.push(changes)
          expect(store.apply(changes)).toBe('applied')
          // An older one comes once more: nothing goes back.
          const [old] = told
          if (isAgain && old) store.apply(old)
        }
        play(source, { thread: 'c', status: 'idle' })
        store.apply(source.since(store.position.at))
        expect(store.digest()).toBe(loaded(source).digest())
        // BL1: sums that were changed are those of adding up.
        for (const { thread } of store.rows()) expect(store.below(thread)).toEqual(loaded(source).below(thread))
        expect(store.below('r')).toMatchObject({ threads: store.size, failed: count(store, 'failed') })
        expect(store.position.at).toEqual(source.at)
      }),
      { numRuns: 300 },
    )
  })

  it('V2: a store takes nothing of what begins after what it knows, nor of another epoch', () => {
    const source = new Source()
    source.threads.set('r', row('r'))
    const store = loaded(source)
    source.threads.set('a', row('a', { parent: 'r' }))
    const known = source.at
    source.threads.set('b', row('b', { parent: 'r' }))
    const before = store.digest()
    expect(store.apply(source.since(known))).toBe('gap')
    expect(store.apply({ ...source.since(store.position.at), epoch: 'other' })).toBe('other')
    expect(store.digest()).toBe(before)
    expect(store.apply(source.since(store.position.at))).toBe('applied')
    expect(store.childrenOf('r')).toEqual(['a', 'b'])
  })

  it('V2: a store shows what is folded away, and keeps those above what a filter finds', () => {
    const source = new Source()
    source.threads.set('r', row('r'))
    source.threads.set('a', row('a', { parent: 'r' }))
    source.threads.set('b', row('b', { parent: 'a', waiting: 1, unknown: 2 }))
    source.threads.set('c', row('c', { parent: 'r' }))
    const store = loaded(source)
    const [only] = flatten(store, { isOpen: () => false })
    expect(only).toMatchObject({ thread: 'r', isOpen: false, hasChildren: true })
    expect(store.below('r')).toMatchObject({ threads: 4, waiting: 1, unknown: 2 })
    const found = flatten(store, { isOpen: () => false, filter: ({ thread }) => thread === 'b' })
    expect(found.map((line) => [line.thread, line.depth])).toEqual([
      ['r', 0],
      ['a', 1],
      ['b', 2],
    ])
    expect(flatten(new TreeStore('r'), { isOpen: () => true })).toEqual([])
  })

  it('V2: a store knows what the end waited for, through children', () => {
    const source = new Source()
    source.threads.set('r', row('r'))
    source.threads.set('a', row('a', { parent: 'r' }))
    source.spans.set('r/m0', span('r', 'm0', { queuedAt: 100, startedAt: 100, endedAt: 200, name: 'fast' }))
    const child = { kind: 'child', name: 'a', child: 'a', why: 'room for a child' } as const
    source.spans.set('r/c1.0', span('r', 'c1.0', { ...child, queuedAt: 200, startedAt: 350, endedAt: 600 }))
    source.spans.set('a/m0', span('a', 'm0', { queuedAt: 350, startedAt: 350, endedAt: 600, name: 'slow' }))
    const parts = criticalPath(loaded(source), 1_000)
    expect(pathShares(parts)).toEqual([
      { what: 'model slow', ms: 250, share: 0.5 },
      expect.objectContaining({ what: 'waiting for room for a child', ms: 150 }),
      expect.objectContaining({ what: 'model fast', ms: 100 }),
    ])
  })
})
