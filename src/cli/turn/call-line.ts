/** What happens to a call, and who speaks, in the words that all views of a turn share. */
import type { Message } from '../../index.js'
import type { CallChange, ShownCall, ShownHoldReason } from './calls.js'
import { duration, failureLine, oneLine, preview } from '../format.js'
import type { CliOutput } from '../output.js'
import { label } from '../visible.js'

const needs: Readonly<Record<ShownHoldReason, string>> = {
  approval: 'approval',
  person: 'an answer',
  variables: 'variables',
  children: 'its children',
}

export function waitsFor(why: ShownHoldReason, missing: readonly string[] = []): string {
  return `waits for ${needs[why]}${missing.length > 0 ? ` ${label(missing.join(', '))}` : ''}`
}

/** A call that undoes another one says so. */
export function callName({ tool, reverts }: ShownCall): string {
  return reverts === undefined ? label(tool) : `${label(tool)} reverts ${reverts}`
}

/** Undefined where there is nothing to tell. `details` follow the name of a call that is answered. */
export function callLine(paint: CliOutput['paint'], change: CallChange, details: string): string | undefined {
  const { state, call } = change
  const tool = callName(call)
  const by = 'by' in change && change.by !== undefined ? ` by ${oneLine(change.by, 100)}` : ''
  switch (state) {
    case 'asked':
      return `→ ${tool} ${paint('dim', preview(call.args, 200))}`
    case 'held':
      return (
        `${paint('yellow', '‖')} ${tool} ` +
        `${paint('yellow', waitsFor(change.why, change.missing))}${colonText(change.prompt)}`
      )
    case 'freed':
      return (
        `→ ${tool} ${change.how}${by}` +
        `${change.edited ? ` with other args ${paint('dim', preview(call.args, 200))}` : ''}`
      )
    case 'denied':
      return `${paint('red', '✗')} ${tool} ${paint('red', `denied${by}${colonText(change.comment)}`)}`
    case 'again':
      return `${paint('yellow', '↻')} ${tool} runs again: what it read has changed`
    case 'returned':
      return undefined
    case 'answered': {
      const { outcome } = change
      if (outcome.ok) return `${paint('green', '✓')} ${tool} ${details}`.trimEnd()
      return (
        `${paint('red', '✗')} ${tool} ` +
        `${details === '' ? '' : `${details} `}${paint('red', failureLine(outcome.failure))}`
      )
    }
  }
}

/** How long the call took, or why it took no time. */
export function durationOf({ tookMs, cached }: Extract<CallChange, { state: 'answered' }>): string {
  if (cached) return 'cached'
  return tookMs === undefined ? '' : duration(tookMs)
}

function colonText(text: string | undefined): string {
  return text === undefined || text.trim() === '' ? '' : `: ${oneLine(text, 500)}`
}

/** Undefined where there is one speaker only, and nobody gave it a name. */
export function speakerOf({ side, label: name }: Pick<Message, 'side' | 'label'>): string | undefined {
  return name === undefined ? side && `side ${side.toUpperCase()}` : oneLine(name, 100)
}
