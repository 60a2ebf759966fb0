/** What can be done to a thread: stop its turn, pause, resume, raise its budget, end it for ever. Each is confirmed. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { pathTo } from '../kit/api.js'
import { useKeys } from '../kit/keys.js'
import { Action, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, write } from '../kit/write.js'
import { isOver } from '../store/below.js'
import type { PageRow } from '../store/tree-store.js'

interface Control {
  readonly name: string
  readonly label: string
  readonly asks: string
  readonly what: string
  readonly kind?: 'danger'
  readonly body: object
}

function controlsOf(row: PageRow): readonly Control[] {
  if (row.status === 'done' || row.status === 'terminated') return []
  const stop = {
    name: 'stop',
    label: 'Stop turn',
    asks: 'End the running turn? The thread takes further messages.',
    what: 'turn stopped',
    body: {},
  }
  const pause = {
    name: 'pause',
    label: 'Pause',
    asks: 'Start nothing more here and below, until it is resumed?',
    what: 'paused',
    body: { tree: true },
  }
  const resume = {
    name: 'resume',
    label: 'Resume',
    asks: 'Go on here and below?',
    what: 'resumed',
    body: { tree: true },
  }
  const budget = {
    name: 'budget',
    label: 'Raise budget',
    asks: 'Grant 100,000 more tokens and $1, and go on?',
    what: 'budget raised',
    body: { amounts: { tokens: 100_000, costUsd: 1 }, resume: true },
  }
  const end = {
    name: 'terminate',
    label: 'Terminate',
    asks: 'End this thread and all below it, for ever?',
    what: 'terminated',
    kind: 'danger' as const,
    body: {},
  }
  return [
    ...(isOver(row) || row.status === 'paused' ? [] : [stop]),
    ...(row.status === 'paused' || row.status === 'failed' ? [resume] : [pause]),
    ...(row.reason === 'budget_spent' ? [budget] : []),
    end,
  ]
}

export function ThreadControls({ row }: { row: PageRow }): VNode {
  const [chosen, choose] = useState<Control>()
  const confirm = useRef<HTMLButtonElement>(null)
  useEffect(() => confirm.current?.focus(), [chosen])
  useKeys(chosen ? { Escape: () => choose(undefined) } : {})
  const blocked = writeBlocked.value
  const about = `control ${row.thread}`
  const receipt = receipts.value[about]
  const act = ({ name, what, body }: Control): void => {
    choose(undefined)
    void write({ about, what, path: pathTo`threads/${row.thread}/${name}`, body })
  }
  if (chosen)
    return h(
      'div',
      { class: 'controls confirm', role: 'group', 'aria-label': chosen.label },
      h('span', null, chosen.asks),
      h(
        'button',
        {
          type: 'button',
          ref: confirm,
          class: `action ${chosen.kind ?? 'primary'}`,
          disabled: blocked !== undefined,
          onClick: () => act(chosen),
        },
        chosen.label,
        h('kbd', { 'aria-hidden': 'true' }, '↵'),
      ),
      h(Action, { label: 'Not now', act: () => choose(undefined), keyHint: 'Esc' }),
    )
  return h(
    'div',
    { class: 'controls' },
    receipt ? h('span', { class: `receipt ${receipt.phase}`, role: 'status' }, receiptWords(receipt)) : null,
    controlsOf(row).map((control) =>
      h(Action, {
        key: control.name,
        label: control.label,
        act: () => choose(control),
        kind: control.kind ?? 'plain',
        blocked,
      }),
    ),
  )
}
