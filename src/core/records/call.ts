/**
 * Records about calls: how a call is asked for, what becomes of it on its way, and the outcome that counts.
 */
import type { Changes, Reads } from './change.js'
import type { Outcome } from '../effect.js'
import type { Failure } from '../failure.js'
import type { Json } from '../json.js'
import type { Media } from '../media.js'
import type { SideName } from './message.js'
import type { ChildCall, Deferred, OutgoingMessage } from './child.js'
import type { SessionRole } from './session.js'

export type StopReason =
  | 'completed'
  | 'empty_reply'
  /** The last reply was cut at its limit, withheld by the provider's filter, or paused by the provider. */
  | 'reply_cut'
  | 'reply_filtered'
  | 'reply_paused'
  | 'max_steps'
  | 'max_tool_calls'
  | 'max_tokens'
  | 'max_cost'
  | 'budget_spent'
  | 'max_session_turns'
  | 'session_stopped'
  | 'session_failed'
  | 'deadline'
  | 'cancelled'
  | 'failed'
  | 'terminated'

export type HoldReason = 'approval' | 'person' | 'variables' | 'children'

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
  /** Variables that have no value. */
  readonly missing?: readonly string[]
  readonly prompt?: string
  readonly defaults?: Json
  /** How long it waits, and what is decided then. */
  readonly deadlineMs?: number
  readonly atDeadline?: 'approve' | 'reject'
}

export interface RecordedCall {
  readonly tool: string
  readonly args: Json
  /** The call cannot run (unknown tool, bad args): this is its result. */
  readonly refused?: Failure
  /** Nothing is to be run: its args are its result (`response`). */
  readonly answered?: Json
  /**
   * The tool said `sideEffect: true`: it runs only when its intent is durable, alone and after the calls before it,
   * unless it commutes.
   */
  readonly sideEffect?: true
  readonly commutes?: true
  /** Doing it twice is doing it once. */
  readonly idempotent?: true
  /** Of one with a side effect: how long its body may take, all tries together. */
  readonly limitMs?: number
  /** The tool said `sideEffect: false`: it may run before its turn, and once more when what it read was changed. */
  readonly ahead?: true
  /** It reads a context without waiting, so it starts at its turn. */
  readonly inTurn?: true
  readonly policy?: CallPolicy
  /** Variables that must have a value before it runs. */
  readonly needs?: readonly string[]
  /** It waits for someone from the beginning. */
  readonly hold?: Hold
  readonly child?: ChildCall
  /** Nothing is run: it is answered out of the thread's own state, at its turn. */
  readonly asks?: 'children'
  /** It was refused, and its child waits for values. */
  readonly deferred?: Deferred
  /** The agent that has the thread when the calls of this step are answered. */
  readonly handoff?: string
  /** What its success means for the turn. */
  readonly session?: SessionRole
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

/**
 * A call that was under way when its host died is tried again: how many hosts have had it to no end. One less than it
 * was: a host leaves it in good order, so that its try does not count.
 */
export interface CallTried {
  readonly type: 'call.tried'
  readonly step: number
  readonly index: number
  readonly tries: number
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
  /** What the model reads below it. */
  readonly note?: string
  /** What the model is shown with it. */
  readonly media?: readonly Media[]
  readonly reads?: Reads
  readonly changes?: Changes
  /** What the thread's files may hold; fixed when the call returned. */
  readonly quotaBytes?: number
  /** How many files, links and directories; absent: as many as there are. */
  readonly quotaNames?: number
  /** Calls to be made after those of this step. */
  readonly queued?: readonly RecordedCall[]
  readonly messages?: readonly { readonly text: string; readonly silent?: true }[]
  /** Files that go with the turn's answer. */
  readonly attached?: readonly string[]
  /** What it says to the parent of its thread. */
  readonly told?: readonly OutgoingMessage[]
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
 * Its turn came: all calls before it are settled. `kept`: its outcome and changes count. `stale`: what it read has
 * changed since, it runs again. Anything else: `outcome` stands in place of what it gave, or would have given.
 */
export interface CallSettled {
  readonly type: 'call.settled'
  readonly step: number
  readonly index: number
  readonly verdict: 'kept' | 'stale' | 'answered' | 'cached' | 'skipped' | 'broken' | 'full'
  readonly outcome?: Outcome
  readonly text?: string
  readonly media?: readonly Media[]
}

/** The call waits for someone; it holds no worker and no model. */
export interface CallHeld {
  readonly type: 'call.held'
  readonly step: number
  readonly index: number
  readonly why: HoldReason
  readonly missing?: readonly string[]
  readonly prompt?: string
}

/** The variables that the call waited for have values: it goes on. */
export interface CallFreed {
  readonly type: 'call.freed'
  readonly step: number
  readonly index: number
}

/**
 * Its body has come to a point where it needs its turn, which can only come when someone has decided about a call
 * before it.
 */
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
  /** It was scheduled by this id, and its time has come: the schedule is spent. */
  readonly schedule?: string
}

/** A step without a model: the queued calls are made. */
export interface CallsMade {
  readonly type: 'calls.made'
  readonly step: number
  readonly calls: readonly RecordedCall[]
  readonly stop?: StopReason
  /** Whose calls they are, where there are two sides. */
  readonly side?: SideName
  /** Children that begin by themselves: what is queued waits for the step after. */
  readonly immediate?: true
}
