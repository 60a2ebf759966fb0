/** Keys of the screen of a tree: rows, folds, what comes next that needs someone, and the time that is shown. */
import { useKeys } from '../kit/keys.js'
import { address, changeQuery, goTo, hrefOf } from '../kit/router.js'
import type { RowScroll } from '../kit/rows.js'
import { freezeView, isFrozen } from '../store/flush.js'
import type { PageRow, TreeStore } from '../store/tree-store.js'
import { isFailed, isWaiting } from '../store/below.js'
import { flatten } from './flatten.js'
import type { TreeLine } from './flatten.js'
import { writeWindow, zoomed } from './time-window.js'

export interface TreeKeys {
  readonly store: TreeStore
  readonly lines: readonly TreeLine[]
  /** Of the selected row, or -1. */
  readonly index: number
  readonly selected: string
  readonly times: readonly [number, number]
  readonly now: number
  readonly scroll: RowScroll
  readonly select: (id: string, place?: number) => void
  readonly toggle: (id: string) => void
}

/** The next row after the selected one that has something, also where that is folded away. */
function nextOf(store: TreeStore, selected: string, test: (row: PageRow) => boolean): string | undefined {
  const rows = [...store.rows()]
  const from = rows.findIndex(({ thread }) => thread === selected) + 1
  return [...rows.slice(from), ...rows.slice(0, from)].find(test)?.thread
}

export function useTreeKeys(keys: TreeKeys): void {
  const { store, lines, index, selected, times, now, scroll, select, toggle } = keys
  const step = (by: number): void => {
    const to = Math.min(lines.length - 1, Math.max(0, index + by))
    const line = lines[to]
    if (line) select(line.thread, to)
  }
  const zoom = (factor: number): void => changeQuery({ win: writeWindow(zoomed(times, factor, now)) })
  const seek = (test: (row: PageRow) => boolean) => () => {
    const found = nextOf(store, selected, test)
    if (found === undefined) return
    changeQuery({ sel: found, all: '1', x: undefined })
    const everything = flatten(store, { isOpen: () => true })
    scroll.reveal(everything.findIndex(({ thread }) => thread === found))
  }
  useKeys({
    ...moves({ step, store, line: lines[index], toggle, select, lines }),
    w: seek(isWaiting),
    f: seek(isFailed),
    u: seek((row) => (row.unknown ?? 0) > 0),
    o: () => changeQuery({ all: address.peek().query['all'] === '1' ? '0' : '1', x: undefined }),
    z: () => zoom(0.5),
    x: () => zoom(2),
    '0': () => changeQuery({ win: undefined }),
    ' ': () => freezeView(!isFrozen.peek()),
    Enter: () => goTo(hrefOf(['threads', selected])),
    c: () => void navigator.clipboard.writeText(selected),
    y: () => void navigator.clipboard.writeText(location.href),
  })
}

interface Moves {
  readonly store: TreeStore
  readonly step: (by: number) => void
  readonly line: TreeLine | undefined
  readonly lines: readonly TreeLine[]
  readonly toggle: (id: string) => void
  readonly select: (id: string, place?: number) => void
}

function moves({ step, store, line, toggle, select, lines }: Moves): Readonly<Record<string, () => void>> {
  const close = (): void => {
    if (line?.isOpen) return toggle(line.thread)
    const parent = line && store.row(line.thread)?.parent
    if (parent === undefined) return
    select(
      parent,
      lines.findIndex(({ thread }) => thread === parent),
    )
  }
  const enter = (): void => {
    if (line?.hasChildren && !line.isOpen) toggle(line.thread)
    else step(1)
  }
  return {
    ArrowDown: () => step(1),
    j: () => step(1),
    ArrowUp: () => step(-1),
    k: () => step(-1),
    PageDown: () => step(20),
    PageUp: () => step(-20),
    Home: () => step(-lines.length),
    End: () => step(lines.length),
    ArrowLeft: close,
    ArrowRight: enter,
  }
}
