/**
 * Contexts in the fold: how long a conversation is for its model, by view, and what of it was archived or summarised
 * (L3). Pure; the size follows from what models report and from the characters that were added since.
 *
 * CX1 A reduction is one number for results and one for the summary: nothing here grows with the history.
 * CX2 A view is looked at where its tokens reach `next`, and `next` lies above what a reduction left: what cannot be
 *     reduced is not tried at every step.
 * - Tokens for each character are learned from the difference of two reports, so that neither the system prompt nor
 *   the tools, nor what a view leaves out, are taken for words. Until then 4 characters are a token.
 */
import type { ContextReduced, ContextSummary } from '../../../src/core/records/context.js'
import { partsOf } from '../../../src/core/records/context.js'
import type { Message } from '../../../src/core/records/message.js'
import { stepRules } from '../../../src/core/records/rules.js'
import type { ContextRule, TurnRules } from '../../../src/core/records/rules.js'
import { addUsage } from '../../../src/core/usage.js'
import type { Usage } from '../../../src/core/usage.js'
import { withEntry } from '../../../src/core/lists.js'
import { spend } from '../budget/usage.js'
import { stopAtLimit } from '../decide/limits.js'
import { forgoLastAnswer } from './last-answer.js'
import type { ThreadState } from '../state.js'

/** A view of the conversation. */
export interface ContextView {
  /** The last turn that it was used in. */
  run: string
  /** Of the rule that it was last used with. */
  trigger: number
  /** Tokens when they were last known, and characters since. */
  size: number
  grown: number
  tokensPerChar: number
  /** The first report since `size` was set by a reduction, and characters from there to the last report. */
  gauge?: { readonly size: number; readonly chars: number }
  /** Tokens at which it is looked at. */
  next: number
  /** The step before which it was last reduced: once for each (OU1: a finished effect is never wanted again). */
  reducedFor?: number
  /** Long results in messages before this one are shown as markers. */
  archived: number
  summary?: Pick<ContextSummary, 'before' | 'text' | 'request'> & { readonly at: number }
}

const defaultTokensPerChar = 1 / 4
/** Below this a difference says more about the form of a request than about its words. */
const leastGauged = 2_000
const charsOfMedia = 6_000

export function openViews(state: ThreadState, rules: TurnRules | undefined): void {
  openView(state, rules?.a.context)
  openView(state, rules?.b?.context)
}

/** A turn begins, or an agent takes over, that has this rule. */
export function openView(state: ThreadState, rule: ContextRule | undefined): void {
  const { turn } = state
  if (!rule || !turn) return
  const { chat, tools } = partsOf(rule.of)
  // What was said before anything limited it is read, too.
  const view = state.contexts[rule.of] ?? newView(rule.trigger, chat && tools ? state.said : 0)
  state.contexts = withEntry(state.contexts, rule.of, view)
  if (view.trigger !== rule.trigger) {
    view.trigger = rule.trigger
    view.next = rule.trigger
  }
  // It now leaves out something of the turn before: how much, the next report says.
  if (view.run !== turn.run && !(chat && tools)) measure(view, 0)
  view.run = turn.run
}

function newView(trigger: number, grown: number): ContextView {
  return { run: '', trigger, size: 0, grown, tokensPerChar: defaultTokensPerChar, next: trigger, archived: 0 }
}

function measure(view: ContextView, size: number): void {
  view.size = size
  view.grown = 0
  delete view.gauge
}

/** The view of the side that speaks next; undefined where nothing limits it. */
export function currentView({ turn, contexts }: ThreadState): ContextView | undefined {
  const rule = turn && stepRules(turn).context
  return rule && contexts[rule.of]
}

/** To be called after every record; `known`: messages before it. */
export function noteGrowth(state: ThreadState, known: number): void {
  const { transcript, contexts } = state
  const { items } = transcript
  if (items.length === known) return
  for (let index = known; index < items.length; index++) state.said += charsOf(items[index])
  for (const of in contexts) {
    const view = contexts[of]
    if (view) for (let index = known; index < items.length; index++) view.grown += charsFor(of, items[index])
  }
}

/** Of the other side a view reads the words alone (S11). */
function charsFor(of: string, message: Message | undefined): number {
  if (message?.side === undefined || of.startsWith(message.side)) return charsOf(message)
  return message.role === 'tool' ? 0 : message.text.length
}

/** About how many characters a model reads of it. */
export function charsOf(message: Message | undefined): number {
  if (!message) return 0
  const { text, calls, media, kept } = message
  let chars = text.length
  for (const { tool, args } of calls ?? []) chars += tool.length + JSON.stringify(args).length
  if (kept) chars += JSON.stringify(kept.parts).length
  return chars + (media?.length ?? 0) * charsOfMedia
}

/** A reply tells how long its request was. To be called before the reply itself is added. */
export function noteRequestSize(state: ThreadState, { inputTokens }: Usage): void {
  const view = currentView(state)
  if (!view || inputTokens <= 0) return
  const { gauge, grown } = view
  // What was taken for more than it is raised `next` too far.
  view.next = Math.max(view.trigger, view.next - Math.max(0, Math.round(tokensIn(view)) - inputTokens))
  if (!gauge || inputTokens < gauge.size) view.gauge = { size: inputTokens, chars: 0 }
  else {
    const chars = gauge.chars + grown
    if (chars >= leastGauged) view.tokensPerChar = within((inputTokens - gauge.size) / chars, 0.1, 2)
    view.gauge = { size: gauge.size, chars }
  }
  view.size = inputTokens
  view.grown = 0
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

/** About how many tokens the next request would have. */
export function tokensIn({ size, grown, tokensPerChar }: ContextView): number {
  return size + grown * tokensPerChar
}

/** Whether the conversation is to be reduced before its model is asked. */
export function isTooLong(state: ThreadState): boolean {
  const view = currentView(state)
  return view !== undefined && view.reducedFor !== state.step + 1 && tokensIn(view) >= view.next
}

export function reduceContext(state: ThreadState, record: ContextReduced & { readonly at: number }): boolean {
  const { turn, contexts } = state
  const view = contexts[record.of]
  if (!turn || !view || record.step !== state.step + 1) return false
  const { archived, summary, size, next } = record
  measure(view, size)
  view.next = next
  view.reducedFor = record.step
  if (archived !== undefined) view.archived = archived
  if (summary) {
    const { before, text, request, model, usage } = summary
    view.summary = { before, text, request, at: record.at }
    turn.usage = addUsage(turn.usage, usage)
    spend(state, { model, usage, calls: [] })
    stopAtLimit(state)
    forgoLastAnswer(state)
  }
  return true
}

/** The first message that a model may still be shown as it is: those before are in a summary of every view in use. */
export function boundaryOf({ turn, lastTurn, contexts }: ThreadState): number {
  const run = turn?.run ?? lastTurn?.run
  const used = Object.values(contexts).filter((view) => view.run === run)
  return used.length === 0 ? 0 : Math.min(...used.map(({ summary }) => summary?.before ?? 0))
}
