/** The rows of a tree with the waterfall beside them. Owns the canvas and the width of the first column. */
import { h, signed } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { signal } from '@preact/signals'
import { compact, durationWords } from '../kit/format.js'
import { RowSpace, rowHeight } from '../kit/rows.js'
import type { RowScroll } from '../kit/rows.js'
import { colours } from '../kit/theme.js'
import { Pill, StatusMark } from '../kit/ui.js'
import { isOver } from '../store/below.js'
import type { Below } from '../store/below.js'
import type { PageRow, TreeStore } from '../store/tree-store.js'
import type { TreeLine } from './flatten.js'
import { threadLabel } from './thread-label.js'
import { Waterfall } from './waterfall.js'

export interface TreeGridProps {
  readonly store: TreeStore
  readonly lines: readonly TreeLine[]
  readonly scroll: RowScroll
  readonly times: readonly [number, number]
  readonly now: number
  readonly isLive: boolean
  readonly selected: string
  /** Of the selected row, or -1. */
  readonly index: number
  readonly critical: ReadonlySet<string>
  readonly select: (id: string, place?: number) => void
  readonly toggle: (id: string) => void
}

const widthName = 'skein-name-width'
const chosenWidth = Number(localStorage.getItem(widthName)) || 0
const nameWidth = signal(Math.min(720, Math.max(160, chosenWidth || 340)))
const isChosen = signal(chosenWidth > 0)

interface ColumnWidths {
  readonly name: number
  readonly state: number
  readonly time: number
  readonly tokens: number
}

/** Narrow boxes leave room for the waterfall first. */
function columnsOf(width: number): ColumnWidths {
  const name = Math.min(nameWidth.value, Math.max(180, width * (isChosen.value ? 0.6 : 0.34)))
  return { name, state: width < 620 ? 30 : 156, time: width < 560 ? 0 : 66, tokens: width < 760 ? 0 : 62 }
}

const deepest = 8

export function TreeGrid(props: TreeGridProps): VNode {
  const { lines, scroll, selected, index } = props
  const { sight } = scroll
  const columns = columnsOf(sight.width)
  const left = columns.name + columns.state + columns.time + columns.tokens
  const template = `${columns.name}px ${columns.state}px ${columns.time}px ${columns.tokens}px 1fr`
  const isInSight = index >= sight.from && index < sight.to
  return h(
    'div',
    { class: 'tree-grid', style: { '--columns': template, '--rows-width': `${sight.width}px` } },
    h(Head, { columns }),
    h(
      'div',
      {
        class: 'tree-box',
        ref: scroll.box,
        role: 'treegrid',
        tabIndex: 0,
        'aria-label': 'Threads of the tree',
        'aria-rowcount': lines.length,
        'aria-activedescendant': isInSight ? `row-${selected}` : undefined,
        onClick: (event: Event) => clicked(event, props),
        onDblClick: (event: Event) => doubleClicked(event, props),
      },
      h(RowSpace, { count: lines.length }, rowsOf(props)),
    ),
    h(Drawing, { ...props, left }),
  )
}

function Head({ columns }: { columns: ColumnWidths }): VNode {
  const drag = (event: PointerEvent): void => {
    const { target, clientX } = event
    if (!(target instanceof HTMLElement)) return
    const start = nameWidth.peek()
    target.setPointerCapture(event.pointerId)
    const move = ({ clientX: x }: PointerEvent): void => {
      nameWidth.value = Math.min(720, Math.max(160, start + x - clientX))
    }
    target.addEventListener('pointermove', move)
    target.addEventListener(
      'pointerup',
      () => {
        target.removeEventListener('pointermove', move)
        isChosen.value = true
        localStorage.setItem(widthName, String(nameWidth.peek()))
      },
      { once: true },
    )
  }
  return h(
    'div',
    { class: 'tree-head', 'aria-hidden': 'true' },
    h('span', null, 'Thread', h('i', { class: 'drag', onPointerDown: drag })),
    h('span', null, columns.state < 60 ? '' : 'State'),
    h('span', { class: 'right' }, columns.time > 0 ? 'Time' : ''),
    h('span', { class: 'right' }, columns.tokens > 0 ? 'Tokens' : ''),
  )
}

/** What a row shows, all of it: a row whose words are the same is not made again. */
interface RowWords {
  readonly line: TreeLine
  readonly row: PageRow
  readonly below: Below
  readonly place: number
  readonly isSelected: boolean
  readonly isQuiet: boolean
  readonly time: string
  readonly tokens: string
}

function signOf({ line, row, below, place, isSelected, isQuiet, time, tokens }: RowWords): string {
  const own = `${row.status}|${row.says ?? row.agent}|${row.queued}|${time}|${tokens}|${threadLabel(row)}`
  const at = `${place}|${isSelected}|${isQuiet}|${line.depth}|${line.place}|${line.siblings}|${line.hasChildren}`
  const hidden = line.isOpen ? '' : `${below.threads}|${below.waiting}|${below.failed}|${below.unknown}`
  return `${at}|${hidden}|${own}`
}

