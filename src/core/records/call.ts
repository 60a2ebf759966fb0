/**
 * Records about calls: how a call is requested, what happens to it on its way, and the outcome that takes effect.
 */
import type { Changes, Reads } from './change.js'
import type { Outcome } from '../effect.js'
import type { Failure } from '../failure.js'
import type { Json } from '../json.js'
import type { Media } from '../media.js'
import type { SideName } from './message.js'
import type { ChildCall, Deferred, OutgoingMessage } from './child.js'
import type { SessionRole } from './session.js'
import type { Took } from './took.js'

export type StopReason =
  | 'completed'
  | 'empty_reply'
  /** The last reply was cut at its limit, withheld by the provider's filter, or paused by the provider. */
  | 'reply_cut'
  | 'reply_filtered'
  | 'reply_paused'
  | 'max_steps'
  | 'max_tool_calls'
  | 'max_tool_rounds'
  /** A stop condition of the prompt or of the message was met. */
  | 'stop_when'
  /** The same call was made too often. */
  | 'repetition'
  /** A hook ended the turn. */
  | 'hook_blocked'
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
  /** The thread went back to the middle of it. */
  | 'rewound'

export type HoldReason = 'approval' | 'person' | 'variables' | 'children'

/** Cache, limit and circuit breaker of the tool; decided in call order (T5–T7). */
export interface CallPolicy {
  /** Calls with equal keys in one run are equal. */
  readonly cacheKey?: string
  readonly cacheTtlMs?: number
  /** Successful executions in one run. */
  readonly maxExecutions?: number
  /** Failed calls in a row after which the tool is refused for the rest of the run. */
  readonly breaker?: number
}

/** Why a call is held, and what the approver is shown. */
export interface Hold {
  readonly why: HoldReason
  /** Variables without a value. */
  readonly missing?: readonly string[]
  readonly prompt?: string
  readonly defaults?: Json
  /** How long it waits, and the decision after that. */
  readonly deadlineMs?: number
  readonly atDeadline?: 'approve' | 'reject'
}

export interface RecordedCall {
  readonly tool: string
  readonly args: Json
  /** The call cannot run (unknown tool, bad args): this is its result. */
  readonly refused?: Failure
  /** Nothing is run: its args are its result (`response`). */
  readonly answered?: Json
  /**
   * The tool said `sideEffect: true`: it runs only when its intent is durable, alone and after the calls before it,
   * unless it commutes.
   */
  readonly sideEffect?: true
  readonly commutes?: true
  /** A repetition with the same key has no further effect. */
  readonly idempotent?: true
  /** With a side effect: how long its body may take, all attempts together. */
  readonly limitMs?: number
  /** The tool said `sideEffect: false`: it may run before its turn, and again if what it read has changed. */
  readonly ahead?: true
  /** It reads a context synchronously, so it starts at its turn. */
  readonly inTurn?: true
  /** Its result is always shown whole. */
  readonly whole?: true
  /** It is meant to be made again and again: repetition does not count it. */
  readonly repeats?: true
  readonly policy?: CallPolicy
  /** Variables that must have a value before it runs. */
  readonly needs?: readonly string[]
  /** It is held from the start. */
  readonly hold?: Hold
  readonly child?: ChildCall
  /** Nothing is run: it is answered from the state of the thread, at its turn. */
  readonly asks?: 'children'
  /** It was refused because its child waits for variables. */
  readonly deferred?: Deferred
  /** The agent that takes over the thread when the calls of this step are answered. */
  readonly handoff?: string
  /** The role of its success in the session. */
  readonly session?: SessionRole
  /**
   * With a side effect: its tool says how it is undone (`true`); or the call undoes another one, which was made at
   * this place.
   */
  readonly revert?: true | { readonly step: number; readonly index: number }
  /** Hooks are asked about its result, when that counts. */
  readonly after?: true
}

/** The intent of a call with a side effect: durable before its body starts. Its receipt is `call.returned`. */
export interface CallBegan {
  readonly type: 'call.began'
  readonly step: number
  readonly index: number
}

/** The intent is withdrawn: the host stopped before the body started. */
export interface CallUnbegun {
  readonly type: 'call.unbegun'
  readonly step: number
  readonly index: number
}

