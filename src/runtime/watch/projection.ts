/**
 * A thread as its own fold has it: records are folded into a state, and what each of them changed is read off there.
 * Messages, calls, children, contexts and the result of a turn are all made here, so that no two readers of the
 * journal can disagree, nor differ from what the thread itself keeps.
 *
 * - There is no second reading of the journal: what is told of a thread is what `fold` made of it.
 * - A call is answered once, with the outcome that counts: one that was found stale, was replaced, or is tried
 *   again is none.
 */
import { statusReported } from '../../../actors/thread/children/reports.js'
import { fold } from '../../../actors/thread/fold.js'
import { isSettled } from '../../../actors/thread/calls/slots.js'
import type { Slot, Slots } from '../../../actors/thread/calls/slots.js'
import type { EndedTurn, ThreadState, Turn } from '../../../actors/thread/state.js'
import type { Status } from '../../core/records/status.js'
import { defined } from '../../core/defined.js'
import type { Outcome } from '../../core/effect.js'
import type { Failure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { callId, parseCallId, revertedBy, shown } from '../../core/records/message.js'
import type { Message } from '../../core/records/message.js'
import type { ChildCall } from '../../core/records/child.js'
import type { FinishReason, HoldReason, StopReason, ThreadRecord } from '../../core/records/record.js'
import { addUsage } from '../../core/usage.js'
import type { Usage } from '../../core/usage.js'
import { editsOf, withEdits } from '../../../actors/thread/turn/edits.js'
import type { ProviderParts } from '../../core/records/provider-parts.js'
import { providerCallsOf } from '../../core/records/provider-parts.js'
import { ChildViews } from './child-views.js'
import type { ChildView } from './child-views.js'

export interface RunResult<Output = Json> {
  /** What the agent said last. */
  readonly text: string
  readonly stopReason: StopReason
  /**
   * How the last reply ended, as its model says: `stop`, `tool_calls`, `length`, `content_filter`, `paused`, `other`.
   */
  readonly finishReason?: FinishReason
  readonly usage: Usage
  /** With what children that reported in this turn have spent, and all below them. */
  readonly subtreeUsage: Usage
  readonly steps: number
  /** In the form of the prompt's `outputSchema`, when it has one. */
  readonly output?: Output
  /** Why it stopped, where there is more to say. */
  readonly detail?: string
  readonly failure?: Failure
  /** Paths of the thread's files that go with the answer. */
  readonly attachments?: readonly string[]
}

export interface RunCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  /** The child that answers it. */
  readonly child?: { readonly thread: string; readonly reference: string; readonly blocking: boolean }
  /** The call that it undoes, for a rewind. */
  readonly reverts?: string
  /** Absent while the call is not answered. */
  readonly outcome?: Outcome
  /** The result of an equal call of this run. */
  readonly fromCache?: true
  /** Its body has returned; whether that counts is decided when the calls before it are answered. */
  readonly returned?: true
  /** Who must decide or answer before it goes on. */
  readonly waitsFor?: HoldReason
  /** Where it waits for variables: those that have no value. */
  readonly missing?: readonly string[]
  /** The model's provider made and ran it. */
  readonly byProvider?: true
}

export interface ContextUpdate {
  /** The tool whose context it is, or `shared`. */
  readonly of: string
  readonly value: Json
}

/** What one record has changed. */
export interface ProjectionChanges {
  /** Messages that entered the transcript, silent ones too. */
  readonly messages: readonly Message[]
  /** Calls of the turn that were asked for, wait for someone, go on, or were answered. */
  readonly calls: readonly RunCall[]
  /** Children that were lined up, called, have said or reported something. */
  readonly children: readonly ChildView[]
  /** Contexts of tools. */
  readonly contexts: readonly ContextUpdate[]
  /** A turn has ended, and this is what it came to. */
  readonly result?: RunResult
}

/** A thread as it stands. The object is kept current while the view that gave it is iterated; copy what must stay. */
export interface ThreadProjection {
  readonly thread: string
  readonly agent: string
  readonly path: readonly string[]
  readonly status: Status
  /** The open turn: its run, and when it began. */
  readonly turn: { readonly run: string; readonly startedAt: number } | undefined
  /** As `thread.messages({ silent: 'show' })` gives them. */
  readonly messages: readonly Message[]
  /** Calls of the open turn, or of the last one, in the order in which they were asked for. */
  readonly calls: readonly RunCall[]
  /** As `thread.children()` gives them, with what each was asked and has spent. */
  readonly children: readonly ChildView[]
  /** What it has spent itself, in all its turns. */
  readonly usage: Usage
  /** What the last turn came to; absent while one is open. */
  readonly result: RunResult | undefined
}