/** Rows in sight. Most of what happens in a great tree happens elsewhere: those that show the same stay as they are. */
function rowsOf({ store, lines, scroll, selected, now }: TreeGridProps): readonly VNode[] {
  const { sight } = scroll
  return lines.slice(sight.from, sight.to).flatMap((line, at) => {
    const row = store.row(line.thread)
    if (!row) return []
    const below = store.below(row.thread)
    const time = durationWords((isOver(row) ? row.updatedAt : now) - row.createdAt)
    const tokens = compact(line.isOpen ? row.tokens : below.tokens || row.tokens)
    const isQuiet = sight.width < 620
    const place = sight.from + at
    const words = { line, row, below, place, isSelected: row.thread === selected, isQuiet, time, tokens }
    return [h(TreeRow, { words, sign: signOf(words), key: row.thread })]
  })
}

const TreeRow = signed<{ readonly words: RowWords; readonly sign: string }>(({ words }) => treeRow(words))

function treeRow({ line, row, below, place, isSelected, isQuiet, time, tokens }: RowWords): VNode {
  const { depth, hasChildren, isOpen } = line
  const label = threadLabel(row)
  return h(
    'div',
    {
      class: `tree-row${isSelected ? ' selected' : ''}`,
      role: 'row',
      id: `row-${row.thread}`,
      'aria-level': depth + 1,
      'aria-rowindex': place + 1,
      'aria-posinset': line.place,
      'aria-setsize': line.siblings,
      'aria-selected': isSelected,
      ...(hasChildren && { 'aria-expanded': isOpen }),
      style: { transform: `translateY(${place * rowHeight}px)` },
    },
    h(
      'span',
      { class: 'name', role: 'gridcell', style: { paddingLeft: `${8 + Math.min(depth, deepest) * 14}px` } },
      h('span', { class: 'twisty' }, hasChildren ? twisty(isOpen) : null),
      depth > deepest ? h('span', { class: 'deep', title: `Level ${depth + 1}` }, `${depth}`) : null,
      h('span', { class: 'label', title: `${label}\n${row.thread}` }, label),
      h('span', { class: 'agent' }, row.says ?? row.agent),
      folded(line, row, below),
    ),
    h('span', { role: 'gridcell', class: 'state' }, h(StatusMark, { status: row.status, quiet: isQuiet })),
    h('span', { role: 'gridcell', class: 'number right' }, time),
    h('span', { role: 'gridcell', class: 'number right' }, tokens),
  )
}

function threadAt({ target }: Event): string | undefined {
  return target instanceof Element ? target.closest('.tree-row')?.id.slice('row-'.length) : undefined
}

const isTwisty = ({ target }: Event): boolean => target instanceof Element && target.closest('.twisty svg') !== null

function clicked(event: Event, { select, toggle }: TreeGridProps): void {
  const thread = threadAt(event)
  if (thread === undefined) return
  if (isTwisty(event)) toggle(thread)
  else select(thread)
}

function doubleClicked(event: Event, { store, toggle }: TreeGridProps): void {
  const thread = threadAt(event)
  if (thread !== undefined && !isTwisty(event) && store.childrenOf(thread).length > 0) toggle(thread)
}

function twisty(isOpen: boolean): VNode {
  const d = isOpen ? 'M1.5 3l2.5 3L6.5 3' : 'M2.5 1.5L5.5 4L2.5 6.5'
  return h('svg', { viewBox: '0 0 8 8', width: 8, height: 8, 'aria-hidden': 'true' }, h('path', { d }))
}

/** What is folded away must be seen. */
function folded({ isOpen, hasChildren }: TreeLine, row: PageRow, below: Below): VNode | null {
  if (isOpen || !hasChildren) {
    if (!row.queued) return null
    return h(Pill, { tone: 'quiet', title: `${row.queued} children in line` }, `+${row.queued}`)
  }
  const { threads, waiting, failed, unknown } = below
  return h(
    'span',
    { class: 'below' },
    h('span', { class: 'muted number' }, `${threads - 1}`),
    waiting > 0 ? h(Pill, { tone: 'person', title: 'wait for people here or below' }, `◆ ${waiting}`) : null,
    failed > 0 ? h(Pill, { tone: 'bad', title: 'failed here or below' }, `✕ ${failed}`) : null,
    unknown > 0 ? h(Pill, { tone: 'unknown', title: 'unknown effects here or below' }, `? ${unknown}`) : null,
  )
}

function Drawing({ left, ...props }: TreeGridProps & { left: number }): VNode {
  const canvas = useRef<HTMLCanvasElement>(null)
  const waterfall = useRef<Waterfall | undefined>(undefined)
  const { store, lines, scroll, times, now, isLive, selected, critical } = props
  const { sight } = scroll
  const size = { width: Math.max(0, sight.width - left), height: sight.height + rowHeight }
  useEffect(() => waterfall.current?.forget(), [colours.value])
  useLayoutEffect(() => {
    if (!canvas.current) return
    waterfall.current ??= new Waterfall(canvas.current)
    waterfall.current.draw({ store, lines, sight, size, window: times, now, isLive, selected, critical })
  })
  const style = { left: `${left}px`, width: `${size.width}px`, height: `${size.height}px` }
  return h('canvas', { class: 'waterfall', ref: canvas, style, 'aria-hidden': 'true' })
}
