/**
 * Observations of one record: what it ends (a turn, a step, calls, a wait), made of the record, of what the state was
 * before it, and of what it is after it. So a thread that was taken over is observed as one that never moved.
 *
 * OB1 What is observed under a key is observed by the record that ends it, and that is one record: results are drained
 *     in order, each once (SL2), and a turn and a step end once.
 */
import type { HeldSlot, Slot, Slots } from '../../../actors/thread/calls/slots.js'
import type { ThreadState, Turn } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { callKey, modelKey, reductionKey, resultHookKey, stepHookKey, stopHookKey, turnKey } from '../../core/effect.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { HookDecided } from '../../core/records/hook.js'
import type { StopReason, ThreadRecord } from '../../core/records/record.js'
import { totalMs } from '../../core/records/took.js'
import type { Observation } from '../../observe/port.js'

/** The state before a record, as far as the record may end something. */
export interface StateBefore {
  readonly turn: Turn | undefined
  readonly agent: string
  readonly step: number
  readonly slots: Slots
  readonly drained: number
  readonly updatedAt: number
  /** The model is being asked, or about to be. */
  readonly isThinking: boolean
  /** What the call of the record waits for. */
  readonly hold: HeldSlot | undefined
}

export function stateBefore(state: ThreadState, record: ThreadRecord): StateBefore {
  const { turn, agent, step, slots, updatedAt, position } = state
  const index = 'index' in record && record.step === step ? record.index : undefined
  return {
    turn,
    agent,
    step,
    slots,
    drained: slots.drained,
    updatedAt,
    isThinking: position.work === 'thinking' && position.gate === 'open' && !turn?.missingVariables,
    hold: index === undefined ? undefined : slots.items[index]?.hold,
  }
}

type Part = Omit<Observation, 'thread' | 'root' | 'agent' | 'run' | 'trace'>

export function observationsOf(before: StateBefore, state: ThreadState, record: ThreadRecord): readonly Observation[] {
  const { turn, agent } = before
  if (!turn) return []
  const parts = [...endedWait(before, record), ...endedEffect(before, record), ...drainedCalls(before, state, record)]
  if (record.type === 'turn.ended' && !state.turn) parts.push(endedTurn(before, turn, record))
  if (parts.length === 0) return []
  const { id, path } = state
  const origin = { thread: id, root: path[0] ?? id, agent, run: turn.run, ...defined({ trace: turn.trace }) }
  return parts.map((part) => ({ ...part, ...origin }))
}

type RecordOf<Type extends ThreadRecord['type']> = Extract<ThreadRecord, { readonly type: Type }>

const modelEnds: ReadonlySet<StopReason> = new Set(['failed', 'cancelled', 'deadline', 'terminated'])

function endedEffect(before: StateBefore, record: ThreadRecord): Part[] {
  switch (record.type) {
    case 'model.replied':
      return [replied(record)]
    case 'context.reduced':
      return [reduced(before, record)]
    case 'hook.decided':
      return [hooked(before, record)]
    case 'turn.ended':
      return before.isThinking && !before.turn?.stop && modelEnds.has(record.reason) ? [unanswered(before, record)] : []
    default:
      return []
  }
}

function replied({ step, model, at, took, usage, finish, text }: RecordOf<'model.replied'>): Part {
  const startedAt = at - (took ? totalMs(took) : 0)
  const what = { kind: 'model', key: modelKey(step), name: model, step, content: { text } } as const
  return { ...what, startedAt, endedAt: at, usage, finish, ...defined({ took }) }
}

/** The model gave no answer: it failed, or was not waited for. */
function unanswered({ step, updatedAt }: StateBefore, record: RecordOf<'turn.ended'>): Part {
  const next = step + 1
  const times = { startedAt: updatedAt, endedAt: record.at }
  return { kind: 'model', key: modelKey(next), name: '', step: next, ...times, failure: failureOf(record) }
}

