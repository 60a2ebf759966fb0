/**
 * Records about children: threads that answer calls of this one, and what they say to each other.
 */
import type { Amounts } from '../budget.js'
import type { Outcome } from '../effect.js'
import type { SealedEnv } from '../env.js'
import type { Failure } from '../failure.js'
import type { FrozenTree } from '../tree.js'
import type { ModelUsage } from '../usage.js'

/** Of a child that makes one request with a prompt: what of it is the result. */
export interface ResultParts {
  readonly text?: true
  readonly calls?: true
  readonly errors?: true
  /** It must give an output: without one it has failed. */
  readonly output?: true
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
  /** It joins what the child is doing, and is answered with that; else it is a turn of its own. */
  readonly steer?: true
  /** The call waits for the answer; else it is answered at once, and the child reports later. */
  readonly blocking: boolean
  /** The child stays for further messages. */
  readonly lasting: boolean
  /** `explicit`: it reports only when it says so itself. */
  readonly reports: 'implicit' | 'explicit'
  /** The child works on a copy of this thread's files, which is merged when it reports. */
  readonly files?: 'fork'
  /** It is a prompt's, and makes one request. */
  readonly gives?: ResultParts
  /** Names that it does not inherit, because its definitions scope them. */
  readonly scoped?: readonly string[]
  /** Names that it never inherits, because each of several children has a value of its own. */
  readonly apart?: readonly string[]
  /** Of a prompt that is called as a tool: the agent that calls it, whose `env` it sees. */
  readonly caller?: string
  /** The side of the child that answers it. Default `a`. */
  readonly side?: 'b'
  /** Values of its own that it begins with. */
  readonly own?: SealedValues
  /** Children of this thread that may be at work at once; more wait in line. */
  readonly maxParallel: number
  /** What it may spend. */
  readonly budget?: Amounts
  /** Children of this thread that may live at once; more wait in line. */
  readonly maxChildren?: number
  /** How often it is called again when it fails. */
  readonly supervision?: { readonly maxRestarts: number; readonly withinMs?: number }
}

/** Sealed values, and the keys that they were sealed with. */
export interface SealedValues {
  readonly keys: readonly string[]
  readonly set: SealedEnv
}

/** A child that cannot begin before it is given values: nothing was spawned (S6). */
export interface Deferred {
  /** What it is known by: `env_<step>_<index>`. */
  readonly request: string
  readonly child: ChildCall
  readonly required: readonly string[]
  readonly missing: readonly string[]
  /** What goes with its first message, as it was when it was asked for. */
  readonly files?: FrozenTree
}

/** Someone gave a deferred child its values. */
export interface VariablesProvided extends SealedValues {
  readonly type: 'variables.provided'
  readonly request: string
}

/** Nobody will give them: the child never begins, and the model is told. */
export interface VariablesDeclined {
  readonly type: 'variables.declined'
  readonly request: string
  readonly comment?: string
  readonly declinedBy?: string
}

/** A deferred child was created: the mail goes out with this record. */
export interface ChildBooted {
  readonly type: 'child.booted'
  readonly request: string
  readonly child: ChildCall
  readonly attachments?: FrozenTree
  /** What it may spend. */
  readonly grant?: Amounts
  /** The trace of the turn that asked for it, below the call. */
  readonly trace?: string
  /** It was not created after all. */
  readonly refused?: Failure
}

/** What began a turn that the parent did not ask for. `of`: the child whose report it was. */
export interface TurnOrigin {
  readonly by: 'message' | 'report' | 'schedule' | 'call' | 'resume'
  readonly of?: string
}

export interface ReplyTo {
  readonly thread: string
  readonly call?: string
  /** The child speaks for itself: how its turn ended is noted there, and told to nobody. */
  readonly quiet?: true
  /** Nobody waits for it: it is for the account alone. */
  readonly unasked?: true
  /** Nobody asked for it: it is told because the child stays and reports all that it does (S7). */
  readonly began?: TurnOrigin
}