/**
 * A call that was running when its host died is run again: `tries` counts the hosts that did not finish it. A host that
 * stops in good order decreases it again, so that its try does not count.
 */
export interface CallTried {
  readonly type: 'call.tried'
  readonly step: number
  readonly index: number
  readonly tries: number
}

/** The outcome of a call with everything that takes effect when the call is settled. */
export interface Landed {
  readonly outcome: Outcome
  /** It read or changed its thread, or has a policy: it takes effect only with `call.settled`. */
  readonly provisional?: true
  /** The second run, after the first was stale. */
  readonly again?: true
  /** The text that the model reads, if the tool provides one (`toModelOutput`). */
  readonly text?: string
  /** A note that the model reads below it. */
  readonly note?: string
  /** Images and documents that the model is shown with it. */
  readonly media?: readonly Media[]
  readonly reads?: Reads
  readonly changes?: Changes
  /** The quota of the thread's files at the time the call returned. */
  readonly quotaBytes?: number
  /** The quota of files, links and directories; absent: unlimited. */
  readonly quotaNames?: number
  /** Calls that are queued after those of this step. */
  readonly queued?: readonly RecordedCall[]
  readonly messages?: readonly { readonly text: string; readonly silent?: true }[]
  /** Files that are attached to the answer of the turn. */
  readonly attached?: readonly string[]
  /** Messages to the parent of the thread. */
  readonly told?: readonly OutgoingMessage[]
  /** All events of a generator. */
  readonly preliminaries?: readonly Json[]
  readonly took?: Took
}

/** The body has ended. */
export interface CallReturned extends Landed {
  readonly type: 'call.returned'
  readonly step: number
  readonly index: number
  readonly tool: string
}

/**
 * Its turn came: all calls before it are settled. `kept`: its outcome and changes take effect. `stale`: what it read
 * has changed since, so it runs again. Any other verdict: `outcome` replaces its own.
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

/** The call waits for a decision, variables or children; it occupies neither a worker nor a model. */
export interface CallHeld {
  readonly type: 'call.held'
  readonly step: number
  readonly index: number
  readonly why: HoldReason
  readonly missing?: readonly string[]
  readonly prompt?: string
}

/** The variables that the call waited for have values: it continues. */
export interface CallFreed {
  readonly type: 'call.freed'
  readonly step: number
  readonly index: number
}

/** The body waits for its turn, which can only come after an earlier call that is held. */
export interface CallParked {
  readonly type: 'call.parked'
  readonly step: number
  readonly index: number
}

/** A person, or the deadline, decided about a call that waited for approval. */
export interface CallDecided {
  readonly type: 'call.decided'
  readonly step: number
  readonly index: number
  readonly decision: 'approve' | 'reject'
  /** The approver changed the args: the call as it is made now. */
  readonly call?: RecordedCall
  readonly comment?: string
  readonly decidedBy?: string
}

/** A person answered a call; the tool turns the output into its result. */
export interface CallAnswered {
  readonly type: 'call.answered'
  readonly step: number
  readonly index: number
  readonly output: Json
  readonly answeredBy?: string
}

/** A person found out what became of a call whose effect was unknown. Its model is told. */
export interface EffectResolved {
  readonly type: 'effect.resolved'
  readonly step: number
  readonly index: number
  readonly happened: boolean
  /** What it returned, as far as that is known. */
  readonly value?: Json
  readonly comment?: string
  readonly resolvedBy?: string
}

/** A call that no model requested; it is made after the calls of the step. */
export interface CallQueued {
  readonly type: 'call.queued'
  readonly call: RecordedCall
  /** The turn that it joins or starts. */
  readonly run: string
  /** The id of the schedule that it came from, which is removed. */
  readonly schedule?: string
}

/** A step without a model: the queued calls are made. */
export interface CallsMade {
  readonly type: 'calls.made'
  readonly step: number
  readonly calls: readonly RecordedCall[]
  readonly stop?: StopReason
  /** The side whose calls they are, if there are two sides. */
  readonly side?: SideName
  /** Calls of immediate children: queued calls wait for the next step. */
  readonly immediate?: true
}
