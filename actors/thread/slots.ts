/**
 * Slots: one per call of the current step, by call index. Results land in any order and are taken out in
 * call order.
 *
 * SL1 A slot is filled once; a second outcome for it changes nothing.
 * SL2 `drain` gives results strictly in call order, each exactly once, whatever order they landed in.
 * SL3 Filling and draining cost the same for the first and the ten-thousandth slot.
 */
import type { Outcome } from '../../src/core/effect.js'
import type { HoldReason, RecordedCall } from '../../src/core/record.js'

export interface Slot {
  readonly call: RecordedCall
  outcome?: Outcome
  /** Its intent is recorded: the body may have run. */
  began?: true
  /** Set while the call waits for someone. */
  why?: HoldReason
}

export interface Slots {
  readonly items: Slot[]
  /** Slots without an outcome. */
  open: number
  /** Of these, the ones that wait for someone. */
  held: number
  /** Slots whose outcome was taken out. */
  drained: number
}

export function createSlots(calls: readonly RecordedCall[]): Slots {
  const slots: Slots = { items: [], open: 0, held: 0, drained: 0 }
  for (const call of calls) {
    if (call.refused) slots.items.push({ call, outcome: { ok: false, failure: call.refused } })
    else {
      slots.items.push({ call })
      slots.open++
    }
  }
  return slots
}

export function fill(slots: Slots, index: number, outcome: Outcome): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome) return false
  release(slots, slot)
  slot.outcome = outcome
  slots.open--
  return true
}

export function begin(slots: Slots, index: number): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome || slot.began) return false
  slot.began = true
  return true
}

/** The call that all others wait for: it has a side effect, and everything before it is answered. */
export function barrier(slots: Slots): number | undefined {
  const { drained } = slots
  const slot = slots.items[drained]
  return slot && !slot.outcome && !slot.why && slot.call.sideEffect ? drained : undefined
}

export function hold(slots: Slots, index: number, why: HoldReason): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome) return false
  if (!slot.why) slots.held++
  slot.why = why
  return true
}

function release(slots: Slots, slot: Slot): void {
  if (!slot.why) return
  delete slot.why
  slots.held--
}

/** Fills whatever is open: the turn is over. */
export function fillRest(slots: Slots, outcome: Outcome): void {
  for (let index = slots.drained; index < slots.items.length; index++) fill(slots, index, outcome)
}

export function drain(slots: Slots, take: (slot: Slot, index: number, outcome: Outcome) => void): void {
  for (;;) {
    const slot = slots.items[slots.drained]
    if (!slot?.outcome) return
    take(slot, slots.drained, slot.outcome)
    slots.drained++
  }
}

export function firstHeld(slots: Slots): HoldReason | undefined {
  return slots.held > 0 ? slots.items.find((slot) => slot.why)?.why : undefined
}