/** The calls of the step before a record was folded, and the one that it is about. */
interface CallsBefore {
  readonly slots: Slots
  readonly drained: number
  readonly touched: number | undefined
  /** The turn has ended: whatever is open is closed. */
  readonly ended: boolean
}

const nothing: readonly never[] = []
export const noChanges: ProjectionChanges = { messages: nothing, calls: nothing, children: nothing, contexts: nothing }

export interface ProjectorOptions {
  /** Messages and calls stay with the projection; else they are let go when they were told. */
  readonly keepMessages: boolean
  /** Nobody asks for more than the result: what each record changes is not looked for. */
  readonly resultOnly?: boolean
}

export class Projector {
  readonly #state: ThreadState
  readonly #keepMessages: boolean
  readonly #resultOnly: boolean
  readonly #children: ChildViews
  /** Of the open turn, or of the last one. */
  #calls = new Map<string, RunCall>()
  #result: RunResult | undefined
  /** Calls of the step that have been answered. */
  #answered = new Set<number>()
  #value: ThreadProjection | undefined

  constructor(state: ThreadState, { keepMessages, resultOnly = false }: ProjectorOptions) {
    this.#state = state
    this.#keepMessages = keepMessages
    this.#resultOnly = resultOnly
    this.#children = new ChildViews(state)
    if (!keepMessages) letGo(state)
  }

  get state(): ThreadState {
    return this.#state
  }

  /** Reads the state when it is asked: a change costs nothing that nobody looks at. */
  get value(): ThreadProjection {
    return (this.#value ??= this.#createValue())
  }

  take(record: ThreadRecord): ProjectionChanges {
    if (this.#resultOnly) return this.#takeResult(record)
    const state = this.#state
    const { turn, slots } = state
    const { drained } = slots
    const contexts = contextsIn(state, record)
    const touched = touchedBy(state, record)
    const childrenBefore = this.#children.before(record)
    const known = state.transcript.items.length
    const result = this.#fold(record)
    const entered = this.#keepMessages ? since(state.transcript.items, known) : letGo(state)
    // What a thread goes back to was told before.
    const messages = record.type === 'thread.rewound' ? nothing : entered
    const ended = turn !== undefined && state.turn !== turn
    const changed = this.#changedCalls(state.slots, { slots, drained, touched, ended })
    const calls = record.type === 'model.replied' && record.kept ? [...this.#ranBy(record.kept), ...changed] : changed
    const children = this.#children.after(record, childrenBefore)
    return result ? { messages, calls, children, contexts, result } : { messages, calls, children, contexts }
  }

  #takeResult(record: ThreadRecord): ProjectionChanges {
    const result = this.#fold(record)
    letGo(this.#state)
    return result ? { ...noChanges, result } : noChanges
  }

  /** Gives what a turn has come to, if the record ends one. */
  #fold(record: ThreadRecord): RunResult | undefined {
    const state = this.#state
    const { turn } = state
    fold(state, record)
    if (state.turn && state.turn !== turn) this.#begin()
    if (!turn || state.turn === turn) return undefined
    this.#result = turnResult(turn, state.lastTurn)
    return this.#result
  }

  /** Calls that the provider ran, as part of its reply. */
  #ranBy(kept: ProviderParts): readonly RunCall[] {
    const ran = providerCallsOf(kept).map((call): RunCall => ({ ...call, byProvider: true }))
    for (const call of ran) this.#calls.set(call.id, call)
    return ran
  }

  /** A turn begins. */
  #begin(): void {
    this.#calls = new Map()
    this.#result = undefined
  }

