/** Effects of all trees whose outcome nobody knows: an intent without a receipt is a question, not a line of a log. */
import '../style/lists.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { pathTo, getJson, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { dayAndTime, plural } from '../kit/format.js'
import { JsonView } from '../kit/json-view.js'
import { address, hrefOf } from '../kit/router.js'
import { Action, Empty, Loading, Problem, mark, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, write } from '../kit/write.js'
import { showings } from '../store/flush.js'
import { roots } from '../store/stores.js'
import { DecidedItems } from './decided.js'

export interface PageEffect {
  readonly id: string
  readonly thread: string
  readonly path: readonly string[]
  readonly call: string
  readonly tool: string
  readonly args: unknown
  readonly state: 'unknown' | 'running' | 'done' | 'failed'
  readonly beganAt: number
  readonly begins: number
  readonly asks?: true
  /** The call that it undoes. */
  readonly reverts?: string
  readonly undone?: true
  readonly outcome?: unknown
  readonly resolution?: {
    readonly happened: boolean
    readonly by?: string
    readonly comment?: string
    readonly at: number
  }
}

/** Read again whenever the number of unknown effects has changed. */
function useEffects(path: string, version: string): { effects?: readonly PageEffect[]; problem?: PageProblem } {
  const [state, setState] = useState<{ effects?: readonly PageEffect[]; problem?: PageProblem }>({})
  useEffect(() => {
    const left = new AbortController()
    getJson<{ effects: readonly PageEffect[] }>(path, { signal: left.signal })
      .then(({ effects }) => setState({ effects }))
      .catch((thrown: unknown) => left.signal.aborted || setState({ problem: toPageProblem(thrown) }))
    return () => left.abort()
  }, [path, version])
  return state
}

export function EffectsScreen(): VNode {
  void showings.value
  const { root } = address.value.query
  const unknown = [...roots.rows.values()].map(({ counts }) => counts.unknown).join(',')
  const { effects, problem } = useEffects(
    root === undefined ? 'effects' : `effects?root=${encodeURIComponent(root)}`,
    unknown,
  )
  return h(
    'main',
    { id: 'main', class: 'screen' },
    h(
      'div',
      { class: 'bar' },
      h('h1', null, 'Effects'),
      h(
        'p',
        { class: 'path-words' },
        effects ? `${plural(effects.length, 'call')} of which nobody knows whether it changed the world` : '',
      ),
    ),
    problem ? h(Problem, { problem }) : null,
    h(DecidedItems, { here: new Set(effects?.map(({ id }) => id)) }),
    !effects && !problem ? h(Loading, { what: 'effects' }) : null,
    effects?.length === 0
      ? h(
          Empty,
          { title: 'No unknown effect' },
          h('p', null, 'Every call with a side effect has its receipt. One without appears here.'),
        )
      : null,
    h(
      'div',
      { class: 'cards' },
      effects?.map((effect) => h(EffectCard, { effect, key: effect.id })),
    ),
  )
}

export function ThreadEffects({ thread, version }: { thread: string; version: string }): VNode {
  const { effects, problem } = useEffects(pathTo`threads/${thread}/effects`, version)
  if (problem) return h(Problem, { problem })
  if (!effects) return h(Loading, { what: 'effects' }) ?? h('div', null)
  if (effects.length === 0)
    return h(Empty, { title: 'No effect on the world' }, h('p', null, 'No call of this thread had a side effect.'))
  return h(
    'div',
    { class: 'cards' },
    effects.map((effect) => h(EffectCard, { effect, key: effect.id })),
  )
}

const words: Readonly<Record<PageEffect['state'], string>> = {
  unknown: 'unknown: it may have happened',
  running: 'intent recorded, no receipt yet',
  done: 'happened',
  failed: 'did not happen',
}

function wordsOf({ state, reverts, undone }: PageEffect): string {
  if (undone) return 'happened, and was undone by a rewind'
  return reverts === undefined ? words[state] : `reverts ${reverts}: ${words[state]}`
}

function EffectCard({ effect }: { effect: PageEffect }): VNode {
  const { id, thread, path, call, tool, args, state, beganAt, begins, outcome, resolution } = effect
  const receipt = receipts.value[id]
  const blocked = writeBlocked.value
  const resolve = (happened: boolean) => () =>
    void write({
      about: id,
      what: happened ? 'it happened' : 'it did not happen',
      path: pathTo`effects/${thread}/${call}/resolve`,
      body: { happened },
    })
  const tones = { unknown: 'unknown', running: 'tool', done: 'ok', failed: 'bad' } as const
  const shapes = { unknown: 'diamond', running: 'play', done: 'check', failed: 'cross' } as const
  return h(
    'article',
    { class: `card effect-${state}` },
    h(
      'h2',
      null,
      mark(shapes[state], tones[state]),
      h('span', { class: 'tool-name' }, tool),
      h('span', { class: 'muted' }, wordsOf(effect)),
    ),
    h(
      'p',
      { class: 'muted' },
      `Intent at ${dayAndTime(beganAt)} · begun ${begins} ${begins === 1 ? 'time' : 'times'} · key ${call} · `,
      h('a', { href: hrefOf(['threads', thread]) }, path.join(' / ')),
    ),
    h(JsonView, { value: args, level: 1 }),
    outcome === undefined
      ? null
      : h('div', { class: 'outcome' }, h('h3', null, 'Receipt'), h(JsonView, { value: outcome, level: 1 })),
    resolution
      ? h(
          'p',
          null,
          resolution.happened ? 'It happened' : 'It did not happen',
          `, said ${resolution.by ?? 'someone'} at ${dayAndTime(resolution.at)}`,
        )
      : null,
    state === 'unknown' && effect.asks
      ? h('p', null, h('a', { href: hrefOf(['inbox'], { sel: id }) }, 'The inbox asks whether to run it again'))
      : null,
    state === 'unknown' && !effect.asks
      ? h(
          'div',
          { class: 'actions' },
          h(Action, { label: 'It happened', act: resolve(true), kind: 'primary', blocked }),
          h(Action, { label: 'It did not', act: resolve(false), blocked }),
          blocked ? h('span', { class: 'blocked' }, blocked) : null,
        )
      : null,
    receipt ? h('p', { class: `receipt ${receipt.phase}`, role: 'status' }, receiptWords(receipt)) : null,
  )
}
