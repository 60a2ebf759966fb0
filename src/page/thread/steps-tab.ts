/** Steps of a thread: what the model said, what it called, how long each waited and ran, and what came of it. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { timeOfDay, countWords, durationWords } from '../kit/format.js'
import { JsonView } from '../kit/json-view.js'
import { plainText } from '../kit/plain-text.js'
import { hrefOf } from '../kit/router.js'
import { Loading, Problem } from '../kit/ui.js'
import { serverNow } from '../link/link.js'
import type { PageSpan } from '../store/tree-store.js'
import { ForkDialog } from './fork-dialog.js'
import type { ThreadTabProps } from './thread-screen.js'
import { useRecords } from './thread-records.js'
import type { PageRecord } from './thread-records.js'

interface StepCall {
  readonly tool: string
  readonly args: unknown
}

interface Step {
  readonly step: number
  readonly seq: number
  readonly at: number
  readonly text: string
  readonly model: string
  readonly calls: readonly StepCall[]
  /** By index: records about the call. */
  readonly about: ReadonlyMap<number, readonly PageRecord[]>
  /** A rewind has undone it. */
  isUndone: boolean
}

function stepsOf(records: readonly PageRecord[]): readonly Step[] {
  const steps: Step[] = []
  let about = new Map<number, PageRecord[]>()
  for (const record of records) {
    if (record.type === 'model.replied' || record.type === 'calls.made') {
      about = new Map()
      const {
        step,
        at,
        text,
        model,
        calls,
      }: { step?: number; at?: number; text?: string; model?: string; calls?: StepCall[] } = Object(record)
      steps.push({
        step: step ?? 0,
        seq: record.seq,
        at: at ?? 0,
        text: text ?? '',
        model: model ?? 'no model',
        calls: calls ?? [],
        about,
        isUndone: false,
      })
    } else if (record.type === 'thread.rewound') {
      for (const step of steps) if (step.seq > Number(record['to'])) step.isUndone = true
    } else if (typeof record['index'] === 'number') {
      const index = record['index']
      about.set(index, [...(about.get(index) ?? []), record])
    }
  }
  return steps.reverse()
}

export function StepsTab({ thread, row, store }: ThreadTabProps): VNode {
  const { records, problem, isRead, first, more } = useRecords(thread, row.seq)
  if (problem && !isRead) return h(Problem, { problem })
  if (!isRead) return h(Loading, { what: 'steps' }) ?? h('div', null)
  const steps = stepsOf(records)
  const spans = store.spansOf(thread)
  return h(
    'div',
    { class: 'steps' },
    steps.length === 0 ? h('p', { class: 'muted padded' }, 'No step yet.') : null,
    steps.map((step) =>
      h(StepCard, {
        step,
        spans: spans.filter((span) => span.step === step.step),
        thread,
        key: `${step.step} ${step.at}`,
      }),
    ),
    first > 1
      ? h(
          'button',
          { type: 'button', class: 'chip', onClick: more },
          `From record ${countWords(first)} on: load earlier`,
        )
      : null,
  )
}

/** Shorter waits are those of any call. */
const shortMs = 20

function timing(span: PageSpan | undefined): string {
  if (!span) return ''
  const end = span.endedAt ?? serverNow()
  const began = span.startedAt ?? end
  const waited = began - span.queuedAt
  const why = span.why === undefined ? '' : ` for ${span.why}`
  const runs = span.endedAt === undefined ? 'runs for' : 'ran'
  return [
    ...(waited >= shortMs ? [`in line ${durationWords(waited)}${why}`] : []),
    ...(span.startedAt === undefined ? [] : [`${runs} ${durationWords(end - began)}`]),
  ].join(' · ')
}

const stateWords: Readonly<Record<string, string>> = {
  ok: 'done',
  stopped: 'ended',
  queued: 'in line',
  running: 'runs',
  stale: 'run again: what it had read was changed',
  unknown: 'unknown: it may have happened',
}

function StepCard({ step, spans, thread }: { step: Step; spans: readonly PageSpan[]; thread: string }): VNode {
  const model = spans.find(({ kind }) => kind === 'model')
  const [isForking, setForking] = useState(false)
  const facts = [step.model, timeOfDay(step.at), timing(model)].filter((each) => each !== '')
  return h(
    'article',
    { class: `card step${step.isUndone ? ' undone' : ''}`, id: `step-${step.step}` },
    h(
      'h2',
      null,
      h('i', { class: 'swatch kind-model', 'aria-hidden': 'true' }),
      `Step ${step.step}`,
      step.isUndone ? h('span', { class: 'tag', title: 'The thread went back to before it' }, 'undone') : null,
      h('span', { class: 'muted' }, facts.join(' · ')),
      h(
        'button',
        { type: 'button', class: 'copy', 'aria-expanded': isForking, onClick: () => setForking(!isForking) },
        'Fork here',
      ),
    ),
    isForking ? h(ForkDialog, { thread, step: step.step, close: () => setForking(false) }) : null,
    step.text === ''
      ? null
      : h(
          'p',
          { class: 'said' },
          plainText(step.text.slice(0, 1_000)),
          step.text.length > 1_000
            ? h('a', { href: hrefOf(['threads', thread, 'chat']) }, ' … all of it in chat')
            : null,
        ),
    step.calls.map((call, index) =>
      h(CallView, {
        key: index,
        call,
        index,
        step: step.step,
        spans: spans.filter((span) => span.index === index),
        about: step.about.get(index) ?? [],
      }),
    ),
  )
}

interface CallViewProps {
  readonly call: StepCall
  readonly index: number
  readonly step: number
  readonly spans: readonly PageSpan[]
  readonly about: readonly PageRecord[]
}

function CallView({ call, index, step, spans, about }: CallViewProps): VNode {
  const tries = spans.filter(({ kind }) => kind !== 'person')
  const child = tries.find((span) => span.child !== undefined)?.child
  const outcome = about.findLast((record) => 'outcome' in record)
  const id = `call_${step}_${index}`
  const details = h(
    'details',
    { class: 'call-details', id },
    h(
      'summary',
      null,
      h('span', { class: 'number muted' }, `${step}.${index}`),
      h('span', { class: 'tool-name' }, call.tool),
      tries.map((span) =>
        h(
          'span',
          { key: span.id, class: `state-${span.state}` },
          stateWords[span.state] ?? span.state,
          h('span', { class: 'muted' }, ` · ${timing(span)}`),
        ),
      ),
    ),
    h('h3', null, 'Args'),
    h(JsonView, { value: call.args }),
    outcome ? h('h3', null, 'Outcome') : null,
    outcome ? h(JsonView, { value: outcome['outcome'] }) : null,
    about.length > 0 ? h('h3', null, 'Records') : null,
    about.map((record) =>
      h(
        'p',
        { class: 'muted number', key: record.seq },
        `${countWords(record.seq)} ${timeOfDay(record.at)} ${record.type}${wordsOf(record)}`,
      ),
    ),
  )
  const link = child === undefined ? null : h('a', { href: hrefOf(['threads', child]) }, 'its thread')
  return h('div', { class: 'call-line' }, details, link)
}

function wordsOf(record: PageRecord): string {
  const words = ['verdict', 'decision', 'decidedBy', 'answeredBy', 'why', 'tries', 'comment'].flatMap((name) =>
    record[name] === undefined ? [] : [String(record[name])],
  )
  return words.length === 0 ? '' : ` · ${plainText(words.join(' · ')).slice(0, 300)}`
}
