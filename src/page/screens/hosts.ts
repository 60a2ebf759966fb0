/** Hosts: who serves the store, what they hold, and which models have to wait. */
import '../style/lists.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { getJson, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { timeOfDay, countWords, dash, plural } from '../kit/format.js'
import { hrefOf } from '../kit/router.js'
import { Age, Empty, Loading, Problem, second } from '../kit/ui.js'

interface PageHost {
  readonly id: string
  readonly name: string
  readonly since: number
  readonly skein: string
  readonly app?: string
  readonly appVersion?: string
  readonly awake: number
  readonly busy: number
  readonly load: number
  readonly partitions: readonly number[]
}

interface Wait {
  readonly thread?: string
  readonly model?: string
  readonly place?: number
  readonly until?: number
}

interface Answer {
  readonly hosts: readonly PageHost[]
  readonly partitions: number
  readonly waits: readonly Wait[]
}

const everySeconds = 5

export function HostsScreen(): VNode {
  const [answer, setAnswer] = useState<Answer>()
  const [problem, setProblem] = useState<PageProblem>()
  useEffect(() => {
    const left = new AbortController()
    const read = async (): Promise<Answer> => {
      const [hosts, waits] = await Promise.all([
        getJson<Omit<Answer, 'waits'>>('hosts', { signal: left.signal }),
        getJson<{ waits: readonly Wait[] }>('models/waits', { signal: left.signal }),
      ])
      return { ...hosts, ...waits }
    }
    read()
      .then(setAnswer)
      .then(() => setProblem(undefined))
      .catch((thrown: unknown) => left.signal.aborted || setProblem(toPageProblem(thrown)))
    return () => left.abort()
  }, [Math.floor(second.value / everySeconds)])
  return h(
    'main',
    { id: 'main', class: 'screen' },
    h(
      'div',
      { class: 'bar' },
      h('h1', null, 'Hosts'),
      answer
        ? h(
            'p',
            { class: 'path-words' },
            `${plural(answer.hosts.length, 'host')} · ${plural(answer.partitions, 'partition')}`,
          )
        : null,
    ),
    problem ? h(Problem, { problem }) : null,
    !answer && !problem ? h(Loading, { what: 'hosts' }) : null,
    answer?.hosts.length === 0
      ? h(
          Empty,
          { title: 'No host serves this store' },
          h('p', null, 'Threads wait until one does: ', h('code', null, 'skein host <app>'), '.'),
        )
      : null,
    answer && answer.hosts.length > 0 ? h(HostTable, { hosts: answer.hosts, of: answer.partitions }) : null,
    answer ? h(Waits, { waits: answer.waits }) : null,
  )
}

function HostTable({ hosts, of }: { hosts: readonly PageHost[]; of: number }): VNode {
  const heads = ['Host', 'App', 'Skein', 'Up', 'Partitions', 'Threads awake', 'At work', 'Load']
  return h(
    'table',
    { class: 'plain' },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        heads.map((head) => h('th', { scope: 'col', key: head }, head)),
      ),
    ),
    h(
      'tbody',
      null,
      hosts.map((host) =>
        h(
          'tr',
          { key: host.id },
          h('th', { scope: 'row' }, host.name),
          h('td', null, `${host.app ?? dash} ${host.appVersion ?? ''}`),
          h('td', null, host.skein),
          h('td', null, h(Age, { at: host.since })),
          h('td', { class: 'number' }, `${host.partitions.length} of ${of}`),
          h('td', { class: 'number' }, countWords(host.awake)),
          h('td', { class: 'number' }, countWords(host.busy)),
          h(
            'td',
            { class: 'number' },
            h('meter', { min: 0, max: 1, high: 0.8, value: host.load, 'aria-label': 'Load' }),
            ` ${Math.round(host.load * 100)} %`,
          ),
        ),
      ),
    ),
  )
}

function Waits({ waits }: { waits: readonly Wait[] }): VNode {
  if (waits.length === 0) return h('p', { class: 'muted padded' }, 'No model call waits for a limit of its provider.')
  return h(
    'table',
    { class: 'plain' },
    h('caption', null, 'Model calls that wait for a limit of their provider'),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        ['Model', 'Thread', 'Place', 'Not before'].map((head) => h('th', { scope: 'col', key: head }, head)),
      ),
    ),
    h(
      'tbody',
      null,
      waits.map(({ thread = dash, model = dash, place, until }, index) =>
        h(
          'tr',
          { key: index },
          h('td', null, model),
          h('td', null, h('a', { href: hrefOf(['threads', thread]) }, thread)),
          h('td', { class: 'number' }, countWords(place)),
          h('td', { class: 'number' }, timeOfDay(until)),
        ),
      ),
    ),
  )
}