  #changedCalls(slots: Slots, { slots: known, drained, touched, ended }: CallsBefore): readonly RunCall[] {
    const fresh = slots !== known
    if (fresh) this.#answered = new Set()
    const from = fresh ? 0 : drained
    const to = fresh || ended ? slots.items.length : slots.drained
    const indexes = new Set(touched === undefined || fresh ? [] : [touched])
    for (let index = from; index < to; index++) indexes.add(index)
    return [...indexes].flatMap((index): RunCall[] => {
      const slot = slots.items[index]
      if (!slot || this.#answered.has(index)) return []
      const call = callOf(slot, callId(this.#state.step, index), slots.drained > index)
      if (call.outcome) this.#answered.add(index)
      if (this.#keepMessages) this.#calls.set(call.id, call)
      return [call]
    })
  }

  #createValue(): ThreadProjection {
    const state = this.#state
    const calls = (): readonly RunCall[] => [...this.#calls.values()]
    const children = (): readonly ChildView[] => this.#children.all
    const result = (): RunResult | undefined => this.#result
    return {
      thread: state.id,
      get agent() {
        return state.agent
      },
      get path() {
        return state.path
      },
      get status() {
        return statusReported(state)
      },
      get turn() {
        return state.turn && { run: state.turn.run, startedAt: state.turn.startedAt }
      },
      get messages() {
        return messagesOf(state)
      },
      get calls() {
        return calls()
      },
      get children() {
        return children()
      },
      get usage() {
        return state.usage
      },
      get result() {
        return result()
      },
    }
  }
}

/** What a turn came to: as it was when it ended, and what the thread keeps of it. */
export function turnResult({ usage, below, replies, finish }: Turn, ended: EndedTurn | undefined): RunResult {
  const { reason = 'terminated', text = '', output, detail, failure, attachments } = ended ?? {}
  return {
    text,
    stopReason: reason,
    usage,
    subtreeUsage: addUsage(usage, below),
    steps: replies,
    ...defined({ finishReason: finish, output, detail: detail || undefined, failure, attachments }),
  }
}

/** All messages of a thread as they are read: with edits, and those that were received and not read yet at the end. */
export function messagesOf(state: ThreadState): readonly Message[] {
  const edits = editsOf(state.edits)
  const all = [...state.transcript.items, ...state.queue.map(({ message }) => message)]
  return all.flatMap((message) => withEdits(edits, message, 'person') ?? []).map(shown)
}

function since(items: readonly Message[], known: number): readonly Message[] {
  return items.length <= known ? nothing : items.slice(known)
}

function letGo(state: ThreadState): readonly Message[] {
  const { items, skipped } = state.transcript
  if (items.length === 0) return nothing
  state.transcript = { skipped: skipped + items.length, items: [] }
  return items
}

/** The call of the step that a record is about. */
function touchedBy({ step, children }: ThreadState, record: ThreadRecord): number | undefined {
  if ('index' in record) return record.step === step ? record.index : undefined
  const restarted = record.type === 'child.restarted' ? children.get(record.reference) : undefined
  const call = record.type === 'child.reported' ? record.call : restarted?.supervised?.waits
  const position = call === undefined ? undefined : parseCallId(call)
  return position?.step === step ? position.index : undefined
}

function callOf(slot: Slot, id: string, taken: boolean): RunCall {
  const { call, outcome, verdict, hold, given, join } = slot
  const { tool, args } = call
  const child = call.child && childOf(call.child)
  // Files of a child get their names when the call is taken: its answer is what the model reads then.
  const counts = outcome !== undefined && isSettled(slot) && (taken || !given?.attachments)
  const reverts = revertedBy(call)
  const fromCache = verdict === 'cached' || undefined
  if (counts) return { id, tool, args, outcome, ...defined({ child, reverts, fromCache }) }
  const returned = outcome !== undefined || join !== undefined || undefined
  return { id, tool, args, ...defined({ child, reverts, waitsFor: hold?.why, missing: hold?.missing, returned }) }
}

function childOf({ thread, reference, blocking }: ChildCall): NonNullable<RunCall['child']> {
  return { thread, reference, blocking }
}

/** Contexts that a record changes, given the outcomes that wait for their verdict. */
function contextsIn({ slots, step }: ThreadState, record: ThreadRecord): readonly ContextUpdate[] {
  const counts = record.type === 'call.settled' && record.verdict === 'kept' && record.step === step
  const landed = counts ? slots.items[record.index]?.landed : undefined
  const changes = record.type === 'thread.changed' ? record.changes : landed?.changes
  if (!changes?.values) return nothing
  return changes.values.flatMap(({ key, value = null }): ContextUpdate[] => {
    if (key === 'shared') return [{ of: key, value }]
    return key.startsWith('context/') ? [{ of: key.slice('context/'.length), value }] : []
  })
}
