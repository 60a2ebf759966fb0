/**
 * A turn as its thread's own fold has it: records are folded into a state, and what each of them changed is read off
 * there. Messages, calls, contexts and the result of a run are all made here, so that they cannot differ from what
 * the thread itself keeps.
 *
 * - There is no second reading of the journal: what is told of a turn is what `fold` made of it.
 * - A call is answered once, with the outcome that counts: one that was found stale, was replaced, or is tried
 *   again is none.
 * - A view holds what the turn needs and not its history: messages that were told are let go.
 * - What a turn came to does not depend on what was before it, so the result needs no state to begin with.
 */
import { fold } from '../../../actors/thread/fold.js'
import { positionAt } from '../../../actors/thread/position.js'
import { awaitsVerdict } from '../../../actors/thread/calls/slots.js'
import type { Slot, Slots } from '../../../actors/thread/calls/slots.js'
import { createState } from '../../../actors/thread/state.js'
import type { ThreadState, Turn } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { Outcome } from '../../core/effect.js'
import type { Failure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { callId, parseCallId } from '../../core/records/message.js'
import type { Message } from '../../core/records/message.js'
import type { FinishReason, HoldReason, StopReason, ThreadRecord } from '../../core/records/record.js'
import { addUsage, noUsage, sumUsage } from '../../core/usage.js'
import type { Usage } from '../../core/usage.js'

export interface RunResult {
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
  readonly output?: Json
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
  /** Absent while the call is not answered. */
  readonly outcome?: Outcome
  /** The result of an equal call of this run. */
  readonly fromCache?: true
  /** Who must decide or answer before it goes on. */
  readonly waitsFor?: HoldReason
}

export interface ContextUpdate {
  /** The tool whose context it is, or `shared`. */
  readonly of: string
  readonly value: Json
}

/** What a record has changed of the turn. */
export interface TurnChange {
  readonly messages: readonly Message[]
  readonly calls: readonly RunCall[]
  readonly contexts: readonly ContextUpdate[]
  /** The turn is over: this is what it came to. */
  readonly result?: RunResult
}

/** The calls of the step before a record was folded, and the one that it is about. */
interface Before {
  readonly slots: Slots
  readonly drained: number
  readonly touched: number | undefined
  /** The turn has ended: whatever is open is closed. */
  readonly rest: boolean
}

const nothing: TurnChange = { messages: [], calls: [], contexts: [] }

export class TurnView {
  readonly #run: string
  #state: ThreadState | undefined
  readonly #whole: boolean
  #turn: Turn | undefined
  #replies = 0
  #finish: FinishReason | undefined
  #below = noUsage
  /** Calls of the step that have been answered. */
  #answered = new Set<number>()

  /** `before`: the state before the first record that is taken. Without one only the result is right. */
  constructor(run: string, before?: ThreadState) {
    this.#run = run
    this.#state = before
    this.#whole = before !== undefined
    if (before) letGo(before)
  }

  take(record: ThreadRecord): TurnChange {
    const begins = record.type === 'turn.started' && record.run === this.#run
    if (begins) this.#state ??= emptyBefore(record)
    const state = this.#state
    if (!state) return hasGone(record) ? { ...nothing, result: neverBegun } : nothing
    if (!this.#whole) fillIn(state, record)
    const { usageBelow } = state
    const contexts = contextsIn(state, record)
    const before = { slots: state.slots, drained: state.slots.drained, touched: touchedBy(state, record) }
    fold(state, record)
    const messages = letGo(state)
    if (begins) this.#turn = state.turn
    const turn = this.#turn
    if (!turn) return hasGone(record) ? { ...nothing, result: neverBegun } : nothing
    if (record.type === 'model.replied') {
      this.#replies++
      this.#finish = record.finish
    }
    if (record.type === 'child.reported' && state.usageBelow !== usageBelow)
      this.#below = addUsage(this.#below, sumUsage(record.spent?.byModel ?? []))
    const over = state.turn !== turn
    const calls = this.#changed(state.slots, { ...before, rest: over })
    return { messages, calls, contexts, ...(over && { result: this.#result(state, turn) }) }
  }

  #changed(slots: Slots, { slots: known, drained, touched, rest }: Before): readonly RunCall[] {
    const fresh = slots !== known
    if (fresh) this.#answered = new Set()
    const from = fresh ? 0 : drained
    const to = fresh || rest ? slots.items.length : slots.drained
    const indexes = new Set(touched === undefined || fresh ? [] : [touched])
    for (let index = from; index < to; index++) indexes.add(index)
    return [...indexes].flatMap((index): RunCall[] => {
      const slot = slots.items[index]
      if (!slot || this.#answered.has(index)) return []
      const call = callOf(slot, callId(this.#state?.step ?? 0, index), slots.drained > index)
      if (call.outcome) this.#answered.add(index)
      return [call]
    })
  }

  #result({ lastTurn }: ThreadState, { usage }: Turn): RunResult {
    const { reason = 'terminated', text = '', output, detail, failure, attachments } = lastTurn ?? {}
    const more = {
      ...(this.#finish && { finishReason: this.#finish }),
      ...defined({ output, detail: detail || undefined, failure, attachments }),
    }
    return {
      text,
      stopReason: reason,
      usage,
      subtreeUsage: addUsage(usage, this.#below),
      steps: this.#replies,
      ...more,
    }
  }
}

/** The message was never read: the thread is over. */
const neverBegun: RunResult = { text: '', stopReason: 'terminated', usage: noUsage, subtreeUsage: noUsage, steps: 0 }

function hasGone({ type }: ThreadRecord): boolean {
  return type === 'thread.terminated' || type === 'thread.ended'
}

function letGo(state: ThreadState): readonly Message[] {
  const { items, skipped } = state.transcript
  state.transcript = { skipped: skipped + items.length, items: [] }
  return items
}

function emptyBefore({ seq }: ThreadRecord): ThreadState {
  return { ...createState(''), seq: seq - 1, position: positionAt('open', 'idle') }
}

/** What the state would have known from before: the number of the step, and who its children are. */
function fillIn(state: ThreadState, record: ThreadRecord): void {
  if ((record.type === 'model.replied' || record.type === 'calls.made') && state.step === 0)
    state.step = record.step - 1
  if (record.type !== 'child.reported' || state.children.has(record.reference)) return
  state.children.set(record.reference, { id: record.child, agent: '', lasting: true, busy: 0 })
  state.living++
}

/** The call of the step that a record is about. */
function touchedBy({ step, children }: ThreadState, record: ThreadRecord): number | undefined {
  if ('index' in record) return record.step === step ? record.index : undefined
  const restarted = record.type === 'child.restarted' ? children.get(record.reference) : undefined
  const call = record.type === 'child.reported' ? record.call : restarted?.supervised?.waits
  const place = call === undefined ? undefined : parseCallId(call)
  return place?.step === step ? place.index : undefined
}

/** Files of a child get their names at the call's turn: its answer is what the model reads then. */
function callOf(slot: Slot, id: string, taken: boolean): RunCall {
  const { call, outcome, verdict, hold, given } = slot
  const counts = outcome !== undefined && !awaitsVerdict(slot) && (taken || !given?.attachments)
  if (!counts) return { id, tool: call.tool, args: call.args, ...(hold && { waitsFor: hold.why }) }
  return { id, tool: call.tool, args: call.args, outcome, ...(verdict === 'cached' && { fromCache: true as const }) }
}

/** Contexts that a record changes, given the outcomes that wait for their verdict. */
function contextsIn({ slots, step }: ThreadState, record: ThreadRecord): readonly ContextUpdate[] {
  const counts = record.type === 'call.settled' && record.verdict === 'kept' && record.step === step
  const kept = counts ? slots.items[record.index]?.landed : undefined
  const changes = record.type === 'thread.changed' ? record.changes : kept?.changes
  return (changes?.values ?? []).flatMap(({ key, value = null }): ContextUpdate[] => {
    if (key === 'shared') return [{ of: key, value }]
    return key.startsWith('context/') ? [{ of: key.slice('context/'.length), value }] : []
  })
}
