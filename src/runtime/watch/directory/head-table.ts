/**
 * The heads of all threads in memory, found by what lists ask for. Made of changes of heads alone, so that lists,
 * counts and the inbox cannot disagree. Owns the rows and their indices; does no I/O.
 *
 * - A list costs what it gives where an index is small, and else a walk along its order until the page is full.
 * - `created` is the order of first commits, with the cursors that the store's own lists have.
 */
import type { HeadChange, StoredHead } from '../../../backend/port.js'
import { SubtreeCounts } from './subtree-counts.js'
import type { TreeCounts } from './subtree-counts.js'
import { comesBefore, FirstRows, finderOf, toHeadPage, TakenRows } from './listed-rows.js'
import type { HeadPage, ListedRow } from './listed-rows.js'
import type { ThreadOrder } from './thread-info.js'
import type { HeadQuery } from './thread-query.js'
import { updateOrder } from './update-order.js'

interface Row extends ListedRow {
  head: StoredHead
  /** What it is since. */
  position: number
  /** Its tree was removed. */
  isGone: boolean
  /** In the order of updates. */
  older: Row | undefined
  newer: Row | undefined
}

/** Candidates up to this many are sorted; of more, the order is walked. */
const fewRows = 2_000

type IndexName = 'status' | 'agent' | 'parent' | 'root' | 'tag'

