/** A tree as rows: which threads are shown, how deep, and what is below those that are folded. Pure. */
import type { PageRow, TreeStore } from '../store/tree-store.js'

export interface Below {
  threads: number
  waiting: number
  failed: number
  unknown: number
  working: number
  tokens: number
  costUsd: number
}

export interface TreeLine {
  readonly row: PageRow
  readonly depth: number
  readonly hasChildren: boolean
  readonly isOpen: boolean
  /** Its place among its siblings, from 1. */
  readonly place: number
  readonly siblings: number
  /** Of it and all below it. */
  readonly below: Below
}

export interface Folding {
  readonly isOpen: (row: PageRow, depth: number) => boolean
  /** Threads to be shown, with all above them; undefined: all. */
  readonly filter?: (row: PageRow) => boolean
  readonly isFlat?: boolean
}

const isWorking = (row: PageRow): boolean => row.rest !== true
/** Nothing of it is open: no turn, no question. */
export const isOver = (row: PageRow): boolean => /^(idle|done|failed|terminated|created|damaged)$/.test(row.status)
export const isWaiting = (row: PageRow): boolean => (row.waiting ?? 0) > 0
export const isFailed = (row: PageRow): boolean => row.status === 'failed' || row.error !== undefined

/** Sums of all subtrees, children before parents: threads come after who called them. */
function sumUp(store: TreeStore): Map<string, Below> {
  const sums = new Map<string, Below>()
  const rows = [...store.rows()]
  for (const row of rows) {
    const { unknown = 0, tokens = 0, costUsd = 0 } = row
    sums.set(row.thread, {
      threads: 1,
      waiting: isWaiting(row) ? 1 : 0,
      failed: isFailed(row) ? 1 : 0,
      working: isWorking(row) ? 1 : 0,
      unknown,
      tokens,
      costUsd,
    })
  }
  for (const { thread, parent } of rows.reverse()) {
    const own = sums.get(thread)
    const above = parent === undefined ? undefined : sums.get(parent)
    if (own && above) add(above, own)
  }
  return sums
}

function add(to: Below, from: Below): void {
  to.threads += from.threads
  to.waiting += from.waiting
  to.failed += from.failed
  to.unknown += from.unknown
  to.working += from.working
  to.tokens += from.tokens
  to.costUsd += from.costUsd
}

/** Those that the filter finds, and all above them. */
function keptBy(store: TreeStore, filter: (row: PageRow) => boolean): ReadonlySet<string> {
  const kept = new Set<string>()
  for (const row of store.rows()) {
    if (!filter(row)) continue
    for (let each: PageRow | undefined = row; each && !kept.has(each.thread); each = store.row(each.parent ?? ''))
      kept.add(each.thread)
  }
  return kept
}

export function flatten(store: TreeStore, { isOpen, filter, isFlat }: Folding): readonly TreeLine[] {
  const sums = sumUp(store)
  const top = store.row(store.root)
  if (!top) return []
  const kept = filter && keptBy(store, filter)
  const lines: TreeLine[] = []
  const nothing: Below = { threads: 0, waiting: 0, failed: 0, unknown: 0, working: 0, tokens: 0, costUsd: 0 }
  if (isFlat) {
    const rows = [...store.rows()].filter((row) => !filter || filter(row))
    return rows.map((row, index) => ({
      row,
      depth: 0,
      hasChildren: false,
      isOpen: false,
      place: index + 1,
      siblings: rows.length,
      below: sums.get(row.thread) ?? nothing,
    }))
  }
  const walk = (row: PageRow, depth: number, [place, siblings]: readonly [number, number]): void => {
    const all = store.childrenOf(row.thread)
    const ids = kept ? all.filter((id) => kept.has(id)) : all
    const open = ids.length > 0 && (kept !== undefined || isOpen(row, depth))
    lines.push({
      row,
      depth,
      hasChildren: ids.length > 0,
      isOpen: open,
      place,
      siblings,
      below: sums.get(row.thread) ?? nothing,
    })
    if (!open) return
    ids.forEach((id, index) => {
      const child = store.row(id)
      if (child) walk(child, depth + 1, [index + 1, ids.length])
    })
  }
  walk(top, 0, [1, 1])
  return lines
}