function failureOf({ reason, failure: failed, detail }: RecordOf<'turn.ended'>): Failure {
  return failed ?? failure('CANCELLED', `the turn ended: ${reason}${detail ? ` (${detail})` : ''}`)
}

function reduced({ updatedAt, agent }: StateBefore, record: RecordOf<'context.reduced'>): Part {
  const { step, summary, failure: failed, at } = record
  const what = { kind: 'context', key: reductionKey(step), name: summary?.model ?? agent, step } as const
  return { ...what, startedAt: updatedAt, endedAt: at, ...defined({ usage: summary?.usage, failure: failed }) }
}

function hooked({ updatedAt }: StateBefore, record: RecordOf<'hook.decided'>): Part {
  const { point, step, index, asked, at } = record
  const failed = asked.find((each) => each.failure)?.failure
  const what = { kind: 'hook', key: hookKeyOf(record), name: point, step } as const
  return { ...what, startedAt: updatedAt, endedAt: at, ...defined({ index, failure: failed }) }
}

function hookKeyOf({ point, run, step, index = 0 }: HookDecided): string {
  if (point === 'step') return stepHookKey(step)
  return point === 'result' ? resultHookKey(step, index) : stopHookKey(run, step)
}

const waitEnds: ReadonlySet<ThreadRecord['type']> = new Set(['call.decided', 'call.answered', 'call.freed'])

/** People have decided or answered, or there are values. */
function endedWait({ hold, turn }: StateBefore, record: ThreadRecord): Part[] {
  const { at, seq } = record
  if (record.type === 'turn.freed' && turn?.missingVariables) {
    const since = turn.missingVariables.at
    const key = `${turnKey(turn.run)}/wait/${seq}`
    return [{ kind: 'wait', key, name: 'variables', startedAt: since, endedAt: at }]
  }
  if (!hold || hold.why === 'children' || !waitEnds.has(record.type) || !('index' in record)) return []
  const { step, index = 0 } = record
  const key = `${callKey(step, index)}/wait/${seq}`
  return [{ kind: 'wait', key, name: hold.why, step, index, startedAt: hold.at, endedAt: at }]
}

/** Calls whose results have entered the transcript with this record. */
function drainedCalls(before: StateBefore, { slots, step }: ThreadState, { at }: ThreadRecord): Part[] {
  const from = slots === before.slots ? before.drained : 0
  const parts: Part[] = []
  // A turn that ends may spend the number of a step that was never answered (TS3): its calls are of the one before.
  const of = slots === before.slots ? before.step : step
  for (let index = from; index < slots.drained; index++) {
    const slot = slots.items[index]
    if (slot && slot.call.tool !== 'response') parts.push(callPart(slot, { step: of, index, at }))
  }
  return parts
}

function callPart(
  slot: Slot,
  { step, index, at }: { readonly step: number; readonly index: number; readonly at: number },
): Part {
  const { call, outcome, verdict, took } = slot
  const endedAt = slot.endedAt ?? at
  const startedAt = slot.startedAt ?? endedAt
  const failed = outcome && !outcome.ok ? outcome.failure : undefined
  const result = outcome?.ok ? outcome.value : undefined
  return {
    kind: 'call',
    key: callKey(step, index),
    name: call.tool,
    step,
    index,
    startedAt,
    endedAt,
    ...defined({ failure: failed, verdict, took }),
    content: { args: call.args, ...defined({ result }) },
  }
}

function endedTurn({ agent }: StateBefore, turn: Turn, record: RecordOf<'turn.ended'>): Part {
  const { reason, at, failure: failed } = record
  return {
    kind: 'turn',
    key: turnKey(turn.run),
    name: agent,
    startedAt: turn.startedAt,
    endedAt: at,
    reason,
    usage: turn.usage,
    content: { text: record.text ?? turn.text },
    ...defined({ failure: failed }),
  }
}
