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
import type { Changes, Reads } from './change.js'
import type { Outcome } from './effect.js'
import type { Failure } from './failure.js'
import type { Json } from './json.js'
import type { FrozenTree } from './tree.js'
import type { Usage } from './usage.js'

export const recordVersion = 2

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

/** What the tool's definition says about running it often; decided in call order (T5–T7). */
export interface CallPolicy {
  /** Equal keys in one run are equal calls. */
  readonly cacheKey?: string
  readonly cacheTtlMs?: number
  /** Successes in one run. */
  readonly maxExecutions?: number
  /** Failed calls in a row after which it is not run any more in this run. */
  readonly breaker?: number
}

/** What a call waits for, and what whoever decides is shown. */
export interface Hold {
  readonly why: HoldReason
  readonly prompt?: string
  readonly defaults?: Json
  /** How long it waits, and what is decided then. */
  readonly deadlineMs?: number
  readonly atDeadline?: 'approve' | 'reject'
}

/** A call that another thread answers. */
export interface ChildCall {
  /** The thread: a new one (`create`), or one that was made before. */
  readonly thread: string
  readonly create?: true
  readonly agent: string
  /** What the model calls it. */
  readonly reference: string
  readonly name?: string
  readonly text: string
  /** Paths of this thread's files that it is given. */
  readonly attachments?: readonly string[]
  /** The call waits for the answer; else it is answered at once, and the child reports later. */
  readonly blocking: boolean
  /** The child stays for further messages. */
  readonly lasting: boolean
  /** `explicit`: it reports only when it says so itself. */
  readonly reports: 'implicit' | 'explicit'
  /** The child works on a copy of this thread's files, which is merged when it reports. */
  readonly files?: 'fork'
  /** Children of this thread that may be at work at once; more wait in line. */
  readonly maxParallel: number
}

export interface RecordedCall {
  readonly tool: string
  readonly args: Json
  /** The call cannot run (unknown tool, bad args): this is its result. */
  readonly refused?: Failure
  /** Nothing is to be run: its args are its result (`response`). */
  readonly answered?: Json
  /** The tool said `sideEffect: true`: it runs only when its intent is durable, alone and after the calls before it, unless it commutes. */
  readonly sideEffect?: true
  readonly commutes?: true
  /** The tool said `sideEffect: false`: it may run before its turn, and once more when what it read was changed. */
  readonly ahead?: true
  /** It reads a context without waiting, so it starts at its turn. */
  readonly inTurn?: true
  readonly policy?: CallPolicy
  /** It waits for someone from the beginning. */
  readonly hold?: Hold
  readonly child?: ChildCall
}

export interface ThreadCreated {
  readonly type: 'thread.created'
  readonly agent: string
  readonly tags: readonly string[]
  readonly parent?: string
  /** Ids from the root down to this thread. */
  readonly path: readonly string[]
  /** What it begins with. */
  readonly changes?: Changes
  /** Of a child: what its parent calls it, and whether it stays after its first answer. */
  readonly child?: { readonly reference: string; readonly lasting: boolean; readonly forked?: true }
  /** The files that it begins with: a copy of its parent's. */
  readonly tree?: FrozenTree
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
  /** Files that came with it: a directory of them, put into `/attachments`. */
  readonly attachments?: FrozenTree
  /** The thread that wants to hear how the turn ended, and the call there that waits for it. */
  readonly replyTo?: ReplyTo
}

