/** Where a thread stands: its place in the statechart, and exactly what it waits for. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { pathTo } from '../kit/api.js'
import { timeOfDay, countWords, dayAndTime, durationWords, plural } from '../kit/format.js'
import { useResource } from '../kit/resource.js'
import { hrefOf } from '../kit/router.js'
import { Loading, Problem, second } from '../kit/ui.js'
import { serverNow } from '../link/link.js'
import { Statechart } from './statechart.js'
import type { PageSpan } from '../store/tree-store.js'
import type { ThreadTabProps } from './thread-screen.js'

interface ThreadStateAnswer {
  readonly seq: number
  readonly digest: string
  readonly step: number
  readonly value: { readonly gate: string; readonly work: string }
  readonly turn?: { readonly startedAt: number; readonly steps: number; readonly calls: number }
  readonly outstanding: readonly { readonly key: string; readonly kind: string; readonly at?: number }[]
  readonly deadlines: readonly { readonly key: string; readonly at: number }[]
  readonly queued: { readonly messages: number; readonly calls: number }
}

export function StateTab({ thread, row, store }: ThreadTabProps): VNode {
  void second.value
  const { value: state, problem, again } = useResource<ThreadStateAnswer>(pathTo`threads/${thread}/state`, row.seq)
  if (problem && !state) return h(Problem, { problem, retry: again })
  if (!state) return h(Loading, { what: 'the state' }) ?? h('div', null)
  const { value, outstanding, deadlines, queued, turn, digest, seq, step } = state
  const now = serverNow()
  return h(
    'div',
    { class: 'state-tab' },
    h(Statechart, { gate: value.gate, work: value.work }),
    h(
      'section',
      null,
      h('h2', null, 'It waits for'),
      h(Waits, { outstanding, spans: store.spansOf(thread).filter(({ endedAt }) => endedAt === undefined), now }),
      h(
        'dl',
        { class: 'facts' },
        h('dt', null, 'Turn'),
        h(
          'dd',
          null,
          turn
            ? `since ${dayAndTime(turn.startedAt)} · ${plural(turn.steps, 'step')} · ${plural(turn.calls, 'call')}`
            : 'none',
        ),
        h('dt', null, 'Steps begun'),
        h('dd', null, countWords(step)),
        h('dt', null, 'Waiting behind it'),
        h('dd', null, `${countWords(queued.messages)} messages · ${countWords(queued.calls)} calls`),
        h('dt', null, 'Next deadline'),
        h('dd', null, deadlines[0] ? `${dayAndTime(deadlines[0].at)} · ${deadlines[0].key}` : 'none'),
        h('dt', null, 'Journal'),
        h('dd', null, `record ${countWords(seq)} · chain `, h('code', null, digest.slice(0, 16))),
      ),
    ),
  )
}

interface WaitsProps {
  readonly outstanding: ThreadStateAnswer['outstanding']
  /** That have not ended: children and people answer by mail, which is no work of the thread itself. */
  readonly spans: readonly PageSpan[]
  readonly now: number
}

function Waits({ outstanding, spans, now }: WaitsProps): VNode {
  const others = spans.filter(({ kind }) => kind === 'child' || kind === 'person')
  if (outstanding.length + others.length === 0) return h('p', { class: 'muted' }, 'Nothing but a message.')
  return h(
    'ul',
    { class: 'outstanding' },
    outstanding.map(({ key, kind, at: time }) =>
      h(
        'li',
        { key },
        h('strong', null, kind),
        h('code', null, key),
        time === undefined
          ? null
          : h('span', { class: 'number' }, `${timeOfDay(time)} (in ${durationWords(time - now)})`),
      ),
    ),
    others.map(({ id, kind, name, child, thread, queuedAt, step, index }) =>
      h(
        'li',
        { key: id },
        h('strong', null, kind),
        h('code', null, `step/${step}/call/${index ?? 0}`),
        child === undefined
          ? h('a', { href: hrefOf(['inbox'], { thread }) }, name)
          : h('a', { href: hrefOf(['threads', child]) }, name),
        h('span', { class: 'muted number' }, `for ${durationWords(now - queuedAt)}`),
      ),
    ),
  )
}
