/** The rows of a tree with the waterfall beside them. Owns the canvas and the width of the first column. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { signal } from '@preact/signals'
import { compact, durationWords } from '../kit/format.js'
import { RowSpace, rowHeight } from '../kit/rows.js'
import type { RowScroll } from '../kit/rows.js'
import { colours } from '../kit/theme.js'
import { Pill, StatusMark } from '../kit/ui.js'
import type { TreeStore } from '../store/tree-store.js'
import { isOver } from './flatten.js'
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
const nameWidth = signal(Math.min(720, Math.max(160, Number(localStorage.getItem(widthName)) || 340)))

interface ColumnWidths {
  readonly name: number
  readonly state: number
  readonly time: number
  readonly tokens: number
}

/** Narrow boxes leave room for the waterfall first. */
function columnsOf(width: number): ColumnWidths {
  const name = Math.min(nameWidth.value, Math.max(180, width * 0.45))
  return { name, state: width < 620 ? 30 : 148, time: width < 560 ? 0 : 66, tokens: width < 760 ? 0 : 62 }
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
      },
      h(
        RowSpace,
        { count: lines.length },
        lines
          .slice(sight.from, sight.to)
          .map((line, at) => h(TreeRow, { ...props, line, place: sight.from + at, key: line.row.thread })),
      ),
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

interface TreeRowProps extends TreeGridProps {
  readonly line: TreeLine
  readonly place: number
}

function TreeRow({ line, place, selected, select, toggle, now, scroll }: TreeRowProps): VNode {
  const { row, depth, hasChildren, isOpen, below } = line
  const isSelected = row.thread === selected
  const { sight } = scroll
  const end = isOver(row) ? row.updatedAt : now
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
      onClick: () => select(row.thread),
      onDblClick: () => hasChildren && toggle(row.thread),
    },
    h(
      'span',
      { class: 'name', role: 'gridcell', style: { paddingLeft: `${8 + Math.min(depth, deepest) * 14}px` } },
      h(
        'span',
        { class: 'twisty', onClick: twist(hasChildren, () => toggle(row.thread)) },
        hasChildren ? twisty(isOpen) : null,
      ),
      depth > deepest ? h('span', { class: 'deep', title: `Level ${depth + 1}` }, `${depth}`) : null,
      h('span', { class: 'label', title: `${label}\n${row.thread}` }, label),
      h('span', { class: 'agent' }, row.says ?? row.agent),
      h(Below, { line }),
    ),
    h('span', { role: 'gridcell', class: 'state' }, h(StatusMark, { status: row.status, quiet: sight.width < 620 })),
    h('span', { role: 'gridcell', class: 'number right' }, durationWords(end - row.createdAt)),
    h('span', { role: 'gridcell', class: 'number right' }, compact(isOpen ? row.tokens : below.tokens || row.tokens)),
  )
}

function twisty(isOpen: boolean): VNode {
  const d = isOpen ? 'M1.5 3l2.5 3L6.5 3' : 'M2.5 1.5L5.5 4L2.5 6.5'
  return h('svg', { viewBox: '0 0 8 8', width: 8, height: 8, 'aria-hidden': 'true' }, h('path', { d }))
}

function twist(isThere: boolean, act: () => void): ((event: Event) => void) | undefined {
  if (!isThere) return undefined
  return (event) => {
    event.stopPropagation()
    act()
  }
}

/** What is folded away must be seen. */
function Below({ line }: { line: TreeLine }): VNode | null {
  const { below, isOpen, row, hasChildren } = line
  if (isOpen || !hasChildren) {
    if (!row.queued) return null
    return h(Pill, { tone: 'quiet', title: `${row.queued} children in line` }, `+${row.queued}`)
  }
  return h(
    'span',
    { class: 'below' },
    h('span', { class: 'muted number' }, `${below.threads - 1}`),
    below.waiting > 0
      ? h(Pill, { tone: 'person', title: 'wait for people here or below' }, `◆ ${below.waiting}`)
      : null,
    below.failed > 0 ? h(Pill, { tone: 'bad', title: 'failed here or below' }, `✕ ${below.failed}`) : null,
    below.unknown > 0
      ? h(Pill, { tone: 'unknown', title: 'unknown effects here or below' }, `? ${below.unknown}`)
      : null,
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
