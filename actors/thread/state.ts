/**
 * A thread's state: plain data, changed only by `fold`. The transcript and the slots are append-only and are
 * changed in place, never copied: a step costs the same at the first and at the ten-thousandth message.
 *
 * - State is a function of the records alone; it holds no clock, no definition, no live object.
 * TS2 `effectsEpoch` changes whenever `outstanding(state)` may have changed other than by the landing of a call, so
 *     that a runtime compares effects only then.
 *     All fields are there from the beginning, the empty ones undefined: states of one shape are fast to read.
 * TS3 A step number is used once: a step that was asked and never answered is spent when its turn ends.
 */
import type { Outcome } from '../../src/core/effect.js'
import type { Amounts } from '../../src/core/budget.js'
import type { Message, SideName } from '../../src/core/records/message.js'
import type {
  Began,
  Deferred,
  Delivery,
  FinishReason,
  RecordedCall,
  ReplyTo,
  Saying,
  Sealed,
  StopReason,
  ThreadCreated,
  TurnStarted,
} from '../../src/core/records/record.js'
import type { TurnRules } from '../../src/core/records/rules.js'
import type { MessageRules } from '../../src/core/records/stop.js'
import type { Status } from '../../src/core/records/status.js'
import { noEnv, type Env } from '../../src/core/env.js'
import type { Failure } from '../../src/core/failure.js'
import type { Json } from '../../src/core/json.js'
import { emptyTree, type DirNode } from '../../src/core/tree.js'
import { noUsage, type ModelUsage, type Usage } from '../../src/core/usage.js'
import { noEntries, noItems, noKeys } from '../../src/core/lists.js'
import { positionAt, type Position } from './position.js'
import type { BudgetAccount } from './budget/budget.js'
import type { PolicyCounts } from './decide/policy.js'
import type { ContextView } from './turn/context.js'
import type { FinalOutcome, Session } from './turn/session.js'
import { createSlots, type Slots } from './calls/slots.js'
import type { UnknownEffect } from './calls/unknown-effects.js'
import type { SupervisedCall } from './children/start.js'
import type { FailedChild } from './children/supervision.js'
import { noLineage } from './travel/lineage.js'
import type { Lineage } from './travel/lineage.js'

export interface Turn {
  readonly run: string
  readonly startedAt: number
  /** The record that began it; 0 where that is in the past of a fork. */
  readonly startedSeq: number
  readonly deadlineAt: number | undefined
  readonly began: Began
  /** Messages of the thread before it. */
  readonly from: number
  /** Its steps: model replies, and calls that no model asked for. */
  steps: number
  /** Model replies, those of a fork since it was made, and how the last one ended. */
  replies: number
  finish: FinishReason | undefined
  /** Of these, those with calls; of the side's own turn in a session. */
  rounds: number
  usage: Usage
  /** What children have reported meanwhile that they and all below them have spent. */
  below: Usage
  /** Variables that the agent waits for, and since when. */
  missingVariables?: { readonly missing: readonly string[]; readonly at: number }
  /** Calls that were made, those that children answer too. */
  calls: number
  readonly limits: Amounts | undefined
  /** What definitions say about its steps. */
  rules: TurnRules | undefined
  /** What its messages say about it. */
  messageRules: MessageRules | undefined
  /** The last answered calls, where repetition is looked for: their keys (decide/repetition.ts). */
  recent: number[] | undefined
  /** Why the turn ends when the calls of its step are answered, and a detail for people. */
  stop: StopReason | undefined
  detail: string | undefined
  /** Where it has stopped: whether it is asked once more, or was. */
  last: 'wanted' | 'given' | undefined
  /** Of calls with a policy. */
  tally: PolicyCounts | undefined
  /** Files that go with the answer. */
  attachments: readonly string[] | undefined
  /** Where two sides speak by turns. */
  session: Session | undefined
  /** The agent's last text; `output` is what it gave in the form of its schema. */
  text: string
  /** Where a call decided the outcome, and not the text of a reply. */
  finalOutcome: FinalOutcome | undefined
  output: Json | undefined
  /** How often the model was asked again for the output that the turn must end with. */
  asked: number
  /** The prompt whose forced call was made. */
  relaxed: string | undefined
  /** The step whose hooks have decided; messages that its request alone has. */
  ready: number | undefined
  once: readonly Message[] | undefined
  /** The step after which hooks were asked whether the turn may end; how often they made it go on. */
  checked: number | undefined
  goneOn: number
  /** Results of its calls, where the caller asks for them (`Gives`). */
  callResults: CallResult[] | undefined
  readonly rewind: TurnStarted['rewind']
  readonly trace: string | undefined
}