/** What a child and all below it have spent since its last report, and what it gives back of its budget. */
export interface SpentReport {
  readonly byModel: readonly ModelUsage[]
  /** In kinds of its budget. */
  readonly amounts?: Amounts
  readonly returned?: Amounts
  /** Things that were done to the world, or may have been, and cannot be done twice. */
  readonly effects?: number
}

/** Files that go with an answer: a directory of them, and what they are called where they come from, in order. */
export interface AnswerFiles {
  readonly files: FrozenTree
  readonly paths: readonly string[]
}

/** What a child says to its parent by itself: something to be read, or what it is doing. */
export type ParentMessage = { readonly text: string; readonly attachments?: FrozenTree } | { readonly status: string }

/** The same as a body says it: attachments are paths of its thread's files, taken when the call counts. */
export type OutgoingMessage =
  | { readonly text: string; readonly attachments?: readonly string[] }
  | { readonly status: string }

/** The child of this call was created or spoken to: the mail goes out with this record. */
export interface ChildCalled {
  readonly type: 'child.called'
  readonly step: number
  readonly index: number
  /** What goes with the message: a directory of it. */
  readonly attachments?: FrozenTree
  /** What is reserved for it. */
  readonly grant?: Amounts
  /** It was not called after all. */
  readonly refused?: Failure
}

/** A child that failed is called again, as another thread: the mail goes out with this record. */
export interface ChildRestarted {
  readonly type: 'child.restarted'
  readonly reference: string
  readonly child: string
  /** The first one is 1. */
  readonly attempt: number
  readonly grant?: Amounts
  /** It was not called after all. */
  readonly refused?: Failure
}

/** A child that failed for good is tried once more, or forgotten. */
export interface LetterRequeued {
  readonly type: 'letter.requeued'
  readonly reference: string
}

export interface LetterDropped {
  readonly type: 'letter.dropped'
  readonly reference: string
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
  readonly spent?: SpentReport
  /** It speaks for itself: the model is not told. */
  readonly quiet?: true
  readonly attachments?: AnswerFiles
  /** What the model reads below the answer. */
  readonly note?: string
  readonly unasked?: true
  readonly began?: TurnOrigin
  /** Its turn failed: it may be called again. */
  readonly failed?: true
  /** Of one that is supervised and failed: whether it is tried again, so that this is not its answer. */
  readonly again?: boolean
  /** Mail from one child is numbered from 1. */
  readonly number?: number
}

/** A child has said something by itself. */
export interface ChildTold {
  readonly type: 'child.told'
  readonly child: string
  readonly reference: string
  readonly words: readonly ParentMessage[]
  readonly number: number
}

/** This thread has said something to its parent by itself: the mail goes out with this record. */
export interface ParentTold {
  readonly type: 'parent.told'
  readonly words: readonly ParentMessage[]
}

/** Children are told to end what nobody waits for any more: the mail goes out with this record. */
export interface ChildrenStopped {
  readonly type: 'children.stopped'
  readonly children: readonly string[]
  readonly how: 'cancel' | 'terminate'
  readonly reason: string
  /**
   * What they were asked and nobody waits for: a turn that began with it is cancelled, what was not read is taken back.
   */
  readonly messages?: readonly string[]
}

/** Messages that were not read yet are taken back by whoever sent them. */
export interface MessagesWithdrawn {
  readonly type: 'messages.withdrawn'
  readonly messages: readonly string[]
  readonly reason?: string
}

/** This thread has told whoever asked how its turn ended: the mail goes out with this record. */
export interface ReportSent {
  readonly type: 'report.sent'
  readonly run: string
  readonly to: readonly ReplyTo[]
  readonly outcome: Outcome
  readonly over?: true
  readonly failed?: true
  readonly attachments?: AnswerFiles
  readonly note?: string
  readonly spent?: SpentReport
}
