/**
 * Work that a thread's state waits for, and what came of it.
 *
 * - An effect's key names it for ever within its thread: it is the idempotency key, the dedup id and the
 *   trace span id. Steps never go back, so a key is never reused.
 */
import type { Failure } from './failure.js'
import type { Json } from './json.js'
import type { Scheduled } from './records/schedule.js'

export interface ModelEffect {
  readonly kind: 'model'
  readonly key: string
  readonly step: number
}

export interface CallEffect {
  readonly kind: 'call'
  readonly key: string
  readonly step: number
  readonly index: number
  /** What it read the first time had changed. */
  readonly again?: true
}

/** An absolute instant at which the thread must be told that time is up. */
export interface DeadlineEffect {
  readonly kind: 'deadline'
  readonly key: string
  readonly at: number
}

/** A call that is to be queued when its time has come. */
export interface ScheduleEffect {
  readonly kind: 'schedule'
  readonly key: string
  readonly scheduled: Scheduled
}

/** The tree of this root is to be removed. */
export interface RemovalEffect {
  readonly kind: 'removal'
  readonly key: 'removal'
}

export type Effect = ModelEffect | CallEffect | DeadlineEffect | ScheduleEffect | RemovalEffect

export type Outcome =
  /** `whole`: the value was too long to be kept in the journal; this is its beginning as text, the whole is a blob. */
  | { readonly ok: true; readonly value: Json; readonly whole?: { readonly hash: string; readonly size: number } }
  | { readonly ok: false; readonly failure: Failure }

export const modelKey = (step: number): string => `step/${step}/model`
export const callKey = (step: number, index: number): string => `step/${step}/call/${index}`
export const callDeadlineKey = (step: number, index: number): string => `deadline/call/${step}/${index}`
export const scheduleKey = (id: string): string => `schedule/${id}`
export const turnDeadlineKey = (run: string): string => `deadline/turn/${run}`
