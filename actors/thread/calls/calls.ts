/** Calls in the fold: what a record about one call of the step changes. */
import { defined } from '../../../src/core/defined.js'
import { kvKey, kvSpace } from '../../../src/core/records/change.js'
import type { Changes } from '../../../src/core/records/change.js'
import type { Json } from '../../../src/core/json.js'
import type { Message } from '../../../src/core/records/message.js'
import type {
  CallAnswered,
  CallDecided,
  CallHeld,
  CallQueued,
  CallReturned,
  CallSettled,
  Landed,
} from '../../../src/core/records/record.js'
import { applySchedules, schedulesKey } from '../../../src/core/records/schedule.js'
import { applyChanges } from '../../../src/core/tree.js'
import { withEntry, withItem } from '../../../src/core/lists.js'
import { countOutcome } from '../decide/policy.js'
import { deniedOutcome, takeResults } from '../turn/results.js'
import { close, edit, fill, hold, release, settle } from './slots.js'
import type { Slot } from './slots.js'
import type { ThreadState } from '../state.js'

export function callReturned(state: ThreadState, record: CallReturned & { readonly at: number }): boolean {
  if (!fill(state.slots, record.index, record)) return false
  noteTimes(state.slots.items[record.index], record)
  takeResults(state, record.at)
  // Calls behind it may be startable now (TS2: what is wanted has changed).
  if (state.slots.ordered) state.effectsEpoch++
  return true
}

/** The last run counts. A child's files are merged after its answer: the call began with the child. */
function noteTimes(slot: Slot | undefined, { took, at }: CallReturned & { readonly at: number }): void {
  if (!slot) return
  slot.endedAt = at
  slot.took = took
  if (!slot.call.child) slot.startedAt = at - (took?.ranMs ?? 0)
}

export function callHeld(
  { slots }: ThreadState,
  { index, why, missing, prompt, at }: CallHeld & { readonly at: number },
): boolean {
  return hold(slots, index, { why, at, ...defined({ missing, prompt }) })
}

export function callSettled(state: ThreadState, record: CallSettled & { readonly at: number }): boolean {
  const slot = state.slots.items[record.index]
  const verdict = settle(state.slots, record)
  if (!slot || !verdict) return false
  if (verdict.kept) applyLanded(state, verdict.kept, record)
  if (record.verdict === 'kept' && state.turn) countOutcome(state.turn, slot, record.at)
  if (record.verdict === 'stale' || state.slots.ordered) state.effectsEpoch++
  takeResults(state, record.at)
  return true
}

function applyLanded(
  state: ThreadState,
  { changes, queued, messages, attached, told }: Landed,
  { step, index }: CallSettled,
): void {
  if (changes) applyValueChanges(state, changes, state.stepAt)
  const { side } = state.slots
  for (const call of queued ?? [])
    state.queuedCalls = withItem(state.queuedCalls, {
      call,
      run: state.turn?.run ?? '',
      notBefore: 0,
      ...defined({ side }),
    })
  if (attached && state.turn) state.turn.attachments = [...new Set([...(state.turn.attachments ?? []), ...attached])]
  for (const saying of told ?? []) state.outbox = withItem(state.outbox, saying)
  messages?.forEach(({ text, silent }, number) => {
    const message: Message = {
      id: `said_${step}_${index}_${number}`,
      role: 'user',
      text,
      at: state.updatedAt,
      ...defined({ silent, to: side }),
    }
    state.queue = withItem(state.queue, { message, delivery: 'steer' })
  })
}

export function applyValueChanges(state: ThreadState, { files, values, schedules }: Changes, at: number): true {
  if (files) state.files = applyChanges(state.files, files, at)
  for (const { key, value } of values ?? []) setValue(state, key, value)
  if (!schedules) return true
  setValue(state, schedulesKey, applySchedules(state.values[schedulesKey]?.value, schedules))
  // Another schedule may be the next (TS2: what is wanted has changed).
  state.effectsEpoch++
  return true
}

function setValue(state: ThreadState, key: string, value: Json | undefined): void {
  const next = (of: string): number => (state.values[of]?.version ?? 0) + 1
  if (key.startsWith(kvSpace)) state.values = withEntry(state.values, kvKey, { version: next(kvKey) })
  const version = next(key)
  state.values = withEntry(state.values, key, value === undefined ? { version } : { value, version })
}

/** Nothing that was scheduled happens any more. */
export function dropSchedules(state: ThreadState): void {
  if (state.values[schedulesKey]?.value !== undefined) setValue(state, schedulesKey, undefined)
}

export function queueCall(
  state: ThreadState,
  { call, run, by, schedule }: CallQueued & { readonly by?: string },
): true {
  const notBefore = state.turn && state.position.work === 'thinking' ? state.step + 1 : 0
  state.queuedCalls = withItem(state.queuedCalls, {
    call,
    run,
    notBefore,
    ...defined({ by: by ?? schedule }),
    ...(schedule !== undefined && { scheduled: true }),
  })
  if (schedule !== undefined) applyValueChanges(state, { schedules: [{ op: 'remove', id: schedule }] }, state.updatedAt)
  return true
}

export function callAnswered({ slots }: ThreadState, { index, output }: CallAnswered): boolean {
  const slot = slots.items[index]
  if (!slot?.hold) return false
  release(slots, slot)
  slot.answer = { output }
  return true
}

export function callDecided(state: ThreadState, record: CallDecided): boolean {
  const { index, decision, call } = record
  const { slots } = state
  const slot = slots.items[index]
  if (!slot?.hold || slot.outcome) return false
  if (decision === 'reject') {
    slot.endedAt = state.updatedAt
    close(slots, slot, deniedOutcome(slot, record))
    takeResults(state, state.updatedAt)
    return true
  }
  release(slots, slot)
  if (call) edit(slots, slot, call)
  // An approved retry of a call that may have happened needs an intent of its own.
  slot.began = undefined
  return true
}
