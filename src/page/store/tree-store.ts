/**
 * One tree as the page knows it: threads in the order in which they came, and the spans of each. It is a snapshot and
 * what has changed since; two pages that have seen the same numbers are the same.
 *
 * PS1 `apply` takes a change once, in any number of copies and orders: an item is replaced only by a later one.
 * PS2 A change that begins after what is known says so (`gap`), and nothing of it is taken.
 */
import type { WorkSpan } from '../../http/view/spans.js'
import type { ThreadRow } from '../../http/view/tree-rows.js'
import type { TreeChanges, TreeSnapshot } from '../../http/view/tree-view.js'
import type { TreePosition } from '../link/subscription.js'
import { BelowSums } from './below.js'
import type { Below } from './below.js'
import { columnRows } from './columns.js'
import { SharedWords } from './shared-words.js'

export type PageRow = ThreadRow & { readonly n: number }
export type PageSpan = WorkSpan & { readonly n: number }
export type Applied = 'applied' | 'gap' | 'other'

export class TreeStore {
  readonly root: string
  #epoch = ''
  #at: [number, number] = [0, 0]
  readonly #rows = new Map<string, PageRow>()
  readonly #children = new Map<string, string[]>()
  readonly #spans = new Map<string, PageSpan>()
  readonly #lanes = new Map<string, string[]>()
  readonly #below = new BelowSums()
  readonly #words = new SharedWords()
  #shape = 0
  #firstAt = Infinity
  #lastAt = 0

  constructor(root: string) {
    this.root = root
  }

  get position(): TreePosition {
    return { epoch: this.#epoch, at: this.#at }
  }

  get size(): number {
    return this.#rows.size
  }

  /** Goes up when a thread comes: rows of the tree stay where they are as long as it does not. */
  get shape(): number {
    return this.#shape
  }

  /** The earliest and the latest time of anything in it. */
  get bounds(): readonly [number, number] {
    return [this.#firstAt, this.#lastAt]
  }

  row(thread: string): PageRow | undefined {
    return this.#rows.get(thread)
  }

  rows(): IterableIterator<PageRow> {
    return this.#rows.values()
  }

  /** Of a thread and all below it. */
  below(thread: string): Below {
    return this.#below.of(thread)
  }

  childrenOf(thread: string): readonly string[] {
    return this.#children.get(thread) ?? []
  }

  spansOf(thread: string): PageSpan[] {
    return (this.#lanes.get(thread) ?? []).flatMap((id) => this.#spans.get(id) ?? [])
  }

  eachSpan(thread: string, take: (span: PageSpan) => void): void {
    for (const id of this.#lanes.get(thread) ?? []) {
      const span = this.#spans.get(id)
      if (span) take(span)
    }
  }

  load(snapshot: TreeSnapshot): void {
    this.#rows.clear()
    this.#children.clear()
    this.#spans.clear()
    this.#lanes.clear()
    this.#below.clear()
    this.#words.clear()
    this.#shape++
    this.#epoch = snapshot.epoch
    this.#at = [snapshot.threadsSeq, snapshot.spansSeq]
    // The form of rows is that of the server, which has written these columns.
    this.#words.add(snapshot.words)
    for (const row of columnRows(snapshot.threads, snapshot)) this.#setRow(Object(row))
    for (const span of columnRows(snapshot.spans, snapshot)) {
      span['id'] = `${String(span['thread'])}${String(span['id'])}`
      this.#setSpan(Object(span))
    }
  }

  /** `other`: it belongs to another epoch. */
  apply({ epoch, from, to, threads, spans }: TreeChanges): Applied {
    if (epoch !== this.#epoch) return 'other'
    if (from[0] > this.#at[0] || from[1] > this.#at[1]) return 'gap'
    for (const row of threads) if ((this.#rows.get(row.thread)?.n ?? 0) < row.n) this.#setRow(this.#words.share(row))
    for (const span of spans) if ((this.#spans.get(span.id)?.n ?? 0) < span.n) this.#setSpan(this.#words.share(span))
    this.#at = [Math.max(this.#at[0], to[0]), Math.max(this.#at[1], to[1])]
    return 'applied'
  }

  #setRow(row: PageRow): void {
    const { thread, parent, createdAt, updatedAt } = row
    const before = this.#rows.get(thread)
    if (!before) {
      this.#shape++
      if (parent !== undefined) push(this.#children, parent, thread)
    }
    this.#rows.set(thread, row)
    this.#below.set(row, before)
    this.#reach(createdAt, updatedAt)
  }

  #setSpan(span: PageSpan): void {
    if (!this.#spans.has(span.id)) push(this.#lanes, span.thread, span.id)
    this.#spans.set(span.id, span)
    this.#reach(span.queuedAt, span.endedAt ?? span.queuedAt)
  }

  #reach(first: number, last: number): void {
    if (first < this.#firstAt) this.#firstAt = first
    if (last > this.#lastAt) this.#lastAt = last
  }

  /** Equal for equal states, whatever way led there. */
  digest(): string {
    const lines: string[] = []
    for (const { n: _, ...row } of this.#rows.values()) lines.push(canonical(row))
    for (const { n: _, ...span } of this.#spans.values()) lines.push(canonical(span))
    return hashOf(lines.sort().join('\n'))
  }
}

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

function canonical(value: object): string {
  return JSON.stringify(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Two lanes of 32 bits: enough to see a difference, and the same everywhere. */
function hashOf(text: string): string {
  let one = 0x811c9dc5
  let other = 0x01000193
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    one = Math.imul(one ^ code, 0x01000193)
    other = Math.imul(other ^ code, 0x5bd1e995) + index
  }
  return `${(one >>> 0).toString(16)}${(other >>> 0).toString(16)}`
}
