/** The details of one thread beside the tree: what it is, why it waits, and its spans as a table. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { timeOfDay, compact, countWords, dash, dayAndTime, durationWords, money } from '../kit/format.js'
import { hrefOf } from '../kit/router.js'
import { CopyButton, StatusMark, mark } from '../kit/ui.js'
import type { PageRow, PageSpan, TreeStore } from '../store/tree-store.js'
import { threadLabel } from './thread-label.js'

export interface RowDetailsProps {
  /** Changes with what it shows. */
  readonly sign: string
  readonly store: TreeStore
  readonly row: PageRow
  readonly now: number
}

function pathOf(store: TreeStore, row: PageRow): readonly PageRow[] {
  const path: PageRow[] = []
  for (let each = store.row(row.parent ?? ''); each; each = store.row(each.parent ?? '')) path.push(each)
  return path.reverse()
}

export function RowDetails({ store, row, now }: RowDetailsProps): VNode {
  const path = pathOf(store, row)
  const fact = (name: string, value: string | VNode): VNode[] => [h('dt', null, name), h('dd', null, value)]
  return h(
    'aside',
    { class: 'details', 'aria-label': 'Details of the selected thread' },
    path.length === 0
      ? null
      : h(
          'nav',
          { class: 'crumbs', 'aria-label': 'Parents' },
          path.map((each) => h('a', { key: each.thread, href: hrefOf(['threads', each.thread]) }, threadLabel(each))),
        ),
    h('h2', null, h('a', { href: hrefOf(['threads', row.thread]) }, threadLabel(row))),
    h(
      'p',
      { class: 'status-line' },
      h(StatusMark, { status: row.status }),
      row.reason ? h('span', { class: 'muted' }, row.reason) : null,
    ),
    row.error ? h('p', { class: 'error-line' }, mark('cross', 'bad'), row.error) : null,
    row.waiting
      ? h(
          'p',
          null,
          h(
            'a',
            { class: 'waits', href: hrefOf(['inbox'], { root: store.root }) },
            `${row.waiting} in the inbox: decide`,
          ),
        )
      : null,
    h(
      'dl',
      { class: 'facts' },
      fact('Agent', row.agent),
      fact('Id', h('span', { class: 'id' }, row.thread, h(CopyButton, { text: row.thread, label: 'Copy' }))),
      row.forkOf === undefined ? null : fact('Fork of', h('a', { href: hrefOf(['threads', row.forkOf]) }, row.forkOf)),
      fact('Began', dayAndTime(row.createdAt)),
      fact('Last change', `${dayAndTime(row.updatedAt)} · record ${countWords(row.seq)}`),
      fact('Steps', countWords(row.step)),
      fact('Tokens · cost', `${compact(row.tokens)} · ${money(row.costUsd)}`),
      row.queued ? fact('In line', row.queued === 1 ? '1 child' : `${row.queued} children`) : null,
    ),
    h(SpanTable, { spans: store.spansOf(row.thread), now, thread: row.thread }),
  )
}

const mostSpans = 60

const words: Readonly<Record<string, string>> = { ok: 'done', stopped: 'ended', running: 'runs', queued: 'in line' }

function SpanTable({ spans, now, thread }: { spans: readonly PageSpan[]; now: number; thread: string }): VNode {
  const newest = spans.slice(-mostSpans).reverse()
  if (spans.length === 0) return h('p', { class: 'muted' }, 'No step yet.')
  const more = spans.length > mostSpans ? `${mostSpans} newest of ${countWords(spans.length)}: ` : ''
  return h(
    'table',
    { class: 'spans' },
    h('caption', null, more, h('a', { href: hrefOf(['threads', thread, 'steps']) }, 'all steps')),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ['Step', 'What', 'In line', 'Ran', 'State'].map((name) => h('th', { scope: 'col', key: name }, name)),
      ),
    ),
    h(
      'tbody',
      null,
      newest.map((span) => h(SpanRow, { span, now, key: span.id })),
    ),
  )
}

function spanLabel({ kind, name, attempt }: PageSpan): string {
  const what = kind === 'person' ? `person: ${name}` : name || 'model'
  return attempt ? `${what} (${attempt})` : what
}

function SpanRow({ span, now }: { span: PageSpan; now: number }): VNode {
  const { kind, step, index, queuedAt, startedAt, endedAt, state, why, child } = span
  const waited = (startedAt ?? endedAt ?? now) - queuedAt
  const place = index === undefined ? `${step}` : `${step}.${index}`
  const label = spanLabel(span)
  return h(
    'tr',
    { title: `Asked for at ${timeOfDay(queuedAt)}${why ? ` · ${why}` : ''}` },
    h('td', { class: 'number muted' }, place),
    h(
      'td',
      null,
      h('i', { class: `swatch kind-${kind}`, 'aria-hidden': 'true' }),
      child === undefined ? label : h('a', { href: hrefOf(['threads', child]) }, label),
    ),
    h('td', { class: 'number right' }, waited < 1 ? dash : durationWords(waited)),
    h('td', { class: 'number right' }, startedAt === undefined ? dash : durationWords((endedAt ?? now) - startedAt)),
    h(
      'td',
      { class: `state-${state}` },
      words[state] ?? state,
      why && (state === 'queued' || state === 'failed') ? h('small', null, ` ${why}`) : null,
    ),
  )
}
