/**
 * A thread's state: plain data, changed only by `fold`. The transcript and the slots are append-only and are
 * changed in place, never copied: a step costs the same at the first and at the ten-thousandth message.
 *
 * TS1 State is a function of the records alone; it holds no clock, no definition, no live object.
 * TS2 `wants` changes whenever `outstanding(state)` may have changed other than by the landing of a call, so
 *     that a runtime compares effects only then.
 * TS3 A step number is used once: a step that was asked and never answered is spent when its turn ends.
 */
import type { Message } from '../../src/core/message.js'
import type { Delivery, StopReason } from '../../src/core/record.js'
import type { Failure } from '../../src/core/failure.js'
import { noUsage } from '../../src/core/usage.js'
import type { Usage } from '../../src/core/usage.js'
import { placeAt } from './place.js'
import type { Place } from './place.js'
import { createSlots } from './slots.js'
import type { Slots } from './slots.js'

export interface Turn {
  readonly run: string
  readonly startedAt: number
  readonly deadlineAt?: number
  /** Model replies of this turn. */
  steps: number
  usage: Usage
  /** Set by a last reply: the turn ends when its calls are answered. */
  stop?: StopReason
}

export interface EndedTurn {
  readonly run: string
  readonly reason: StopReason
  readonly failure?: Failure
}

export interface Queued {
  readonly message: Message
  readonly delivery: Delivery | 'store'
}

/** A command that was accepted, as long as a repetition must be recognised. */
export interface Accepted {
  readonly seq: number
  readonly at: number
  readonly run?: string
}

export interface Transcript {
  /** Messages before `items` that were not loaded; 0 unless the state came from a snapshot. */
  skipped: number
  items: Message[]
}

export interface ThreadState {
  readonly id: string
  place: Place
  seq: number
  wants: number
  agent: string
  parent?: string
  path: readonly string[]
  tags: readonly string[]
  createdAt: number
  updatedAt: number
  /** Steps begun; the one in work while acting. */
  step: number
  turn?: Turn
  lastTurn?: EndedTurn
  slots: Slots
  queue: Queued[]
  accepted: Map<string, Accepted>
  usage: Usage
  transcript: Transcript
}

export function createState(id: string): ThreadState {
  return {
    id,
    place: placeAt('open', 'fresh'),
    seq: 0,
    wants: 0,
    agent: '',
    path: [id],
    tags: [],
    createdAt: 0,
    updatedAt: 0,
    step: 0,
    slots: createSlots([]),
    queue: [],
    accepted: new Map(),
    usage: noUsage,
    transcript: { skipped: 0, items: [] },
  }
}

export type Status = 'created' | 'idle' | 'thinking' | 'acting' | 'waiting' | 'paused' | 'failed' | 'done' | 'terminated'

export function statusOf({ place }: Pick<ThreadState, 'place'>): Status {
  if (place.work === 'done' || place.work === 'terminated') return place.work
  if (place.gate === 'paused') return 'paused'
  if (place.work.startsWith('waiting.')) return 'waiting'
  return place.work === 'fresh' ? 'created' : (place.work as Status)
}

/** The thread takes no more messages. */
export function isOver({ place }: Pick<ThreadState, 'place'>): boolean {
  return place.work === 'done' || place.work === 'terminated'
}
