/** The bar above a tree: what it is, filters with their counts, the time that is shown, and where the time went. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { compact, countWords, durationWords, money, plural } from '../kit/format.js'
import { address, changeQuery, hrefOf } from '../kit/router.js'
import { Pill, StatusMark } from '../kit/ui.js'
import { isFrozen } from '../store/flush.js'
import type { Below } from '../store/below.js'
import type { TreeStore } from '../store/tree-store.js'
import { pathShares } from './critical-path.js'
import type { PathPart } from './critical-path.js'
import { threadLabel } from './thread-label.js'

const windows: readonly (readonly [string, string | undefined])[] = [
  ['All', undefined],
  ['10 m', '10m'],
  ['90 s', '90s'],
]

interface TreeBarProps {
  /** Changes with what it shows. */
  readonly sign: string
  readonly store: TreeStore
  readonly path: readonly PathPart[]
}

export function TreeBar({ store, path }: TreeBarProps): VNode {
  const { query } = address.value
  const root = store.row(store.root)
  const total = root && store.below(store.root)
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
    h(FilterChips, { below: total }),
    h('input', {
      class: 'filter',
      type: 'search',
      'aria-label': 'Filter threads',
      placeholder: 'Filter  /',
      value: query['q'] ?? '',
      onInput: (event: Event) =>
        event.target instanceof HTMLInputElement && changeQuery({ q: event.target.value || undefined }),
    }),
    h(WindowButtons, {}),
    h(PathWords, {
      path,
      total: total
        ? `${plural(total.threads, 'thread')} · ${compact(total.tokens)} tokens · ${money(total.costUsd)}`
        : '',
    }),
  )
}

function WindowButtons(): VNode {
  const { query } = address.value
  return h(
    'div',
    { class: 'segments', role: 'group', 'aria-label': 'Time shown' },
    windows.map(([label, win]) =>
      h(
        'button',
        { type: 'button', key: label, 'aria-pressed': query['win'] === win, onClick: () => changeQuery({ win }) },
        label,
      ),
    ),
  )
}

const chips: readonly (readonly [keyof Below & ('working' | 'waiting' | 'failed' | 'unknown'), string])[] = [
  ['working', 'At work'],
  ['waiting', 'Waiting'],
  ['failed', 'Failed'],
  ['unknown', 'Unknown'],
]

function FilterChips({ below }: { below: Below | undefined }): VNode {
  const chosen = new Set((address.value.query['f'] ?? '').split(',').filter((name) => name !== ''))
  const toggle = (name: string) => () => {
    const next = new Set(chosen)
    if (!next.delete(name)) next.add(name)
    changeQuery({ f: [...next].join(',') })
  }
  return h(
    'div',
    { class: 'chips', role: 'group', 'aria-label': 'Filters' },
    chips.map(([name, label]) =>
      h(
        'button',
        { type: 'button', class: 'chip', key: name, 'aria-pressed': chosen.has(name), onClick: toggle(name) },
        `${label} `,
        h('span', { class: 'number' }, countWords(below?.[name])),
      ),
    ),
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
          `Critical path ${durationWords(length)}: `,
          shares
            .slice(0, 3)
            .map(({ what, share }) => `${Math.round(share * 100)} % ${what}`)
            .join(' · '),
        ),
    isFrozen.value ? h(Pill, { tone: 'person', title: 'The view stands still; data goes on' }, 'Frozen (space)') : null,
  )
}