export interface CallResult {
  readonly tool: string
  readonly args: Json
  readonly outcome: Outcome
}

export interface EndedTurn {
  readonly run: string
  readonly from: number
  readonly reason: StopReason
  readonly text: string
  readonly output?: Json
  readonly given?: readonly CallResult[]
  readonly failure?: Failure
  /** Why someone ended it. */
  readonly detail?: string
  readonly attachments?: readonly string[]
  /** The side that was to speak next. */
  readonly side?: SideName
  /** What its messages said about it: they count where it is resumed. */
  readonly messageRules?: MessageRules
  readonly trace?: string
}

/** A child as its parent knows it. */
export interface Child {
  id: string
  /** The id of its first attempt, where there were more. */
  first?: string
  /** What it was asked, kept for another attempt while it is supervised. */
  supervised?: SupervisedCall
  readonly agent: string
  readonly name?: string
  readonly lasting: boolean
  /** Names that it does not inherit. */
  readonly scoped?: readonly string[]
  readonly apart?: readonly string[]
  /** The side that called it last, where there are two. */
  side?: SideName
  /** Messages that it has not reported on. */
  busy: number
  ended?: true
  /** The number of its last mail. */
  lastMailNumber?: number
  /** The same of its earlier attempts, by their ids: they may still report, and mail may come twice. */
  earlierMail?: Record<string, number>
  /** What it last said that it is doing. */
  statusText?: string
}

/** A child that was asked for and cannot begin before its values are given. */
export interface DeferredChild extends Deferred {
  readonly tool: string
  readonly at: number
  /** Its values: it begins when there is a place. */
  ready?: Sealed
  /** The side that asked for it, where there are two. */
  readonly side?: SideName
  /** The trace of the turn that asked for it, below the call. */
  readonly trace?: string
}

/** A thread that waits for the outcome of a turn of this one. */
export interface PendingReply extends ReplyTo {
  /** The message that asks for it. */
  readonly message: string
  /** The turn that has read the message. */
  run?: string
  /** Why the message was withdrawn before it was read; may be empty. */
  withdrawn?: string
}

export interface MessageEdit {
  readonly id: string
  /** Of the record that says so. */
  readonly seq: number
  /** Absent: the message is removed, or, where it is hidden, as it was: people read it, no model does. */
  readonly text?: string
  readonly hidden?: true
}

export interface QueuedMessage {
  readonly message: Message
  readonly delivery: Delivery | 'store'
  /** The child that said it. */
  readonly from?: string
  /** When the turn that reads it stops. */
  readonly rules?: MessageRules
  readonly trace?: string
}

