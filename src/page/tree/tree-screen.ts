/** The screen of a tree: its threads as rows, the waterfall beside them, and the details of the one that is selected. */
import '../style/tree.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { compact, count, duration, money } from '../kit/format.js'
import { useKeys } from '../kit/keys.js'
import { address, changeQuery, goTo, hrefOf } from '../kit/router.js'
import { useRowScroll } from '../kit/rows.js'
import { Loading, Pill, Problem, StatusMark, second } from '../kit/ui.js'
import { isLive, serverNow } from '../link/link.js'
import { freeze, isFrozen, shown } from '../store/flush.js'
import { reloadTree, useTree } from '../store/stores.js'
import type { OpenTree } from '../store/stores.js'
import type { PageRow, TreeStore } from '../store/tree-store.js'
import { criticalPath, pathShares } from './critical-path.js'
import type { PathPart } from './critical-path.js'
import { flatten, isFailed, isOver, isWaiting } from './flatten.js'
import type { TreeLine } from './flatten.js'
import { RowDetails } from './row-details.js'
import { readWindow, timesOf, writeWindow, zoomed } from './time-window.js'
import { TreeGrid } from './tree-grid.js'
import { threadLabel } from './thread-label.js'

export function TreeScreen({ thread: root }: { thread: string }): VNode {
  const [held, setHeld] = useState<ReturnType<typeof useTree>>()
  useEffect(() => {
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
    return h('main', { id: 'main', class: 'screen' }, h(Problem, { problem: open.problem, retry: () => reloadTree(root) }))
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
    `${row.thread} ${row.agent} ${row.name ?? ''} ${row.reference ?? ''} ${row.title ?? ''}`.toLowerCase().includes(text)
  return (row) => (tests.length === 0 || tests.some((test) => test(row))) && (text === '' || matches(row))
}

/** The next row after the selected one that has something, also where that is folded away. */
function nextOf(store: TreeStore, selected: string, test: (row: PageRow) => boolean): string | undefined {
  const rows = [...store.rows()]
  const from = rows.findIndex(({ thread }) => thread === selected) + 1
  return [...rows.slice(from), ...rows.slice(0, from)].find(test)?.thread
}

function LoadedTree({ open }: { open: OpenTree }): VNode {
  void shown.value
  void second.value
  const { store } = open
  const { query } = address.value
  const { f = '', q = '', view } = query
  const selected = query['sel'] ?? store.root
  const { isOpen, toggle } = useOpenRows(store)
  const filter = filterOf(f, q)
  const lines = flatten(store, { isOpen, isFlat: view === 'flat', ...(filter && { filter }) })
  const index = lines.findIndex(({ row }) => row.thread === selected)
  const scroll = useRowScroll(lines.length)
  const now = serverNow()
  const [first, last] = endOf(store, now)
  const timeWindow = readWindow(query['win'])
  const times = timesOf(timeWindow, [first, last])
  const path = useMemo(() => criticalPath(store, now), [shown.value, store])
  const select = (id: string, place?: number): void => {
    changeQuery({ sel: id === store.root ? undefined : id })
    if (place !== undefined) scroll.reveal(place)
  }
  const step = (by: number): void => {
    const to = Math.min(lines.length - 1, Math.max(0, index + by))
    const line = lines[to]
    if (line) select(line.row.thread, to)
  }
  const zoom = (factor: number): void => changeQuery({ win: writeWindow(zoomed(times, factor, now)) })
  const seek = (test: (row: PageRow) => boolean) => () => {
    const found = nextOf(store, selected, test)
    if (found === undefined) return
    changeQuery({ sel: found, all: '1', x: undefined })
    const lookAll = flatten(store, { isOpen: () => true })
    scroll.reveal(lookAll.findIndex(({ row }) => row.thread === found))
  }
  const line = lines[index]
  useKeys({
    ...moves({ step, line, toggle, select, lines }),
    w: seek(isWaiting),
    f: seek(isFailed),
    u: seek((row) => (row.unknown ?? 0) > 0),
    o: () => changeQuery({ all: query['all'] === '1' ? '0' : '1', x: undefined }),
    z: () => zoom(0.5),
    x: () => zoom(2),
    '0': () => changeQuery({ win: undefined }),
    ' ': () => freeze(!isFrozen.peek()),
    Enter: () => goTo(hrefOf(['threads', selected])),
    c: () => void navigator.clipboard.writeText(selected),
    y: () => void navigator.clipboard.writeText(location.href),
  })
  const critical = useMemo(() => new Set(path.flatMap(({ span }) => span ?? [])), [path])
  const row = store.row(selected)
  return h(
    'main',
    { id: 'main', class: 'screen tree-screen' },
    h(TreeBar, { store, path, lines }),
    open.problem ? h(Problem, { problem: open.problem, retry: () => reloadTree(store.root) }) : null,
    h(
      'div',
      { class: 'tree-panes' },
      h(TreeGrid, { store, lines, scroll, times, now, isLive: isLive.value, selected, index, critical, select, toggle }),
      row ? h(RowDetails, { store, row, now, key: row.thread }) : null,
    ),
  )
}

/** Until now while something works; a tree that only waits keeps its picture, however long it waits. */
function endOf(store: TreeStore, now: number): readonly [number, number] {
  const [first, last] = store.bounds
  let isGoing = false
  let isOpen = false
  for (const row of store.rows()) {
    isGoing ||= row.rest !== true
    isOpen ||= !isOver(row)
  }
  if (isGoing) return [first, Math.max(now, last)]
  return [first, isOpen ? Math.min(Math.max(now, last), last + (last - first) * 0.2) : last]
}

interface Moves {
  readonly step: (by: number) => void
  readonly line: TreeLine | undefined
  readonly lines: readonly TreeLine[]
  readonly toggle: (id: string) => void
  readonly select: (id: string, place?: number) => void
}

function moves({ step, line, toggle, select, lines }: Moves): Readonly<Record<string, () => void>> {
  const close = (): void => {
    if (line?.isOpen) toggle(line.row.thread)
    else if (line?.row.parent !== undefined) {
      const { parent } = line.row
      select(parent, lines.findIndex(({ row }) => row.thread === parent))
    }
  }
  const enter = (): void => {
    if (line?.hasChildren && !line.isOpen) toggle(line.row.thread)
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

const windows: readonly (readonly [string, string | undefined])[] = [
  ['All', undefined],
  ['10 m', '10m'],
  ['90 s', '90s'],
]

interface TreeBarProps {
  readonly store: TreeStore
  readonly path: readonly PathPart[]
  readonly lines: readonly TreeLine[]
}

function TreeBar({ store, path, lines }: TreeBarProps): VNode {
  const { query } = address.value
  const root = store.row(store.root)
  const total = lines[0]?.below
  const toggleFilter = (name: string) => () => {
    const now = new Set((query['f'] ?? '').split(',').filter((each) => each !== ''))
    if (!now.delete(name)) now.add(name)
    changeQuery({ f: [...now].join(',') })
  }
  const chip = (name: string, label: string, value: number | undefined): VNode =>
    h(
      'button',
      {
        type: 'button',
        class: 'chip',
        'aria-pressed': (query['f'] ?? '').split(',').includes(name),
        onClick: toggleFilter(name),
      },
      `${label} `,
      h('span', { class: 'number' }, count(value)),
    )
  return h(
    'div',
    { class: 'bar' },
    h(
      'h1',
      null,
      h('a', { href: hrefOf(['trees']) }, 'Trees'),
      h('span', { class: 'slash', 'aria-hidden': 'true' }, '/'),
      root ? h(StatusMark, { status: root.status, quiet: true }) : null,
      h('span', { class: 'title', title: store.root }, root ? threadLabel(root) : store.root),
    ),
    h(
      'div',
      { class: 'chips', role: 'group', 'aria-label': 'Filters' },
      chip('working', 'At work', total?.working),
      chip('waiting', 'Waiting', total?.waiting),
      chip('failed', 'Failed', total?.failed),
      chip('unknown', 'Unknown', total?.unknown),
    ),
    h('input', {
      class: 'filter',
      type: 'search',
      'aria-label': 'Filter threads',
      placeholder: 'Filter  /',
      value: query['q'] ?? '',
      onInput: (event: Event) =>
        event.target instanceof HTMLInputElement && changeQuery({ q: event.target.value || undefined }),
    }),
    h(
      'div',
      { class: 'segments', role: 'group', 'aria-label': 'Time shown' },
      windows.map(([label, win]) =>
        h(
          'button',
          { type: 'button', key: label, 'aria-pressed': query['win'] === win, onClick: () => changeQuery({ win }) },
          label,
        ),
      ),
    ),
    h(PathWords, { path, total: total ? `${count(total.threads)} threads · ${compact(total.tokens)} tokens · ${money(total.costUsd)}` : '' }),
  )
}

/** "71 % model fast": where the time went, in one line. */
function PathWords({ path, total }: { path: readonly PathPart[]; total: string }): VNode {
  const shares = pathShares(path).filter(({ share }) => share >= 0.01)
  const length = path.reduce((sum, { from, to }) => sum + to - from, 0)
  return h(
    'p',
    { class: 'path-words' },
    h('span', { class: 'number' }, total),
    shares.length === 0
      ? null
      : h(
          'span',
          { title: 'The chain of work and waits that the end of the tree waited for' },
          h('span', { class: 'critical-key', 'aria-hidden': 'true' }),
          `Critical path ${duration(length)}: `,
          shares
            .slice(0, 3)
            .map(({ what, share }) => `${Math.round(share * 100)} % ${what}`)
            .join(' · '),
        ),
    isFrozen.value ? h(Pill, { tone: 'person', title: 'The view stands still; data goes on' }, 'Frozen (space)') : null,
  )
}
