/**
 * Records: the durable facts of a thread, in the past tense. The journal is a list of them and the only
 * source of a thread's state.
 *
 * RE1 A record holds everything the fold needs: what a definition decided (a refused call, a stop rule,
 *     a deadline) is written here, so a deploy cannot make a replay diverge.
 * RE2 `recordVersion` goes up when the meaning of an old record would change; `upcast` in
 *     src/runtime/journal.ts lifts older ones, newer ones are refused.
 * RE3 `by` is the id of the command that caused the record; it is how a repeated command is known.
 */
import type { Outcome } from './effect.js'
import type { Failure } from './failure.js'
import type { Json } from './json.js'
import type { Usage } from './usage.js'

export const recordVersion = 1

export type StopReason =
  | 'completed'
  | 'empty_reply'
  | 'max_steps'
  | 'deadline'
  | 'cancelled'
  | 'failed'
  | 'terminated'

export type HoldReason = 'approval' | 'person' | 'variables' | 'children'

/** How a message meets a busy thread: at its next step, or as a turn of its own after this one. */
export type Delivery = 'steer' | 'new_turn'

export interface RecordedCall {
  readonly tool: string
  readonly args: Json
  /** The call cannot run (unknown tool, bad args): this is its result. */
  readonly refused?: Failure
  /** The tool said `sideEffect: true`: it runs alone, after the calls before it, and only when its intent is durable. */
  readonly sideEffect?: true
}

export interface ThreadCreated {
  readonly type: 'thread.created'
  readonly agent: string
  readonly tags: readonly string[]
  readonly parent?: string
  /** Ids from the root down to this thread. */
  readonly path: readonly string[]
}

export interface MessageReceived {
  readonly type: 'message.received'
  readonly id: string
  readonly text: string
  readonly role: 'user' | 'system' | 'assistant'
  /** The turn it belongs to; absent when it was only stored. */
  readonly run?: string
  readonly delivery: Delivery | 'store'
  readonly silent?: true
}

export interface TurnStarted {
  readonly type: 'turn.started'
  readonly run: string
  readonly deadlineAt?: number
}

export interface ModelReplied {
  readonly type: 'model.replied'
  readonly step: number
  readonly model: string
  readonly text: string
  readonly reasoning?: string
  readonly calls: readonly RecordedCall[]
  readonly usage: Usage
  readonly finish: string
  /** Decided by the agent's rules: the turn ends after these calls. */
  readonly stop?: StopReason
}

/** The intent of a call with a side effect: durable before its body starts. Its receipt is `call.returned`. */
export interface CallBegan {
  readonly type: 'call.began'
  readonly step: number
  readonly index: number
}

export interface CallReturned {
  readonly type: 'call.returned'
  readonly step: number
  readonly index: number
  readonly tool: string
  readonly outcome: Outcome
}

/** The call waits for someone; it holds no worker and no model. */
export interface CallHeld {
  readonly type: 'call.held'
  readonly step: number
  readonly index: number
  readonly why: HoldReason
}

export interface TurnEnded {
  readonly type: 'turn.ended'
  readonly run: string
  readonly reason: StopReason
  readonly detail?: string
  readonly failure?: Failure
}

export interface ThreadPaused {
  readonly type: 'thread.paused'
  readonly reason?: string
}

export interface ThreadResumed {
  readonly type: 'thread.resumed'
}

/** The agent's work is complete; the thread takes no more messages. */
export interface ThreadEnded {
  readonly type: 'thread.ended'
}

export interface ThreadTerminated {
  readonly type: 'thread.terminated'
  readonly reason?: string
}

export type Fact =
  | ThreadCreated
  | MessageReceived
  | TurnStarted
  | ModelReplied
  | CallBegan
  | CallReturned
  | CallHeld
  | TurnEnded
  | ThreadPaused
  | ThreadResumed
  | ThreadEnded
  | ThreadTerminated

/** A fact in its place: numbered from 1 without gaps within its thread. */
export type ThreadRecord = Fact & { readonly seq: number; readonly at: number; readonly by?: string }

export type RecordType = Fact['type']
