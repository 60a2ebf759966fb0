/** The screen of all trees: what runs, what stands, what it costs. Rows keep their places while one points at them. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { allStatuses, compact, countWords, dash, money, plural, statusWords } from '../kit/format.js'
import { useKeys } from '../kit/keys.js'
import { address, changeQuery, goTo, hrefOf } from '../kit/router.js'
import { RowSpace, rowHeight, useRowScroll } from '../kit/rows.js'
import { Age, CopyButton, Empty, Loading, Pill, StatusMark } from '../kit/ui.js'
import { showings } from '../store/flush.js'
import { roots } from '../store/stores.js'
import type { PageRoot } from '../store/stores.js'
import { threadLabel } from '../tree/thread-label.js'

type SortKey = 'updated' | 'created' | 'cost' | 'threads'

const orders: Readonly<Record<SortKey, (one: PageRoot, other: PageRoot) => number>> = {
  updated: (one, other) => other.updatedAt - one.updatedAt,
  created: (one, other) => other.createdAt - one.createdAt,
  cost: (one, other) => other.counts.costUsd - one.counts.costUsd,
  threads: (one, other) => other.counts.threads - one.counts.threads,
}

function isSortKey(text: string | undefined): text is SortKey {
  return text !== undefined && Object.hasOwn(orders, text)
}

function isWanted(row: PageRoot, query: Readonly<Record<string, string>>): boolean {
  const { status, agent, tag, q } = query
  if (status !== undefined && row.status !== status) return false
  if (agent !== undefined && row.agent !== agent) return false
  if (tag !== undefined && !row.tags.includes(tag)) return false
  if (q === undefined) return true
  return `${row.thread} ${row.title ?? ''} ${row.agent} ${row.tags.join(' ')}`.toLowerCase().includes(q.toLowerCase())
}

/** The order stays as it is while someone points at the list: what is new waits until it is asked for. */
function useOrder(query: Readonly<Record<string, string>>): {
  readonly rows: readonly PageRoot[]
  readonly waiting: number
  readonly show: () => void
  readonly hold: (on: boolean) => void
} {
  const sort = isSortKey(query['sort']) ? query['sort'] : 'updated'
  const wanted = [...roots.rows.values()].filter((row) => isWanted(row, query))
  const key = JSON.stringify(query)
  const held = useRef<{ key: string; ids: readonly string[] }>({ key: '', ids: [] })
  const isHeld = useRef(false)
  const [, redraw] = useState(0)
  const known = new Set(held.current.ids)
  const fresh = wanted.filter(({ thread }) => !known.has(thread))
  if (held.current.key !== key || !isHeld.current)
    held.current = { key, ids: wanted.toSorted(orders[sort]).map(({ thread }) => thread) }
  const byId = new Map(wanted.map((row) => [row.thread, row]))
  return {
    rows: held.current.ids.flatMap((id) => byId.get(id) ?? []),
    waiting: isHeld.current ? fresh.length : 0,
    show() {
      held.current = { key: '', ids: [] }
      redraw((times) => times + 1)
    },
    hold(on) {
      isHeld.current = on
    },
  }
}

export function TreesScreen(): VNode {
  void showings.value
  if (roots.epoch.value === undefined) return h('main', { id: 'main', class: 'screen' }, h(Loading, { what: 'trees' }))
  if (roots.rows.size === 0)
    return h(
      'main',
      { id: 'main', class: 'screen' },
      h('div', { class: 'bar' }, h('h1', null, 'Trees')),
      h(NoTrees, {}),
    )
  return h(TreeList, {})
}

function TreeList(): VNode {
  const { query } = address.value
  const { rows, waiting, show, hold } = useOrder(query)
  const scroll = useRowScroll(rows.length)
  const [selected, setSelected] = useState(0)
  const at = Math.min(selected, rows.length - 1)
  const step = (by: number): void => {
    const to = Math.min(rows.length - 1, Math.max(0, at + by))
    setSelected(to)
    scroll.reveal(to)
  }
  const current = rows[at]
  useKeys({
    ArrowDown: () => step(1),
    j: () => step(1),
    ArrowUp: () => step(-1),
    k: () => step(-1),
    Enter: () => current && goTo(hrefOf(['trees', current.thread])),
    c: () => current && void navigator.clipboard.writeText(current.thread),
    y: () => void navigator.clipboard.writeText(location.href),
  })
  const { sight } = scroll
  const isInSight = at >= sight.from && at < sight.to
  return h(
    'main',
    { id: 'main', class: 'screen trees-screen' },
    h(TreesBar, { count: rows.length, waiting, show }),
    h(TableHead, { width: sight.width }),
    h(
      'div',
      {
        class: 'table-box',
        ref: scroll.box,
        role: 'grid',
        tabIndex: 0,
        'aria-label': 'Trees',
        'aria-rowcount': rows.length,
        'aria-activedescendant': isInSight && current ? `tree-${current.thread}` : undefined,
        onPointerEnter: () => hold(true),
        onPointerLeave: () => hold(false),
        onFocus: () => hold(true),
        onBlur: () => hold(false),
      },
      rows.length === 0 ? h(Empty, { title: 'No tree matches this filter' }) : null,
      h(
        RowSpace,
        { count: rows.length },
        rows.slice(sight.from, sight.to).map((row, index) => {
          const place = sight.from + index
          return h(TreeLine, { row, place, isSelected: place === at, key: row.thread })
        }),
      ),
    ),
  )
}

