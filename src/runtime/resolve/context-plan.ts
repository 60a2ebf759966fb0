/**
 * How a conversation that has become too long for its model is reduced (L3). Pure: from the state and the prompt.
 *
 * - The newest batch (the last reply and what followed it) is never touched, and half of what is to be left stays as
 *   it was. Long results before that become markers; if that is not enough, a summary stands for all of it.
 * - What is cut off begins and ends between two steps: calls and their results stay together (M2).
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import { charsOf, currentView, tokensIn } from '../../../actors/thread/turn/context.js'
import type { ContextView } from '../../../actors/thread/turn/context.js'
import { defined } from '../../core/defined.js'
import type { Failure } from '../../core/failure.js'
import type { ContextReduced, ContextSummary } from '../../core/records/context.js'
import type { Message } from '../../core/records/message.js'
import { stepRules } from '../../core/records/rules.js'
import type { ContextRule } from '../../core/records/rules.js'
import { summaryText, turnBegins, windowEntries, withoutLongResult } from './prompt-window.js'
import type { WindowOptions } from './prompt-window.js'

/** Characters of what was asked for that a summary repeats. */
const longestRequest = 4_096

export interface ContextPlan {
  readonly view: ContextView
  readonly rule: ContextRule
  /** The number of the first message that stays as it is; undefined where there is nothing before it. */
  readonly boundary: number | undefined
  /** Characters that are shown: of all, of what lies before the boundary, and of that with markers. */
  readonly chars: { readonly all: number; readonly before: number; readonly marked: number }
  /** What was asked for in this turn, as far as it would be summarised. */
  readonly request: string
}

interface Shown {
  readonly number: number
  readonly message: Message
  readonly isRequest: boolean
}

/** Undefined: nothing limits what is read now. */
export function planReduction(state: ThreadState, options: WindowOptions): ContextPlan | undefined {
  const view = currentView(state)
  const rule = state.turn && stepRules(state.turn).context
  if (!view || !rule) return undefined
  const shown = windowEntries(state, options).flatMap(({ number, message, shown: seen }): readonly Shown[] => {
    if (!seen) return []
    const isRequest = seen.role === 'user' && message.side === undefined && !message.silent
    return [{ number, message: seen, isRequest }]
  })
  const first = firstToStay(shown, rule.target / 2 / view.tokensPerChar, view.archived)
  const before = shown.slice(0, first)
  const summarised = view.summary ? charsOfSummary(view.summary.text) : 0
  return {
    view,
    rule,
    boundary: first > 0 ? shown[first]?.number : undefined,
    chars: {
      all: summarised + sum(shown.map(({ message }) => charsOf(message))),
      before: summarised + sum(before.map(({ message }) => charsOf(message))),
      marked: summarised + sum(before.map(({ message }) => charsOf(withoutLongResult(message)))),
    },
    request: requestIn(state, view, before),
  }
}

/**
 * The index of the first message that stays as it is. `room`: characters that may; `archived`: what comes before this
 * number was archived (CX1: never taken back, though there may be room for markers that were long results).
 */
function firstToStay(shown: readonly Shown[], room: number, archived: number): number {
  let first = Math.max(
    0,
    shown.findLastIndex(({ message }) => message.role === 'assistant'),
  )
  let kept = sum(shown.slice(first).map(({ message }) => charsOf(message)))
  for (let index = first - 1; index >= 0; index--) {
    const entry = shown[index]
    kept += charsOf(entry?.message)
    if (!entry || kept > room || entry.number < archived) break
    if (entry.message.role !== 'tool') first = index
  }
  return first
}

function requestIn(state: ThreadState, { summary }: ContextView, before: readonly Shown[]): string {
  const from = turnBegins(state)
  const known = summary && summary.before > from ? summary.text.slice(0, summary.request) : ''
  const texts = before.filter(({ number, isRequest }) => isRequest && number >= from).map(({ message }) => message.text)
  const begun = known === '' && texts.length > 0 ? 'The request: ' : known
  return cut(
    [...(known === '' ? [] : [begun]), (known === '' ? begun : '') + texts.join('\n\n')].filter(Boolean).join('\n\n'),
  )
}

/** Does not end in the middle of a surrogate pair. */
function cut(text: string): string {
  if (text.length <= longestRequest) return text
  const last = text.charCodeAt(longestRequest - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? longestRequest - 1 : longestRequest)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}

function charsOfSummary(text: string): number {
  return summaryText(text).length
}

/** Whether markers alone leave too much, and a summary would free enough to be worth its request. */
export function wantsSummary({ view, rule, chars }: ContextPlan): boolean {
  const { trigger, target } = rule
  const freed = chars.before * view.tokensPerChar
  return sizeAfter({ view, chars }, chars.before - chars.marked) > target && freed >= (trigger - target) / 4
}

/** Tokens that are left when so many characters are freed. */
function sizeAfter({ view, chars }: Pick<ContextPlan, 'view' | 'chars'>, freed: number): number {
  const { tokensPerChar } = view
  return Math.round(Math.max(tokensIn(view) - freed * tokensPerChar, (chars.all - freed) * tokensPerChar))
}

export interface Summarised {
  readonly summary?: Pick<ContextSummary, 'text' | 'model' | 'usage'>
  readonly failure?: Failure
}

/** The reduction as it is recorded. */
export function reductionOf(
  plan: ContextPlan,
  step: number,
  { summary, failure }: Summarised,
): Omit<ContextReduced, 'type'> {
  const { rule, boundary, chars, request } = plan
  const { of, trigger, target } = rule
  const text = summary && [request, summary.text].filter((part) => part !== '').join('\n\n')
  const freed = text === undefined ? chars.before - chars.marked : chars.before - charsOfSummary(text)
  const size = sizeAfter(plan, boundary === undefined ? 0 : freed)
  return {
    step,
    of,
    ...defined({ archived: boundary }),
    ...(summary &&
      text !== undefined &&
      boundary !== undefined && { summary: { ...summary, text, before: boundary, request: request.length } }),
    size,
    next: Math.max(trigger, Math.round(size + (trigger - target) / 2)),
    ...defined({ failure }),
  }
}
