/**
 * What is in a thread and all below it, in numbers. Owns the sums of a tree: a row that changes changes those of the
 * threads above it and no others, so that a busy tree costs as much as its changes and not as its size.
 *
 * BL1 The sums are those of adding up all rows, whatever came in what order.
 */
import type { ThreadRow } from '../../http/view/tree-rows.js'

export interface Below {
  threads: number
  waiting: number
  failed: number
  unknown: number
  working: number
  /** Threads of which something goes on: a turn, a question. */
  open: number
  tokens: number
  costUsd: number
}

const noneBelow: Below = {
  threads: 0,
  waiting: 0,
  failed: 0,
  unknown: 0,
  working: 0,
  open: 0,
  tokens: 0,
  costUsd: 0,
}

/** Nothing of it is open: no turn, no question. */
export const isOver = (row: ThreadRow): boolean => overs.has(row.status)
const overs: ReadonlySet<string> = new Set(['idle', 'done', 'failed', 'terminated', 'created', 'damaged'])
export const isWaiting = (row: ThreadRow): boolean => (row.waiting ?? 0) > 0
export const isFailed = (row: ThreadRow): boolean => row.status === 'failed' || row.error !== undefined

function addRow(to: Below, row: ThreadRow, sign: 1 | -1): void {
  to.threads += sign
  if (isWaiting(row)) to.waiting += sign
  if (isFailed(row)) to.failed += sign
  if (row.rest !== true) to.working += sign
  if (!isOver(row)) to.open += sign
  to.unknown += sign * (row.unknown ?? 0)
  to.tokens += sign * (row.tokens ?? 0)
  to.costUsd += sign * (row.costUsd ?? 0)
}

function add(to: Below, from: Below): void {
  to.threads += from.threads
  to.waiting += from.waiting
  to.failed += from.failed
  to.unknown += from.unknown
  to.working += from.working
  to.open += from.open
  to.tokens += from.tokens
  to.costUsd += from.costUsd
}

export class BelowSums {
  readonly #sums = new Map<string, Below>()
  readonly #parents = new Map<string, string | undefined>()

  clear(): void {
    this.#sums.clear()
    this.#parents.clear()
  }

  of(thread: string): Below {
    return this.#sums.get(thread) ?? noneBelow
  }

  /** `before`: what was there instead. A parent may come after its children, with what they came to. */
  set(row: ThreadRow, before: ThreadRow | undefined): void {
    const own = this.#at(row.thread)
    addRow(own, row, 1)
    if (before) {
      addRow(own, before, -1)
      this.#above(row.parent, (sum) => {
        addRow(sum, row, 1)
        addRow(sum, before, -1)
      })
      return
    }
    this.#parents.set(row.thread, row.parent)
    this.#above(row.parent, (sum) => add(sum, own))
  }

  #at(thread: string): Below {
    const known = this.#sums.get(thread)
    if (known) return known
    const made = { ...noneBelow }
    this.#sums.set(thread, made)
    return made
  }

  /** Up to the first that is not known yet: what it has is added further up when it comes. */
  #above(parent: string | undefined, change: (sum: Below) => void): void {
    for (let each = parent; each !== undefined; each = this.#parents.get(each)) change(this.#at(each))
  }
}
