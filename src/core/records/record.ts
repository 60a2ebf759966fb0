/**
 * Records: the durable facts of a thread, in the past tense. The journal is a list of them and the only
 * source of a thread's state.
 *
 * - A record holds everything that the fold needs: what a definition decided (a refused call, a stop rule,
 *   a deadline) is written here, so that a new version of the app cannot make a replay diverge.
 * - `recordVersion` goes up when the meaning of an old record would change; `upcast` in
 *   src/runtime/journal/journal.ts converts older records, newer ones are refused.
 * - `by` is the id of the command that caused the record; a repeated command is recognised by it.
 */
import type { Amounts } from '../budget.js'
import type { Changes } from './change.js'
import type { Env, EnvChange } from '../env.js'
import type { Failure } from '../failure.js'
import type { Json } from '../json.js'
import type { ProviderParts } from './provider-parts.js'
import type { SideName } from './message.js'
import type {
  CallAnswered,
  CallBegan,
  CallDecided,
  CallFreed,
  CallHeld,
  CallParked,
  CallQueued,
  CallReturned,
  CallSettled,
  CallTried,
  CallUnbegun,
  CallsMade,
  EffectResolved,
  RecordedCall,
  StopReason,
} from './call.js'
import type {
  ChildBooted,
  ChildCalled,
  ChildReported,
  ChildRestarted,
  ChildTold,
  ChildrenStopped,
  ResultParts,
  LetterDropped,
  LetterRequeued,
  MessagesWithdrawn,
  ParentTold,
  ReplyTo,
  ReportSent,
  VariablesDeclined,
  VariablesProvided,
} from './child.js'
import type { ContextReduced } from './context.js'
import type { AskedHook, HookDecided } from './hook.js'
import type { StepRules, TurnRules } from './rules.js'
import type { MessageRules } from './stop.js'
import type { EffectsWord, ThreadBased, ThreadRewound, TreeCopied } from './travel.js'
import type { Took } from './took.js'
import type { FrozenTree } from '../tree.js'
import type { Usage } from '../usage.js'

export type {
  CallAnswered,
  CallBegan,
  CallDecided,
  CallFreed,
  CallHeld,
  CallParked,
  CallPolicy,
  CallQueued,
  CallReturned,
  CallSettled,
  CallTried,
  CallUnbegun,
  CallsMade,
  EffectResolved,
  Hold,
  HoldReason,
  Landed,
  RecordedCall,
  StopReason,
} from './call.js'
export type {
  AnswerFiles,
  TurnOrigin as Began,
  ChildBooted,
  ChildCall,
  ChildCalled,
  ChildReported,
  ChildRestarted,
  ChildTold,
  ChildrenStopped,
  Deferred,
  ResultParts as Gives,
  MessagesWithdrawn,
  ParentTold,
  ReplyTo,
  ReportSent,
  OutgoingMessage as Saying,
  SealedValues as Sealed,
  SpentReport as Spent,
  VariablesDeclined,
  VariablesProvided,
  ParentMessage as Word,
} from './child.js'

export const recordVersion = 3

/** How a model says that its reply ended. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'paused' | 'other'

/** How a message meets a busy thread: at its next step, or as a turn of its own after this one. */
export type Delivery = 'steer' | 'new_turn'

export interface ThreadCreated {
  readonly type: 'thread.created'
  readonly agent: string
  readonly tags: readonly string[]
  readonly parent?: string
  /** Ids from the root down to this thread. */
  readonly path: readonly string[]
  /** What it begins with. */
  readonly changes?: Changes
  /** Messages that hooks give it: its model reads them first. */
  readonly stored?: readonly string[]
  /** Hooks that changed what it begins with, or failed. */
  readonly hooks?: readonly AskedHook[]
  /** What it and all below it may spend. */
  readonly budget?: Amounts
  /**
   * Of a child: what its parent calls it, whether it stays after its first answer, and whether it then reports every
   * turn.
   */
  readonly child?: {
    readonly reference: string
    readonly lasting: boolean
    readonly forked?: true
    readonly gives?: ResultParts
    readonly reports?: 'implicit'
    readonly caller?: string
  }
  /** The files that it begins with: a copy of its parent's. */
  readonly tree?: FrozenTree
  readonly env?: Env
  /** Its parent is a fork, or below one: what happens to its calls with a side effect. */
  readonly guard?: Exclude<EffectsWord, 'run'>
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
  /**
   * Attachments in the order given: paths of files that the thread had, and names in `attachments`. Absent: those, by
   * name.
   */
  readonly listed?: readonly string[]
  /** What the answer may cost. */
  readonly grant?: Amounts
  /** The thread that wants to hear how the turn ended, and the call there that waits for it. */
  readonly replyTo?: ReplyTo
  /** Hooks that changed it, or failed. */
  readonly hooks?: readonly AskedHook[]
  /** When the turn that reads it stops. */
  readonly rules?: MessageRules
  /** The trace that its sender is in, as a W3C `traceparent`: the turn that it begins is part of it. */
  readonly trace?: string
}

/** A message reads otherwise from now on, or is taken out of what is read. What was recorded of it stays. */
export interface MessageEdited {
  readonly type: 'message.edited'
  readonly id: string
  /** Absent: it is gone. */
  readonly text?: string
}

