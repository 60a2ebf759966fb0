/** The screen of a tree: its threads as rows, the waterfall beside them, and the details of the selected one. */
import '../style/tree.css'
import { h, signed } from '../kit/element.js'
import type { VNode } from 'preact'
import { useLayoutEffect, useMemo, useState } from 'preact/hooks'
import { address, changeQuery } from '../kit/router.js'
import { useRowScroll } from '../kit/rows.js'
import { Loading, Problem, second } from '../kit/ui.js'
import { isLive, serverNow } from '../link/link.js'
import { isFailed, isWaiting } from '../store/below.js'
import { showings } from '../store/flush.js'
import { reloadTree, useTree } from '../store/stores.js'
import type { OpenTree } from '../store/stores.js'
import type { PageRow, TreeStore } from '../store/tree-store.js'
import { criticalPath } from './critical-path.js'
import { flatten } from './flatten.js'
import { RowDetails } from './row-details.js'
import { readWindow, timesOf } from './time-window.js'
import { TreeBar } from './tree-bar.js'
import { TreeGrid } from './tree-grid.js'
import { useTreeKeys } from './tree-keys.js'

export function TreeScreen({ thread: root }: { thread: string }): VNode {
  const [held, setHeld] = useState<ReturnType<typeof useTree>>()
  useLayoutEffect(() => {
    const used = useTree(root)
    setHeld(used)
    return () => {
      used.release()
      setHeld(undefined)
    }
  }, [root])
  const open = held?.tree.value
  if (!open) return h('main', { id: 'main', class: 'screen' })
  if (open.problem && !open.isLoaded)
    return h(
      'main',
      { id: 'main', class: 'screen' },
      h('div', { class: 'bar' }, h('h1', null, root)),
      h(Problem, { problem: open.problem, retry: () => reloadTree(root) }),
    )
  if (!open.isLoaded) return h('main', { id: 'main', class: 'screen' }, h(Loading, { what: 'the tree' }))
  return h(LoadedTree, { open, key: root })
}

const fewThreads = 400

function useOpenRows(store: TreeStore): { isOpen: (row: PageRow, depth: number) => boolean; toggle(id: string): void } {
  const { x = '', all } = address.value.query
  const toggled = useMemo(() => new Set(x.split(',').filter((id) => id !== '')), [x])
  const isWide = all === '1' || (all === undefined && store.size <= fewThreads)
  const isOpenAtFirst = (depth: number): boolean => isWide || depth < 1
  return {
    isOpen: (row, depth) => isOpenAtFirst(depth) !== toggled.has(row.thread),
    toggle(id) {
      const next = new Set(toggled)
      if (!next.delete(id)) next.add(id)
      changeQuery({ x: [...next].join(',') })
    },
  }
}

const filters: Readonly<Record<string, (row: PageRow) => boolean>> = {
  waiting: isWaiting,
  failed: isFailed,
  unknown: (row) => (row.unknown ?? 0) > 0,
  working: (row) => row.rest !== true,
}

function filterOf(f: string, q: string): ((row: PageRow) => boolean) | undefined {
  const tests = f.split(',').flatMap((name) => filters[name] ?? [])
  const text = q.toLowerCase()
  if (tests.length === 0 && text === '') return undefined
  const matches = (row: PageRow): boolean =>
    `${row.thread} ${row.agent} ${row.name ?? ''} ${row.reference ?? ''} ${row.title ?? ''}`
      .toLowerCase()
      .includes(text)
  return (row) => (tests.length === 0 || tests.some((test) => test(row))) && (text === '' || matches(row))
}

const Bar = signed(TreeBar)
const Details = signed(RowDetails)

function LoadedTree({ open }: { open: OpenTree }): VNode {
  void second.value
  const { store } = open
  const { query } = address.value
  const { f = '', q = '', view, x, all } = query
  const selected = query['sel'] ?? store.root
  const { isOpen, toggle } = useOpenRows(store)
  const filter = useMemo(() => filterOf(f, q), [f, q])
  // Without a filter, what happens to a thread moves no row.
  const showing = showings.value
  const lines = useMemo(
    () => flatten(store, { isOpen, isFlat: view === 'flat', ...(filter && { filter }) }),
    [store, store.shape, filter ? showing : 0, filter, view, x, all],
  )
  // A line of words: it need not change more often than one can read it.
  const path = useMemo(() => criticalPath(store, serverNow()), [store, store.size > 0, second.value])
  const critical = useMemo(() => new Set(path.flatMap(({ span }) => span ?? [])), [path])
  const index = useMemo(() => lines.findIndex(({ thread }) => thread === selected), [lines, selected])
  const scroll = useRowScroll(lines.length)
  const now = serverNow()
  const times = timesOf(readWindow(query['win']), endOf(store, now))
  const select = (id: string, place?: number): void => {
    changeQuery({ sel: id === store.root ? undefined : id })
    if (place !== undefined) scroll.reveal(place)
  }
  useTreeKeys({ store, lines, index, selected, times, now, scroll, select, toggle })
  const row = store.row(selected)
  // What is scrolled is the grid alone.
  const sign = `${showing} ${second.value} ${JSON.stringify(query)} ${isLive.value}`
  const details = row ? h(Details, { store, row, now, sign }) : null
  const shown = { store, lines, scroll, times, now, isLive: isLive.value, selected, index, critical, select, toggle }
  return h(
    'main',
    { id: 'main', class: 'screen tree-screen' },
    h(Bar, { store, path, sign }),
    open.problem ? h(Problem, { problem: open.problem, retry: () => reloadTree(store.root) }) : null,
    h('div', { class: 'tree-panes' }, h(TreeGrid, shown), details),
  )
}

/** Until now while something works; a tree that only waits keeps its picture, however long it waits. */
function endOf(store: TreeStore, now: number): readonly [number, number] {
  const [first, last] = store.bounds
  const { working, open } = store.below(store.root)
  if (working > 0) return [first, Math.max(now, last)]
  return [first, open > 0 ? Math.min(Math.max(now, last), last + (last - first) * 0.2) : last]
}