/** A call that no model asked for. */
export interface QueuedCall {
  readonly call: RecordedCall
  /** The turn that it joins or starts. */
  readonly run: string
  /** Not before this step: the model is speaking. */
  readonly notBefore: number
  /** Whose call it is, where there are two sides. */
  readonly side?: SideName
  /** The command or schedule that asked for it: it is made in a turn of its own if this one ends first. */
  readonly by?: string
  /** It outlives the cancel of a turn that it happens to join. */
  readonly scheduled?: true
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
  position: Position
  seq: number
  effectsEpoch: number
  agent: string
  parent: string | undefined
  path: readonly string[]
  tags: readonly string[]
  createdAt: number
  updatedAt: number
  /** What was last said from outside: children that begin by themselves read it, and a snapshot has no transcript. */
  opening: string | undefined
  /** The first message that someone sent: its id, and how it begins. */
  title: { readonly id: string; readonly text: string } | undefined
  /** Whose model has spoken here, or has had its children begin (S4): `voiceOf`. */
  voices: string[]
  /** Steps begun; the one in work while acting. */
  step: number
  /** When the step's calls were asked for: the time of all that they change. */
  stepAt: number
  turn: Turn | undefined
  lastTurn: EndedTurn | undefined
  slots: Slots
  queue: QueuedMessage[]
  /** Calls to be made when those of the step are done. */
  queuedCalls: QueuedCall[]
  files: DirNode
  /** By reference. Little for each: a parent may have thousands. */
  children: ReadonlyMap<string, Child>
  /** How many children of each agent were ever asked for: references are never used twice. */
  childCounters: Record<string, number>
  /** Children that are at work. */
  working: number
  /** Children that have not ended. */
  living: number
  /** Children that failed and are to be called again, by reference. */
  retries: string[]
  /** Children that failed for good, by reference. */
  dead: Record<string, FailedChild>
  /** Of a child: what was done to the world, by it and all below, and cannot be done twice; since its last report. */
  effects: number
  /** Calls of which nobody knows whether they changed the world, by id. */
  unknownEffects: Record<string, UnknownEffect>
  /** Children that must be told to end. */
  toStop: { readonly child: string; readonly how: 'cancel' | 'terminate'; readonly message?: string }[]
  /** Of a child: what its parent calls it, and whether it stays. */
  child: ThreadCreated['child']
  pendingReplies: PendingReply[]
  /** What bodies have said to the parent and was not sent yet. */
  outbox: Saying[]
  /** Mails that were sent to the parent. */
  mailsToParent: number
  /** What this thread told its parent that it is doing. */
  statusText?: string
  /** Why it was terminated, and with whom, where it waited for them alone; why it is paused. */
  endedFor?: string
  endedWith?: readonly string[]
  pausedFor?: string
  /** It is to be removed, with all below it. */
  deleting?: true
  env: Env
  /** What the calls of the step see, where that has changed since (T3). */
  envOfStep: Env | undefined
  /** Children that wait for values, by request. */
  requests: Record<string, DeferredChild>
  /** Results that were too long for the transcript. */
  archived: number
  /** By key (src/core/change.ts): every key has a prefix, so that none is a name of Object's own. */
  values: Record<string, { readonly value?: Json; readonly version: number }>
  accepted: Map<string, Accepted>
  /** Of this thread alone. */
  usage: Usage
  /** Of all descendants, as far as children have reported. */
  usageBelow: Usage
  /** Usage of this thread and its descendants, per model. */
  byModel: ModelUsage[]
  /** Of a child: usage that was not reported to its parent yet. */
  unreported: ModelUsage[]
  /** Undefined where nothing is limited. */
  budget: BudgetAccount | undefined
  /** The parent was told that this thread has ended. */
  parentKnowsEnd: boolean
  /** What models read of the conversation where that is limited, by view (`ContextRule.of`). */
  contexts: Record<string, ContextView>
  /** About how many characters a model would read of all messages. */
  said: number
  /** Messages that read otherwise than they were recorded, the last edit last; or that no model reads. */
  edits: readonly MessageEdit[]
  lineage: Lineage
  transcript: Transcript
}

export function createState(id: string): ThreadState {
  return {
    id,
    position: positionAt('open', 'fresh'),
    seq: 0,
    effectsEpoch: 0,
    agent: '',
    parent: undefined,
    path: [id],
    tags: noItems,
    createdAt: 0,
    updatedAt: 0,
    opening: undefined,
    title: undefined,
    voices: noItems,
    step: 0,
    stepAt: 0,
    turn: undefined,
    lastTurn: undefined,
    slots: createSlots([]),
    queue: noItems,
    queuedCalls: noItems,
    files: emptyTree,
    children: noKeys,
    childCounters: noEntries,
    working: 0,
    living: 0,
    retries: noItems,
    dead: noEntries,
    effects: 0,
    unknownEffects: noEntries,
    toStop: noItems,
    child: undefined,
    pendingReplies: noItems,
    outbox: noItems,
    mailsToParent: 0,
    envOfStep: undefined,
    env: noEnv,
    requests: noEntries,
    archived: 0,
    values: noEntries,
    accepted: new Map(),
    usage: noUsage,
    usageBelow: noUsage,
    byModel: noItems,
    unreported: noItems,
    budget: undefined,
    parentKnowsEnd: false,
    contexts: noEntries,
    said: 0,
    edits: noItems,
    lineage: noLineage,
    transcript: { skipped: 0, items: [] },
  }
}

const statuses = {
  fresh: 'created',
  idle: 'idle',
  thinking: 'thinking',
  acting: 'acting',
  'waiting.approval': 'awaiting_approval',
  'waiting.person': 'awaiting_human',
  'waiting.variables': 'awaiting_variables',
  'waiting.children': 'waiting',
  failed: 'failed',
  done: 'done',
  terminated: 'terminated',
} as const

export function statusOf(state: Pick<ThreadState, 'position'>): Status {
  const { gate, work } = state.position
  return gate === 'paused' && !hasEnded(state) ? 'paused' : statuses[work]
}

/** The thread takes no more messages. */
export function hasEnded({ position }: Pick<ThreadState, 'position'>): boolean {
  return position.work === 'done' || position.work === 'terminated'
}
