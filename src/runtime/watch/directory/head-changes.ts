/**
 * What has changed since a position, for who follows all threads and goes on where it was. Owns the trees that were
 * removed lately: heads alone do not tell of them.
 *
 * DY2 Who has taken all pages up to one with a `position` has every thread as it was there; from that position, later
 *     pages give all that has changed since, maybe more than once, or, where that is not known any more, everything.
 */
import type { StoredHead } from '../../../backend/port.js'
import type { HeadTable } from './head-table.js'
import { toThreadInfo } from './thread-info.js'
import type { ThreadInfo } from './thread-info.js'

export interface RemovedTree {
  readonly root: string
  /** Those that its root had. */
  readonly tags: readonly string[]
}

/** A page of changes. What was removed comes before `threads`: an id may be used again. */
export interface DirectoryPage {
  /** On the first page of everything: what the reader has from before is void. */
  readonly all?: true
  readonly removed: readonly RemovedTree[]
  readonly threads: readonly ThreadInfo[]
  /** The reader has everything up to here; absent where more pages belong to this one. */
  readonly position?: number
}

const mostRemoved = 1_000
const pageSize = 200

export class RecentRemovals {
  readonly #trees: { readonly tree: RemovedTree; upTo: number | undefined }[] = []
  /** What was removed before is not known. */
  #floor = 0

  begin(position: number): void {
    this.#floor = position
  }

  add(tree: RemovedTree, position: number): void {
    // A store tells of a removal at some position before that at which others may have seen it.
    this.#trees.push({ tree, upTo: undefined })
    if (this.#trees.length <= mostRemoved) return
    const dropped = this.#trees.shift()
    this.#floor = Math.max(this.#floor, dropped?.upTo ?? position)
  }

  /** `current`: the position that all that was told is true for. Undefined: not known. */
  since(from: number, current: number): readonly RemovedTree[] | undefined {
    for (const each of this.#trees) each.upTo ??= current
    if (from < this.#floor || from > current) return undefined
    return this.#trees.flatMap(({ tree, upTo = current }) => (upTo >= from ? [tree] : []))
  }
}

/** What waits for one reader: each thread once, as it is then. */
export class WaitingChanges {
  readonly #heads = new Map<string, StoredHead>()
  readonly #removed = new Map<string, RemovedTree>()
  #isAll = false

  begin(table: HeadTable, from: number, removed: readonly RemovedTree[] | undefined): void {
    this.#isAll = removed === undefined
    for (const tree of removed ?? []) this.#removed.set(tree.root, tree)
    for (const head of table.after(removed ? from : -1, this.#removed)) this.#heads.set(head.thread, head)
  }

  put(head: StoredHead): void {
    this.#heads.set(head.thread, head)
  }

  remove(tree: RemovedTree, heads: readonly StoredHead[]): void {
    for (const { thread } of heads) this.#heads.delete(thread)
    this.#removed.set(tree.root, tree)
  }

  /** Takes all that waits. Heads are as the store keeps them until their page is asked for. */
  *take(position: number): Generator<DirectoryPage, void, undefined> {
    const heads = [...this.#heads.values()]
    const removed = [...this.#removed.values()]
    const isAll = this.#isAll
    this.#heads.clear()
    this.#removed.clear()
    this.#isAll = false
    for (let first = 0; first === 0 || first < heads.length; first += pageSize)
      yield {
        ...(isAll && first === 0 && { all: true as const }),
        removed: first === 0 ? removed : [],
        threads: heads.slice(first, first + pageSize).map(toThreadInfo),
        ...(first + pageSize >= heads.length && { position }),
      }
  }
}
