/**
 * Forking a thread at a step: what that crosses is told before anything is done (a dry run of the server), and what
 * calls of the fork may do to the world is chosen.
 */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Crossing } from '../../index.js'
import { pathTo, sendJson, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'
import { dayAndTime, plural } from '../kit/format.js'
import { useKeys } from '../kit/keys.js'
import { goTo, hrefOf } from '../kit/router.js'
import { Action, Loading, Problem, mark, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, write } from '../kit/write.js'

type EffectsWord = 'ask' | 'refuse'

const words: readonly (readonly [EffectsWord, string])[] = [
  ['ask', 'Calls with a side effect wait for an approval in the inbox'],
  ['refuse', 'Calls with a side effect are refused'],
]

export function ForkDialog({ thread, step, close }: { thread: string; step: number; close: () => void }): VNode {
  const [report, setReport] = useState<Crossing>()
  const [problem, setProblem] = useState<PageProblem>()
  const [effects, setEffects] = useState<EffectsWord>('ask')
  const path = pathTo`threads/${thread}/fork`
  const about = `fork ${thread}`
  const receipt = receipts.value[about]
  useKeys({ Escape: close })
  useEffect(() => {
    sendJson(path, { body: { at: { step }, dry: true } })
      .then(({ value }) => setReport(Object(value)))
      .catch((thrown: unknown) => setProblem(toPageProblem(thrown)))
  }, [path, step])
  const fork = async (): Promise<void> => {
    const done = await write({ about, what: 'forked', path, body: { at: { step }, effects } })
    const { thread: made }: { thread?: string } = Object(done?.value)
    if (made !== undefined) goTo(hrefOf(['compare', thread, made]))
  }
  return h(
    'section',
    { class: 'card fork', 'aria-label': `Fork after step ${step}` },
    h('h3', null, `Another thread with the past of this one up to step ${step}`),
    problem ? h(Problem, { problem }) : null,
    !report && !problem ? h(Loading, { what: 'what that crosses' }) : null,
    report ? h(Report, { report }) : null,
    h(
      'fieldset',
      { class: 'question' },
      h('legend', null, 'In the fork'),
      words.map(([word, label]) =>
        h(
          'label',
          { class: 'option', key: word },
          h('input', { type: 'radio', name: 'effects', checked: effects === word, onChange: () => setEffects(word) }),
          h('span', null, label),
        ),
      ),
    ),
    h(
      'div',
      { class: 'actions' },
      h(Action, { label: 'Fork', kind: 'primary', act: () => void fork(), blocked: writeBlocked.value }),
      h(Action, { label: 'Not now', act: close, keyHint: 'Esc' }),
      receipt ? h('span', { class: `receipt ${receipt.phase}`, role: 'status' }, receiptWords(receipt)) : null,
    ),
  )
}

function Report({ report: { effects, children, schedules, approvals } }: { report: Crossing }): VNode {
  const counts = [
    plural(children.length, 'child').replace('childs', 'children'),
    plural(approvals.length, 'approval'),
    plural(schedules.length, 'scheduled call'),
  ]
  return h(
    'div',
    null,
    effects.length === 0
      ? h('p', null, mark('check', 'ok'), ' Nothing was done to the world since.')
      : h(
          'div',
          null,
          h(
            'p',
            null,
            mark('diamond', 'unknown'),
            ` ${plural(effects.length, 'effect')} since then, which a fork may repeat:`,
          ),
          h(
            'ul',
            null,
            effects.map(({ key, tool, state, at, revert }) =>
              h(
                'li',
                { key },
                h('span', { class: 'tool-name' }, tool),
                ` ${state === 'unknown' ? 'may have happened' : 'happened'}, begun at ${dayAndTime(at)}`,
                revert ? h('span', { class: 'muted' }, ' · its tool can undo it') : null,
              ),
            ),
          ),
        ),
    h('p', { class: 'muted' }, `At that point: ${counts.join(' · ')}.`),
  )
}