function TableHead({ width }: { width: number }): VNode {
  return h(
    'div',
    { class: 'table-head', style: { width: `${width}px` }, 'aria-hidden': 'true' },
    ['Tree', 'State', 'Threads', 'Needs you', 'Last change', 'Age', 'Tokens', 'Cost', 'Budget left'].map(
      (name, place) => h('span', { key: name, class: place > 3 ? 'right' : '' }, name),
    ),
  )
}

function TreeLine({ row, place, isSelected }: { row: PageRoot; place: number; isSelected: boolean }): VNode {
  const { counts, thread } = row
  const cell = (children: VNode | string | (VNode | string | null)[], extra = ''): VNode =>
    h('span', { role: 'gridcell', class: extra }, children)
  return h(
    'div',
    {
      class: `table-row${isSelected ? ' selected' : ''}`,
      role: 'row',
      id: `tree-${thread}`,
      'aria-rowindex': place + 1,
      'aria-selected': isSelected,
      style: { transform: `translateY(${place * rowHeight}px)` },
      onClick: () => goTo(hrefOf(['trees', thread])),
    },
    cell(
      [
        h('a', { href: hrefOf(['trees', thread]), tabIndex: -1, class: 'label', title: thread }, threadLabel(row)),
        h('span', { class: 'agent' }, row.agent),
        row.forkOf === undefined ? null : h('span', { class: 'tag' }, `fork of ${row.forkOf}`),
        ...row.tags.slice(0, 3).map((tag) => h('span', { class: 'tag', key: tag }, tag)),
      ],
      'name',
    ),
    cell(
      [
        h(StatusMark, { status: row.status }),
        row.error ? h('span', { class: 'error-text', title: row.error }, row.error) : null,
      ],
      'state',
    ),
    cell(
      [
        countWords(counts.threads),
        counts.working > 0 ? h('span', { class: 'muted' }, ` · ${countWords(counts.working)} at work`) : null,
      ],
      'number',
    ),
    h('span', { role: 'gridcell', class: 'needs' }, needs(counts)),
    cell(h(Age, { at: row.updatedAt }), 'right'),
    cell(h(Age, { at: row.createdAt }), 'right'),
    cell(compact(counts.tokens), 'number right'),
    cell(money(counts.costUsd), 'number right'),
    cell(leftWords(row), 'number right'),
  )
}

function needs({ waiting, failed, unknown, dead }: PageRoot['counts']): (VNode | null)[] {
  return [
    waiting > 0 ? h(Pill, { tone: 'person', title: 'wait for people' }, `◆ ${waiting}`) : null,
    failed > 0 ? h(Pill, { tone: 'bad', title: 'failed' }, `✕ ${failed}`) : null,
    unknown > 0 ? h(Pill, { tone: 'unknown', title: 'unknown effects' }, `? ${unknown}`) : null,
    dead > 0 ? h(Pill, { tone: 'bad', title: 'children that failed for good' }, `† ${dead}`) : null,
  ]
}

function leftWords({ left }: PageRoot): string {
  if (left?.costUsd !== undefined) return money(left.costUsd)
  if (left?.tokens !== undefined) return `${compact(left.tokens)} tok`
  return left?.steps === undefined ? dash : plural(left.steps, 'step')
}

function TreesBar({ count: found, waiting, show }: { count: number; waiting: number; show: () => void }): VNode {
  const { query } = address.value
  const agents = [...new Set([...roots.rows.values()].map(({ agent }) => agent))].sort()
  const pick = (name: string, label: string, values: readonly (readonly [string, string])[]): VNode =>
    h(
      'select',
      {
        'aria-label': label,
        value: query[name] ?? '',
        onChange: (event: Event) =>
          event.target instanceof HTMLSelectElement && changeQuery({ [name]: event.target.value || undefined }),
      },
      h('option', { value: '' }, label),
      values.map(([value, text]) => h('option', { value, key: value }, text)),
    )
  const all = roots.rows.size
  const isCut = roots.total > all
  return h(
    'div',
    { class: 'bar' },
    h('h1', null, 'Trees'),
    pick(
      'status',
      'Any state',
      allStatuses.map((status) => [status, statusWords(status).word]),
    ),
    pick(
      'agent',
      'Any agent',
      agents.map((agent) => [agent, agent]),
    ),
    pick('sort', 'Last change first', [
      ['created', 'Newest first'],
      ['cost', 'Most expensive first'],
      ['threads', 'Largest first'],
    ]),
    h('input', {
      class: 'filter',
      type: 'search',
      'aria-label': 'Filter trees',
      placeholder: 'Filter  /',
      value: query['q'] ?? '',
      onInput: (event: Event) =>
        event.target instanceof HTMLInputElement && changeQuery({ q: event.target.value || undefined }),
    }),
    waiting > 0 ? h('button', { type: 'button', class: 'chip', onClick: show }, `${waiting} new: show`) : null,
    h(
      'p',
      { class: 'path-words number' },
      found === all ? plural(all, 'tree') : `${countWords(found)} of ${plural(all, 'tree')}`,
      isCut ? h('span', null, ` · the ${countWords(all)} that changed last of ${countWords(roots.total)}`) : null,
    ),
  )
}

const lines = [
  'skein init my-app && cd my-app',
  'skein create app assistant --id first',
  'skein send first "Plan a trip to the coast"',
]

function NoTrees(): VNode {
  return h(
    Empty,
    { title: 'No tree yet' },
    h(
      'p',
      null,
      'A thread and all that it calls are a tree. Start one here under ',
      h('a', { href: hrefOf(['agents']) }, 'Agents'),
      ', or in a terminal:',
    ),
    h('pre', { class: 'lines' }, lines.join('\n')),
    h(CopyButton, { text: lines.join('\n'), label: 'Copy' }),
  )
}
