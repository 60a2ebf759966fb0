/**
 * Effects: work that the state of a thread waits for, and its outcome.
 *
 * - The key of an effect is unique in its thread for good: it is the idempotency key, the deduplication id and the
 *   trace span id. Steps only grow, so a key is never reused.
 */
import type { Failure } from './failure.js'
import type { Json } from './json.js'
import type { HookEffectPoint } from './records/hook.js'
import type { Scheduled } from './records/schedule.js'

export interface ModelEffect {
  readonly kind: 'model'
  readonly key: string
  readonly step: number
}

/** The conversation is too long for its model: results are archived, and what was said is summarised. */
export interface ContextEffect {
  readonly kind: 'context'
  readonly key: string
  readonly step: number
}

export interface CallEffect {
  readonly kind: 'call'
  readonly key: string
  readonly step: number
  readonly index: number
  /** The second run: what the first run read has changed since. */
  readonly again?: true
}

/** An absolute time at which a deadline of the thread passes. */
export interface DeadlineEffect {
  readonly kind: 'deadline'
  readonly key: string
  readonly at: number
}

/** A scheduled call, which is queued when its time has come. */
export interface ScheduleEffect {
  readonly kind: 'schedule'
  readonly key: string
  readonly scheduled: Scheduled
}

/** Hooks are asked; what they decide is a record. */
export interface HookEffect {
  readonly kind: 'hook'
  readonly key: string
  readonly point: HookEffectPoint
  readonly step: number
  /** Of a result: which call of the step. */
  readonly index?: number
}

/** The removal of the whole tree of this root. */
export interface RemovalEffect {
  readonly kind: 'removal'
  readonly key: 'removal'
}

/** All that was to be undone is: the past that the thread goes back to is read. */
export interface RewindEffect {
  readonly kind: 'rewind'
  readonly key: string
  readonly to: number
}

/** The other threads of a forked tree are copied. */
export interface CopyEffect {
  readonly kind: 'copy'
  readonly key: 'copy'
}

export type Effect =
  | ModelEffect
  | ContextEffect
  | CallEffect
  | HookEffect
  | DeadlineEffect
  | ScheduleEffect
  | RemovalEffect
  | RewindEffect
  | CopyEffect

export type Outcome =
  /** `whole`: the value is too long for the journal, so it is cut to its beginning as text; the blob has all of it. */
  | { readonly ok: true; readonly value: Json; readonly whole?: { readonly hash: string; readonly size: number } }
  | { readonly ok: false; readonly failure: Failure }

/** A turn is no effect, but has a span like one. */
export const turnKey = (run: string): string => `turn/${run}`
/** Why an effect is aborted that its thread has no use for any more, whichever host has the thread. */
export const abandonReason = 'no longer wanted'

export const modelKey = (step: number): string => `step/${step}/model`
export const reductionKey = (step: number): string => `step/${step}/context`
export const callKey = (step: number, index: number): string => `step/${step}/call/${index}`
export const stepHookKey = (step: number): string => `hook/step/${step}`
export const resultHookKey = (step: number, index: number): string => `hook/step/${step}/call/${index}`
export const stopHookKey = (run: string, step: number): string => `hook/stop/${run}/${step}`
export const callDeadlineKey = (step: number, index: number): string => `deadline/call/${step}/${index}`
export const scheduleKey = (id: string): string => `schedule/${id}`
export const rewindKey = (run: string): string => `rewind/${run}`
export const turnDeadlineKey = (run: string): string => `deadline/turn/${run}`
