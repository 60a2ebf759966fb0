/** The inbox: everything that waits for a person, of all trees and depths. A decision goes to its owner by its id. */
import '../style/lists.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import type { InboxItem } from '../../index.js'
import { timeOfDay, countWords, holdWords, plural } from '../kit/format.js'
import { useKeys } from '../kit/keys.js'
import { address, changeQuery, hrefOf } from '../kit/router.js'
import { Age, Empty, Loading, mark } from '../kit/ui.js'
import { receiptWords, receipts } from '../kit/write.js'
import { liveSince } from '../link/link.js'
import { inboxItems } from '../store/stores.js'
import { DecidedItems } from './decided.js'
import { InboxDecision } from './inbox-decision.js'

export function filterItems(
  items: readonly InboxItem[],
  query: Readonly<Record<string, string>>,
): readonly InboxItem[] {
  const kinds = query['kind']?.split(',')
  return items.filter(
    ({ path, why, thread }) =>
      (query['root'] === undefined || path[0] === query['root']) &&
      (query['thread'] === undefined || thread === query['thread']) &&
      (!kinds || kinds.includes(why)),
  )
}

export function InboxScreen(): VNode {
  const { query } = address.value
  const all = inboxItems.value
  const items = all && filterItems(all, query)
  const selected = items?.find(({ id }) => id === query['sel']) ?? items?.[0]
  const at = selected && items ? items.indexOf(selected) : -1
  const step = (by: number): void => {
    const next = items?.[Math.min(items.length - 1, Math.max(0, at + by))]
    if (next) changeQuery({ sel: next.id })
  }
  useKeys({ ArrowDown: () => step(1), j: () => step(1), ArrowUp: () => step(-1), k: () => step(-1) })
  if (!items) return h('main', { id: 'main', class: 'screen' }, h(Loading, { what: 'the inbox' }))
  return h(
    'main',
    { id: 'main', class: 'screen inbox-screen' },
    h(InboxBar, { found: items.length, all: all.length }),
    h(DecidedItems, { here: new Set(items.map(({ id }) => id)) }),
    items.length === 0
      ? h(Empty, { title: 'Nothing waits for you' }, h('p', null, `Live since ${timeOfDay(liveSince.value)}`))
      : h(
          'div',
          { class: 'inbox-panes' },
          h(
            'ul',
            { class: 'inbox-list', 'aria-label': 'What waits' },
            items.map((item) => h(InboxLine, { item, isSelected: item === selected, key: item.id })),
          ),
          selected ? h(InboxDecision, { item: selected, key: selected.id }) : null,
        ),
  )
}

function InboxLine({ item, isSelected }: { item: InboxItem; isSelected: boolean }): VNode {
  const { id, tool, why, agent, path, requestedAt, unknown, forkedFrom } = item
  const receipt = receipts.value[id]
  return h(
    'li',
    null,
    h(
      'a',
      {
        class: `inbox-line${isSelected ? ' selected' : ''}`,
        href: hrefOf(['inbox'], { ...address.value.query, sel: id }),
        'aria-current': isSelected ? 'true' : undefined,
      },
      mark('diamond', unknown ? 'unknown' : 'person'),
      h('span', { class: 'label' }, tool || holdWords(why)),
      h('span', { class: 'kind' }, unknown ? 'run it again?' : holdWords(why)),
      h(
        'span',
        { class: 'muted path' },
        `${agent} · level ${path.length}${forkedFrom ? ` · fork of ${forkedFrom.thread}` : ''}`,
      ),
      h(Age, { at: requestedAt }),
      receipt ? h('span', { class: `receipt ${receipt.phase}` }, receiptWords(receipt)) : null,
    ),
  )
}

const kinds: readonly (readonly [string, string])[] = [
  ['approval', 'Approvals'],
  ['person', 'Questions'],
  ['variables', 'Variables'],
]

function InboxBar({ found, all }: { found: number; all: number }): VNode {
  const { query } = address.value
  const chosen = new Set((query['kind'] ?? '').split(',').filter((kind) => kind !== ''))
  const toggle = (kind: string) => () => {
    const next = new Set(chosen)
    if (!next.delete(kind)) next.add(kind)
    changeQuery({ kind: [...next].join(',') })
  }
  const only = query['root'] ?? query['thread']
  return h(
    'div',
    { class: 'bar' },
    h('h1', null, 'Inbox'),
    h(
      'div',
      { class: 'chips', role: 'group', 'aria-label': 'Kinds' },
      kinds.map(([kind, label]) =>
        h(
          'button',
          { type: 'button', class: 'chip', key: kind, 'aria-pressed': chosen.has(kind), onClick: toggle(kind) },
          label,
        ),
      ),
    ),
    only === undefined
      ? null
      : h(
          'button',
          { type: 'button', class: 'chip', onClick: () => changeQuery({ root: undefined, thread: undefined }) },
          `Only ${only} ✕`,
        ),
    h(
      'p',
      { class: 'path-words number' },
      found === all ? `${plural(all, 'item')} waiting` : `${countWords(found)} of ${plural(all, 'item')}`,
    ),
  )
}
