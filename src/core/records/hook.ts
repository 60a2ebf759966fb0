/**
 * Records of hooks: what the functions of an app decided between two records (K3). Where a record is made anyway (a
 * message, a reply, a call) the decision is part of that record, and only who was asked is told.
 */
import type { Outcome } from '../effect.js'
import type { Failure } from '../failure.js'

/** A hook that was asked, and why its answer does not count, where it threw, was late or gave nonsense. */
export interface AskedHook {
  readonly hook: string
  readonly failure?: Failure
}

/** A message that a hook adds; `once`: the next request alone has it. */
export interface AddedMessage {
  readonly role: 'user' | 'system'
  readonly text: string
  readonly once?: true
}

/** Where an effect of its own asks hooks: before a step, about the result of a call, before the turn ends. */
export type HookEffectPoint = 'step' | 'result' | 'stop'

export interface HookDecided {
  readonly type: 'hook.decided'
  readonly point: HookEffectPoint
  readonly run: string
  /** The step that is next; of a result and a stop: the last one. */
  readonly step: number
  /** Of a result: which call of the step. */
  readonly index?: number
  /** In order. Empty: a deploy has removed them. */
  readonly asked: readonly AskedHook[]
  /** Ids of messages that no model reads from this step on. */
  readonly hide?: readonly string[]
  readonly add?: readonly AddedMessage[]
  /** In place of the outcome of the call. */
  readonly outcome?: Outcome
  /** What the model reads of the result. */
  readonly text?: string
  /** The model reads that there was a result, and not which. */
  readonly dropped?: true
  /** The turn does not end: what the model is told. */
  readonly goOn?: string
  /** The turn ends. */
  readonly block?: { readonly reason: 'hook_blocked' | 'stop_when'; readonly detail: string }
}