export interface TurnStarted {
  readonly type: 'turn.started'
  readonly run: string
  readonly deadlineAt?: number
  /** What it may spend. */
  readonly limits?: Amounts
  /** Two sides speak by turns: which is first, and after how many turns of each the session ends. */
  readonly session?: { readonly side: SideName; readonly maxTurns: number }
  readonly rules?: TurnRules
  /** Its calls undo effects; when all are undone, the thread goes back to this record. */
  readonly rewind?: { readonly to: number }
  /** Its host traces it, and its sender gave no trace: it begins one of its own (`ownTrace`). */
  readonly traced?: true
}

export interface ModelReplied {
  readonly type: 'model.replied'
  readonly step: number
  readonly model: string
  readonly text: string
  readonly reasoning?: string
  /** What the model wants to hear again of it. */
  readonly kept?: ProviderParts
  readonly calls: readonly RecordedCall[]
  readonly usage: Usage
  readonly finish: FinishReason
  /** Decided by the agent's rules: the turn ends after these calls. */
  readonly stop?: StopReason
  /** Of `stop`: why, for people. */
  readonly stopDetail?: string
  /** Decided by the agent's rules: a reply without calls does not end the turn. */
  readonly goesOn?: true
  /** How the turn ends where this reply is the last. Default: with its text. */
  readonly ends?: StopReason
  /** The turn cannot end with this reply: what the model is told, and asked again. */
  readonly asks?: string
  /** Of `stop: 'failed'`: why. */
  readonly failure?: Failure
  /** Hooks that changed the reply or its calls, or failed. */
  readonly hooks?: readonly AskedHook[]
  /** The call that this prompt forces was made: it is forced no more in this turn. */
  readonly relaxes?: string
  /** A call of it hands the thread over: the rules of the agent that takes over. */
  readonly rules?: StepRules
  /** Whose reply it is, where there are two sides. */
  readonly side?: SideName
  /** What people call whoever speaks. */
  readonly label?: string
  readonly took?: Took
}

/** Files or values were changed from outside. */
export interface ThreadChanged {
  readonly type: 'thread.changed'
  readonly changes: Changes
}

/** Variables of the thread were set or removed, on it or on its parent: calls see that from the next step on. */
export interface EnvChanged extends EnvChange {
  readonly type: 'env.changed'
}

/** The agent or its prompt requires variables without a value: the model is called when they have one. */
export interface TurnHeld {
  readonly type: 'turn.held'
  readonly run: string
  readonly missing: readonly string[]
}

export interface TurnFreed {
  readonly type: 'turn.freed'
  readonly run: string
}

/**
 * A budget was raised; `child`: that of a child, for which it is reserved here, and the mail goes out with this record.
 */
export interface BudgetGranted {
  readonly type: 'budget.granted'
  readonly amounts: Amounts
  readonly child?: string
  /** The child goes on with it, where it had stopped. */
  readonly resume?: true
  /** Its parent has reserved it. */
  readonly inherited?: true
  readonly grantedBy?: string
}

export interface TurnEnded {
  readonly type: 'turn.ended'
  readonly run: string
  readonly reason: StopReason
  readonly detail?: string
  readonly failure?: Failure
  /** What the turn came to, where that is not the last text of a reply. */
  readonly text?: string
  /** In the form of the prompt's `outputSchema`. */
  readonly output?: Json
  /** Files of this thread that go with the answer. */
  readonly attachments?: readonly string[]
}

export interface ThreadPaused {
  readonly type: 'thread.paused'
  readonly reason?: string
  /** And all below it: its children are told with this record. */
  readonly tree?: true
}

export interface ThreadResumed {
  readonly type: 'thread.resumed'
  readonly tree?: true
}

/** The agent's work is complete; the thread takes no more messages. */
export interface ThreadEnded {
  readonly type: 'thread.ended'
}

export interface ThreadTerminated {
  readonly type: 'thread.terminated'
  readonly reason?: string
  /** Its parent said so. */
  readonly inherited?: true
  /** Of a root: the whole tree is to be removed. */
  readonly delete?: true
}

export type Fact =
  | ThreadCreated
  | ThreadBased
  | ThreadRewound
  | TreeCopied
  | MessageReceived
  | MessageEdited
  | TurnStarted
  | ModelReplied
  | ContextReduced
  | CallBegan
  | CallUnbegun
  | CallTried
  | CallReturned
  | CallSettled
  | CallHeld
  | CallFreed
  | CallParked
  | CallDecided
  | CallAnswered
  | CallQueued
  | CallsMade
  | EffectResolved
  | HookDecided
  | ChildCalled
  | ChildReported
  | ChildRestarted
  | LetterRequeued
  | LetterDropped
  | ChildTold
  | ChildrenStopped
  | ReportSent
  | MessagesWithdrawn
  | ParentTold
  | ThreadChanged
  | EnvChanged
  | BudgetGranted
  | VariablesProvided
  | VariablesDeclined
  | ChildBooted
  | TurnHeld
  | TurnFreed
  | TurnEnded
  | ThreadPaused
  | ThreadResumed
  | ThreadEnded
  | ThreadTerminated

/** A fact in its place: numbered from 1 without gaps within its thread. */
export type ThreadRecord = Fact & { readonly seq: number; readonly at: number; readonly by?: string }

export type RecordType = Fact['type']