export class HeadTable {
  readonly #rows = new Map<string, Row>()
  /** In the order of first commits, with some that were removed. */
  #byBirth: Row[] = []
  #isSorted = true
  #removed = 0
  #newest: Row | undefined
  /** Whether rows are in the order of updates already: those that are told first come in any. */
  #isLinked = false
  /** Rows that came, changed or went while the others were being put into that order. */
  #late: Set<Row> | undefined
  readonly #pending = new Set<Row>()
  readonly #roots = new Set<Row>()
  readonly #indices: Readonly<Record<IndexName, Map<string, Set<Row>>>> = {
    status: new Map(),
    agent: new Map(),
    parent: new Map(),
    root: new Map(),
    tag: new Map(),
  }
  readonly #counts = new SubtreeCounts()
  readonly #texts = new Map<string, string>()
  /** Lists that are being made, each with what has changed since it began, as it was. */
  readonly #listings = new Set<Map<Row, StoredHead>>()

  get size(): number {
    return this.#rows.size
  }

  get(thread: string): StoredHead | undefined {
    return this.#rows.get(thread)?.head
  }

  countsOf(thread: string): TreeCounts | undefined {
    const row = this.#rows.get(thread)
    return row && this.#counts.of(row.head)
  }

  pending(root?: string): readonly StoredHead[] {
    const heads = [...this.#pending].map(({ head }) => head)
    return root === undefined ? heads : heads.filter((head) => head.root === root)
  }

  /** In the order of first commits: what has changed after the position, and all of some trees. */
  after(position: number, trees: { has(root: string): boolean }): readonly StoredHead[] {
    return [...this.#fromBirth('created')].flatMap(({ head, position: since, isGone }) =>
      !isGone && (since > position || trees.has(head.root)) ? [head] : [],
    )
  }

  /** Gives the heads that the change has replaced or removed. */
  apply(change: HeadChange): readonly StoredHead[] {
    if ('removed' in change) return this.#remove(change.removed)
    const head = this.#shared(change.head)
    const row = this.#rows.get(head.thread)
    if (!row) {
      const { born, position } = change
      this.#add({ head, born, position, text: undefined, isGone: false, older: undefined, newer: undefined })
      return []
    }
    const before = row.head
    this.#remember(row)
    this.#unlink(row)
    this.#reindex(row, head)
    row.head = head
    row.position = change.position
    row.text = undefined
    this.#link(row)
    this.#counts.replace(before, head)
    return [before]
  }

  #add(row: Row): void {
    this.#rows.set(row.head.thread, row)
    const last = this.#byBirth.at(-1)
    if (last && last.born > row.born) this.#isSorted = false
    this.#byBirth.push(row)
    this.#reindex(row, row.head, true)
    this.#link(row)
    this.#counts.replace(undefined, row.head)
  }

  #remove(root: string): readonly StoredHead[] {
    const rows = [...(this.#indices.root.get(root) ?? [])]
    for (const row of rows) {
      const { head } = row
      this.#remember(row)
      row.isGone = true
      this.#rows.delete(head.thread)
      for (const [name, keys] of keysOf(head)) for (const key of keys) drop(this.#indices[name], key, row)
      this.#pending.delete(row)
      this.#roots.delete(row)
      this.#unlink(row)
      this.#counts.replace(head, undefined)
    }
    for (const { head } of rows) this.#counts.forget(head.thread)
    this.#removed += rows.length
    return rows.map(({ head }) => head)
  }

  /** Lists that are being made still have it as it is. */
  #remember(row: Row): void {
    for (const changed of this.#listings) if (!changed.has(row)) changed.set(row, row.head)
  }

  /** Only indices whose key has changed are touched: most commits change the status alone. */
  #reindex(row: Row, head: StoredHead, isNew = false): void {
    const before = isNew ? undefined : row.head
    for (const name of ['status', 'agent', 'parent', 'root'] as const)
      this.#rekey(row, name, [before?.[name], head[name]])
    if (before?.tags !== head.tags) {
      for (const tag of before?.tags ?? []) drop(this.#indices.tag, tag, row)
      for (const tag of head.tags) put(this.#indices.tag, tag, row)
    }
    if (head.pending) this.#pending.add(row)
    else this.#pending.delete(row)
    if (head.parent === undefined) this.#roots.add(row)
  }

  #rekey(row: Row, name: IndexName, [before, now]: readonly [string | undefined, string | undefined]): void {
    if (before === now) return
    if (before !== undefined) drop(this.#indices[name], before, row)
    if (now !== undefined) put(this.#indices[name], now, row)
  }

  /** Clocks of hosts differ little, so the place of a row that was just updated is near the end. */
  #link(row: Row): void {
    if (!this.#isLinked) return void this.#late?.add(row)
    let newer: Row | undefined
    let older = this.#newest
    while (older && comesBefore(row, older, 'updated') > 0) {
      newer = older
      older = older.older
    }
    row.older = older
    row.newer = newer
    if (older) older.newer = row
    if (newer) newer.older = row
    else this.#newest = row
  }

  #unlink(row: Row): void {
    if (!this.#isLinked) return void this.#late?.add(row)
    if (row.newer) row.newer.older = row.older
    else if (this.#newest === row) this.#newest = row.older
    if (row.older) row.older.newer = row.newer
  }

  /** All that there was has been told. */
  complete(): void {
    const completing = this.completing(Infinity)
    while (!completing.next().done);
  }

  /** In slices of so many rows: others may go on where it yields, and the rows may change. */
  *completing(sliceRows: number): Generator<undefined, void> {
    const late = (this.#late = new Set())
    const rows = this.#byBirth.slice()
    let linked = 0
    for (const index of yield* updateOrder(rows, sliceRows)) {
      if (++linked % sliceRows === 0) yield
      const row = rows[index]
      if (row && !row.isGone && !late.has(row)) this.#append(row)
    }
    this.#isLinked = true
    this.#late = undefined
    for (const row of late) {
      this.#unlink(row)
      if (!row.isGone) this.#link(row)
    }
  }

  #append(row: Row): void {
    row.older = this.#newest
    if (this.#newest) this.#newest.newer = row
    this.#newest = row
  }

  /** At once, however many rows it looks at. */
  list(query: HeadQuery): HeadPage {
    const listing = this.listing(query, Infinity)
    for (;;) {
      const step = listing.next()
      if (step.done) return step.value
    }
  }

  /**
   * A list in slices of so many rows: others may go on where it yields. It gives what there was when it began: what
   * changes meanwhile is remembered for it as it was.
   */
  *listing(query: HeadQuery, sliceRows: number): Generator<undefined, HeadPage> {
    const { sort = 'created', limit = 1_000 } = query
    const isFound = finderOf(query)
    const isRanked = sort === 'cost' && limit < fewRows
    const found = isRanked ? new FirstRows(limit + 1, sort) : new TakenRows(limit + 1)
    const changed = new Map<Row, StoredHead>()
    this.#listings.add(changed)
    try {
      let seen = 0
      for (const row of this.#walk(this.#candidates(query), isRanked ? 'created' : sort, sliceRows)) {
        if (seen > 0 && seen % sliceRows === 0) yield
        seen++
        const before = changed.get(row)
        if (row.isGone && !before) continue
        const then = before ? { ...row, head: before, text: undefined } : row
        if (isFound(then) && found.add(then)) break
      }
      return toHeadPage(found.rows, sort, limit)
    } finally {
      this.#listings.delete(changed)
    }
  }

  /** The smallest set that has all that is asked for; undefined: all rows. */
  #candidates({ status, agent, parent, root, tag, pending, rootsOnly }: HeadQuery): ReadonlySet<Row> | undefined {
    const asked = Object.entries({ status, agent, parent, root, tag }) as [IndexName, string | undefined][]
    const sets = asked.flatMap(([name, key]) => (key === undefined ? [] : [this.#indices[name].get(key) ?? none]))
    if (pending) sets.push(this.#pending)
    if (rootsOnly) sets.push(this.#roots)
    return sets.toSorted((a, b) => a.size - b.size)[0]
  }

  /** Rows in an order, those that come or move after the first slice left as they are; some may be gone. */
  #walk(candidates: ReadonlySet<Row> | undefined, sort: ThreadOrder, sliceRows: number): Iterable<Row> {
    if ((candidates && candidates.size <= fewRows) || sort === 'cost')
      return [...(candidates ?? this.#rows.values())].sort((a, b) => comesBefore(a, b, sort))
    return sort === 'updated' ? this.#fromNewest(sliceRows) : this.#fromBirth(sort)
  }

  /** Rows move in this order: past the first slice they are taken together. */
  *#fromNewest(sliceRows: number): Generator<Row> {
    let row = this.#newest
    for (let seen = 0; row && seen < sliceRows; seen++) {
      const { older } = row
      yield row
      row = older
    }
    const rest: Row[] = []
    for (; row; row = row.older) rest.push(row)
    yield* rest
  }

  *#fromBirth(sort: 'created' | 'newest'): Generator<Row> {
    if (!this.#isSorted || this.#removed * 2 > this.#byBirth.length) {
      this.#byBirth = [...this.#rows.values()].sort((a, b) => a.born - b.born)
      this.#isSorted = true
      this.#removed = 0
    }
    const rows = this.#byBirth
    const { length } = rows
    for (let n = 0; n < length; n++) {
      const row = rows[sort === 'created' ? n : length - 1 - n]
      if (row) yield row
    }
  }

  /**
   * Equal texts are one: a hundred thousand heads have few agents, statuses and tags, and the ids in a path are those
   * of other rows.
   */
  #shared(head: StoredHead): StoredHead {
    const before = this.#rows.get(head.thread)?.head
    const tags = before && sameTexts(before.tags, head.tags) ? before.tags : head.tags.map((tag) => this.#text(tag))
    const thread = before?.thread ?? head.thread
    const path = before && sameTexts(before.path, head.path) ? before.path : head.path.map((id) => this.#id(id, thread))
    const root = path[0] === head.root ? path[0] : head.root
    const shared = { ...head, thread, agent: this.#text(head.agent), status: this.#text(head.status), root, tags, path }
    const above = path.at(-2)
    return above !== undefined && above === head.parent ? { ...shared, parent: above } : shared
  }

  #id(id: string, own: string): string {
    return id === own ? own : (this.#rows.get(id)?.head.thread ?? id)
  }

  #text(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    this.#texts.set(text, text)
    return text
  }
}

const none: ReadonlySet<Row> = new Set()

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index])
}

function keysOf({ status, agent, parent, root, tags }: StoredHead): [IndexName, readonly string[]][] {
  return [
    ['status', [status]],
    ['agent', [agent]],
    ['root', [root]],
    ['tag', tags],
    ['parent', parent === undefined ? [] : [parent]],
  ]
}

function put(index: Map<string, Set<Row>>, key: string, row: Row): void {
  const rows = index.get(key)
  if (rows) rows.add(row)
  else index.set(key, new Set([row]))
}

function drop(index: Map<string, Set<Row>>, key: string, row: Row): void {
  const rows = index.get(key)
  if (rows?.delete(row) && rows.size === 0) index.delete(key)
}
