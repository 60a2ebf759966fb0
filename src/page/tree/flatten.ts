/** A tree as rows: which threads are shown, and how deep. What they are is read from the store. Pure. */
import type { PageRow, TreeStore } from '../store/tree-store.js'

export interface TreeLine {
  readonly thread: string
  readonly depth: number
  readonly hasChildren: boolean
  readonly isOpen: boolean
  /** Its place among its siblings, from 1. */
  readonly place: number
  readonly siblings: number
}

export interface Folding {
  readonly isOpen: (row: PageRow, depth: number) => boolean
  /** Threads to be shown, with all above them; undefined: all. */
  readonly filter?: (row: PageRow) => boolean
  readonly isFlat?: boolean
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

function flatLines(store: TreeStore, filter: Folding['filter']): readonly TreeLine[] {
  const rows = [...store.rows()].filter((row) => !filter || filter(row))
  return rows.map(({ thread }, index) => ({
    thread,
    depth: 0,
    hasChildren: false,
    isOpen: false,
    place: index + 1,
    siblings: rows.length,
  }))
}

export function flatten(store: TreeStore, { isOpen, filter, isFlat }: Folding): readonly TreeLine[] {
  const top = store.row(store.root)
  if (!top) return []
  if (isFlat) return flatLines(store, filter)
  const kept = filter && keptBy(store, filter)
  const lines: TreeLine[] = []
  const walk = (row: PageRow, depth: number, [place, siblings]: readonly [number, number]): void => {
    const { thread } = row
    const all = store.childrenOf(thread)
    const ids = kept ? all.filter((id) => kept.has(id)) : all
    const open = ids.length > 0 && (kept !== undefined || isOpen(row, depth))
    lines.push({ thread, depth, hasChildren: ids.length > 0, isOpen: open, place, siblings })
    if (!open) return
    ids.forEach((id, index) => {
      const child = store.row(id)
      if (child) walk(child, depth + 1, [index + 1, ids.length])
    })
  }
  walk(top, 0, [1, 1])
  return lines
}