export interface ReplyTo {
  readonly thread: string
  readonly call?: string
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

/** The intent is taken back: the host has stopped, and the body had not started. */
export interface CallUnbegun {
  readonly type: 'call.unbegun'
  readonly step: number
  readonly index: number
}

/** What a call says besides its outcome; it counts when the call is settled. */
export interface Landed {
  readonly outcome: Outcome
  /** It saw or changed its thread, or has a policy: it counts only when `call.settled` says so. */
  readonly provisional?: true
  /** Of the second run, after the first was found stale. */
  readonly again?: true
  /** What the model reads of it, where the tool says. */
  readonly text?: string
  readonly reads?: Reads
  readonly changes?: Changes
  /** What the thread's files may hold; fixed when the call returned. */
  readonly quotaBytes?: number
  /** Calls to be made after those of this step. */
  readonly queued?: readonly RecordedCall[]
  readonly messages?: readonly { readonly text: string; readonly silent?: true }[]
  /** All events of a generator. */
  readonly preliminaries?: readonly Json[]
}

/** The body has ended. */
export interface CallReturned extends Landed {
  readonly type: 'call.returned'
  readonly step: number
  readonly index: number
  readonly tool: string
}

/**
 * Its turn came: all calls before it are settled. `kept`: its outcome and changes count. `stale`: what it read has changed
 * since, it runs again. Anything else: `outcome` stands in place of what it gave, or would have given.
 */
export interface CallSettled {
  readonly type: 'call.settled'
  readonly step: number
  readonly index: number
  readonly verdict: 'kept' | 'stale' | 'cached' | 'skipped' | 'broken' | 'full'
  readonly outcome?: Outcome
  readonly text?: string
}

/** The call waits for someone; it holds no worker and no model. */
export interface CallHeld {
  readonly type: 'call.held'
  readonly step: number
  readonly index: number
  readonly why: HoldReason
  readonly prompt?: string
}

/** Its body has come to a point where it needs its turn, which can only come when someone has decided about a call before it. */
export interface CallParked {
  readonly type: 'call.parked'
  readonly step: number
  readonly index: number
}

/** Someone (or the deadline) decided about a call that waited for approval. */
export interface CallDecided {
  readonly type: 'call.decided'
  readonly step: number
  readonly index: number
  readonly decision: 'approve' | 'reject'
  /** With other args: the call as it is made now. */
  readonly call?: RecordedCall
  readonly comment?: string
  readonly decidedBy?: string
}

/** Someone gave the output of a call that waited for a person; the tool makes its result of it. */
export interface CallAnswered {
  readonly type: 'call.answered'
  readonly step: number
  readonly index: number
  readonly output: Json
  readonly answeredBy?: string
}

/** A call that no model asked for; it is made when the calls of the step are done. */
export interface CallQueued {
  readonly type: 'call.queued'
  readonly call: RecordedCall
  /** The turn that it joins or starts. */
  readonly run: string
}

/** A step without a model: the queued calls are made. */
export interface CallsMade {
  readonly type: 'calls.made'
  readonly step: number
  readonly calls: readonly RecordedCall[]
  readonly stop?: StopReason
}

/** The child of this call was created or spoken to: the mail goes out with this record. */
export interface ChildCalled {
  readonly type: 'child.called'
  readonly step: number
  readonly index: number
  /** What goes with the message: a directory of it. */
  readonly attachments?: FrozenTree
  /** It was not called after all. */
  readonly refused?: Failure
}

/** A child says how its turn ended. With a call: that is its result. */
export interface ChildReported {
  readonly type: 'child.reported'
  readonly child: string
  readonly reference: string
  readonly outcome: Outcome
  readonly call?: string
  /** It takes no more messages. */
  readonly over?: true
  /** Its files at the end, where they are a copy of its parent's. */
  readonly tree?: FrozenTree
}

/** Children are told to end what nobody waits for any more: the mail goes out with this record. */
export interface ChildrenStopped {
  readonly type: 'children.stopped'
  readonly children: readonly string[]
  readonly how: 'cancel' | 'terminate'
  readonly reason: string
}

/** This thread has told whoever asked how its turn ended: the mail goes out with this record. */
export interface ReportSent {
  readonly type: 'report.sent'
  readonly run: string
  readonly to: readonly ReplyTo[]
  readonly outcome: Outcome
  readonly over?: true
}

/** Files or values were changed from outside. */
export interface ThreadChanged {
  readonly type: 'thread.changed'
  readonly changes: Changes
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
  | CallUnbegun
  | CallReturned
  | CallSettled
  | CallHeld
  | CallParked
  | CallDecided
  | CallAnswered
  | CallQueued
  | CallsMade
  | ChildCalled
  | ChildReported
  | ChildrenStopped
  | ReportSent
  | ThreadChanged
  | TurnEnded
  | ThreadPaused
  | ThreadResumed
  | ThreadEnded
  | ThreadTerminated

/** A fact in its place: numbered from 1 without gaps within its thread. */
export type ThreadRecord = Fact & { readonly seq: number; readonly at: number; readonly by?: string }

export type RecordType = Fact['type']
