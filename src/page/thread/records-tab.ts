/** The journal of a thread, newest first: every record with its number, and all of it where it is opened. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { timeOfDay, countWords } from '../kit/format.js'
import { JsonView } from '../kit/json-view.js'
import { address, changeQuery } from '../kit/router.js'
import { Loading, Problem } from '../kit/ui.js'
import type { ThreadTabProps } from './thread-screen.js'
import { useRecords } from './thread-records.js'
import type { PageRecord } from './thread-records.js'

export function RecordsTab({ thread, row }: ThreadTabProps): VNode {
  const { records, problem, isRead, first, more } = useRecords(thread, row.seq)
  const { kind } = address.value.query
  if (problem && !isRead) return h(Problem, { problem })
  if (!isRead) return h(Loading, { what: 'records' }) ?? h('div', null)
  const kinds = [...new Set(records.map(({ type }) => type))].sort()
  const shown = records.filter(({ type }) => kind === undefined || type === kind).toReversed()
  const pick = (event: Event): void => {
    if (event.target instanceof HTMLSelectElement) changeQuery({ kind: event.target.value || undefined })
  }
  return h(
    'div',
    { class: 'records' },
    h(
      'p',
      { class: 'padded' },
      h(
        'select',
        { 'aria-label': 'Kind of record', value: kind ?? '', onChange: pick },
        h('option', { value: '' }, 'All kinds'),
        kinds.map((each) => h('option', { value: each, key: each }, each)),
      ),
      h(
        'span',
        { class: 'muted number' },
        ` ${countWords(shown.length)} shown · ${countWords(records.length)} read of ${countWords(row.seq)}`,
      ),
    ),
    h(
      'ol',
      { class: 'record-list' },
      shown.map((record) => h(RecordView, { record, key: record.seq })),
    ),
    first > 1
      ? h(
          'button',
          { type: 'button', class: 'chip', onClick: more },
          `${countWords(records.length)} of ${countWords(row.seq)}: load earlier`,
        )
      : null,
  )
}

function RecordView({ record }: { record: PageRecord }): VNode {
  const [isOpen, setOpen] = useState(false)
  const { seq, at, type, ...body } = record
  return h(
    'li',
    null,
    h(
      'button',
      { type: 'button', class: 'record-line', 'aria-expanded': isOpen, onClick: () => setOpen(!isOpen) },
      h('span', { class: 'number muted' }, countWords(seq)),
      h('span', { class: 'number muted' }, timeOfDay(at)),
      h('strong', null, type),
      h('span', { class: 'muted summary' }, summaryOf(body)),
    ),
    isOpen ? h('div', { class: 'record-body' }, h(JsonView, { value: body })) : null,
  )
}

/** Its short fields, in a line. */
function summaryOf(body: object): string {
  return Object.entries(body)
    .flatMap(([name, value]) => {
      if (typeof value === 'string') return [`${name}: ${value.slice(0, 60).replaceAll(/\s+/g, ' ')}`]
      return typeof value === 'number' || typeof value === 'boolean' ? [`${name}: ${String(value)}`] : []
    })
    .join(' · ')
    .slice(0, 160)
}
