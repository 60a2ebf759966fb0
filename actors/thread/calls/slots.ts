/**
 * Slots: one per call of the current step, by call index. Outcomes land in any order and are taken out in call order.
 *
 * SL1 A slot is filled once; a second outcome for it changes nothing, unless the first was found stale.
 * SL2 `drain` gives results strictly in call order, each exactly once, whatever order they landed in.
 * SL3 Filling and draining cost the same for the first and the ten-thousandth slot, also when children answer them.
 * - A call with hooks for its result is taken out after these have decided; they are asked at its turn, about the
 *   outcome that counts, once (K1).
 * - A call that saw or changed its thread, or has a policy, is taken out only after its verdict (T3).
 */
import { defined } from '../../../src/core/defined.js'
import { noItems, withItem } from '../../../src/core/lists.js'
import type { Media } from '../../../src/core/media.js'
import type { Outcome } from '../../../src/core/effect.js'
import type {
  AnswerFiles,
  CallSettled,
  Hold,
  HoldReason,
  Landed,
  RecordedCall,
} from '../../../src/core/records/record.js'
import type { Json } from '../../../src/core/json.js'
import type { SideName } from '../../../src/core/records/message.js'
import type { Took } from '../../../src/core/records/took.js'
import type { FrozenTree } from '../../../src/core/tree.js'

export interface Slot {
  call: RecordedCall
  outcome: Outcome | undefined
  /** What came with the outcome, while it waits for its verdict. */
  landed: Landed | undefined
  /** What the model reads in place of the outcome. */
  text: string | undefined
  /** What the model is shown with it. */
  media: readonly Media[] | undefined
  /** What came with a child's answer. */
  given: { readonly attachments?: AnswerFiles; readonly note?: string; readonly reference?: string } | undefined
  verdict: CallSettled['verdict'] | undefined
  /** Its intent is recorded: the body may have run. */
  began?: true | undefined
  beganAt?: number | undefined
  /** Set while the call waits for someone. */
  hold: HeldSlot | undefined
  /** Its body waits for its turn, behind a call that waits for someone. */
  parked?: true | undefined
  /** The child that answers it was called. */
  sent: true | undefined
  /** This thread's files when the child got its copy of them. */
  base?: FrozenTree | undefined
  /** The child has reported: its files are to be merged, at the call's turn. */
  join?: { readonly outcome: Outcome; readonly tree: FrozenTree } | undefined
  /** It was held once: calls behind it may have started, and are not called back. */
  passed: true | undefined
  /** It was approved with other args than the model gave. */
  edited?: true | undefined
  /** What the person gave; the tool makes its result of it. */
  answer?: { readonly output: Json } | undefined
  /** What it read had changed: it runs once more, at its turn. */
  again?: true | undefined
  /** By which equal calls are known, once it is answered (decide/repetition.ts). */
  key: number | undefined
  /** Hosts that died while it was under way (`call.tried`). */
  tries?: number | undefined
  /** Its hooks have decided, or are not asked any more. */
  checked?: true | undefined
  /** When its body or its child began, and when it was answered; how long its body took. For people, not for rules. */
  startedAt: number | undefined
  endedAt: number | undefined
  took: Took | undefined
}

/**
 * What most calls have, from the beginning: slots of one shape are fast to read. The other fields are there when they
 * are set: a host has a slot for every child that is at work, and every watcher of its parent has another.
 */
function createSlot(call: RecordedCall, outcome?: Outcome): Slot {
  return {
    call,
    outcome,
    landed: undefined,
    text: undefined,
    media: undefined,
    given: undefined,
    verdict: undefined,
    hold: undefined,
    sent: undefined,
    passed: undefined,
    startedAt: undefined,
    endedAt: undefined,
    took: undefined,
    key: undefined,
  }
}

/** A hold, since when, and until when. */
export interface HeldSlot extends Hold {
  readonly at: number
  readonly deadlineAt?: number
}

export interface Slots {
  readonly items: Slot[]
  /** Slots without an outcome that counts. */
  open: number
  /** Of these, the ones that wait for someone. */
  held: number
  /** Of the held ones, those that wait for another thread. */
  heldByChildren: number
  /** Open calls that no other thread answers. */
  own: number
  /** Open calls whose child was called. */
  sent: number
  /** Children have reported whose files are not merged yet. */
  joining: number
  /** Calls before this one need no child any more, or have called theirs. */
  called: number
  /** Slots whose outcome was taken out: the turn of the next one has come. */
  drained: number
  /** Some call starts only when the ones before it are done. */
  ordered: boolean
  /** Calls that need variables, by index. */
  readonly needing: readonly number[]
  /** Some call is decided by a deadline. */
  readonly deadlines: boolean
  /** The agent that takes over when all are answered. */
  readonly handoff?: string
  /** Some call may decide about the turn, and has not yet. */
  decides: boolean
  /** Of the reply that asked for the calls: its text where one decides, and who speaks. */
  readonly said: string
  readonly side?: SideName
  readonly label?: string
}

/** The reply that the calls come from. */
export interface CallOrigin {
  readonly text?: string
  readonly side?: SideName
  readonly label?: string
}

export function createSlots(
  calls: readonly RecordedCall[],
  at = 0,
  { text = '', side, label }: CallOrigin = {},
): Slots {
  const handoff = calls.find((call) => call.handoff !== undefined)?.handoff
  const slots = {
    // Not pushed one by one: that would make room for 17.
    items: calls.map((call) => firstSlot(call, at)),
    open: 0,
    held: 0,
    heldByChildren: 0,
    own: 0,
    sent: 0,
    joining: 0,
    called: 0,
    drained: 0,
    ordered: false,
    deadlines: false,
    needing: needingOf(calls),
    decides: false,
    said: '',
    ...defined({ handoff, side, label }),
  }
  for (const call of calls) {
    if (call.session) {
      slots.decides = true
      slots.said = text
    }
    if (call.refused || call.answered !== undefined) continue
    slots.open++
    if (!call.child) slots.own++
    if (call.hold) slots.held++
    if (call.hold?.deadlineMs !== undefined) slots.deadlines = true
    if (needsOrder(call)) slots.ordered = true
  }
  return slots
}

function needingOf(calls: readonly RecordedCall[]): readonly number[] {
  let needing: number[] = noItems
  for (const [index, { needs, refused }] of calls.entries()) if (needs && !refused) needing = withItem(needing, index)
  return needing
}

function firstSlot(call: RecordedCall, at: number): Slot {
  if (call.refused) return createSlot(call, { ok: false, failure: call.refused })
  if (call.answered !== undefined) return createSlot(call, { ok: true, value: call.answered })
  const slot = createSlot(call)
  if (call.hold) {
    slot.hold = heldAt(call.hold, at)
    slot.passed = true
  }
  return slot
}

/** The call starts, or is answered, only when the calls before it are settled. */
function needsOrder({ sideEffect, inTurn, policy, child, asks }: RecordedCall): boolean {
  return Boolean(sideEffect ?? inTurn ?? policy ?? child ?? asks)
}

/** A deadline counts from when the person is asked. */
function heldAt(reason: Hold, at: number): HeldSlot {
  return { ...reason, at, ...(reason.deadlineMs !== undefined && { deadlineAt: at + reason.deadlineMs }) }
}

/** The same call with other args. */
export function edit(slots: Slots, slot: Slot, call: RecordedCall): void {
  const { session, after } = slot.call
  slot.call = session || after ? { ...call, ...defined({ session, after }) } : call
  slot.edited = true
  if (needsOrder(call)) slots.ordered = true
}

/** The call has an outcome; whether that counts is decided when its turn comes. */
export function awaitsVerdict({ landed }: Slot): boolean {
  return landed !== undefined
}

/** It has the outcome that counts, and hooks that have not decided about it. */
export function awaitsHook(slot: Slot | undefined): boolean {
  if (!slot?.call.after || slot.checked || !slot.outcome || slot.landed) return false
  return !slot.call.refused && slot.call.answered === undefined
}

/** The call has an outcome that counts, and nobody is to be asked about it. */
export function isSettled(slot: Slot): boolean {
  return slot.outcome !== undefined && !awaitsVerdict(slot) && !awaitsHook(slot)
}

export function fill(slots: Slots, index: number, landed: Landed): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome || slot.again !== landed.again) return false
  release(slots, slot)
  slot.outcome = landed.outcome
  if (landed.text !== undefined) slot.text = landed.text
  if (landed.media) slot.media = landed.media
  if (landed.note !== undefined)
    slot.given = {
      ...slot.given,
      note: slot.given?.note === undefined ? landed.note : `${slot.given.note}\n\n${landed.note}`,
    }
  if (landed.provisional) slot.landed = landed
  else count(slots, slot)
  return true
}

/** The call has an outcome that counts. */
function count(slots: Slots, slot: Slot): void {
  if (!awaitsHook(slot)) done(slots, slot)
}

/** Nobody is to be asked about the outcome. */
function done(slots: Slots, { call, join, sent }: Slot): void {
  slots.open--
  if (sent) slots.sent--
  if (join) slots.joining--
  if (!call.child) slots.own--
}

/** The intent is taken back: the body never started. */
export function unbegin(slots: Slots, index: number): boolean {
  const slot = slots.items[index]
  if (!slot?.began || slot.outcome) return false
  slot.began = undefined
  return true
}

export function tried(slots: Slots, { index, tries }: { readonly index: number; readonly tries: number }): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome) return false
  slot.tries = tries
  return true
}

export function begin(slots: Slots, { index, at }: { readonly index: number; readonly at: number }): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome || slot.began) return false
  slot.began = true
  slot.beganAt = at
  return true
}

/** Applies a verdict. `kept`: what came with the outcome, where that counts. */
export function settle(
  slots: Slots,
  { index, verdict, outcome, text, media }: CallSettled,
): { readonly kept?: Landed } | undefined {
  const slot = slots.items[index]
  if (!slot || slot.verdict || index !== slots.drained) return undefined
  const { landed } = slot
  slot.landed = undefined
  if (verdict === 'stale') {
    slot.outcome = undefined
    slot.text = undefined
    slot.media = undefined
    slot.again = true
    return {}
  }
  release(slots, slot)
  slot.verdict = verdict
  if (verdict !== 'kept') {
    if (outcome) slot.outcome = outcome
    slot.text = text
    slot.media = media
  }
  count(slots, slot)
  return verdict === 'kept' && landed ? { kept: landed } : {}
}

/** Its hooks have decided about it, or are not asked any more. */
export function finish(slots: Slots, slot: Slot): void {
  slot.checked = true
  done(slots, slot)
}

export function hold(slots: Slots, index: number, held: HeldSlot): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome) return false
  if (!slot.hold) slots.held++
  if (held.why === 'children' && slot.hold?.why !== 'children') slots.heldByChildren++
  slot.hold = held
  slot.passed = true
  return true
}

export function park(slots: Slots, index: number): boolean {
  const slot = slots.items[index]
  if (!slot || slot.outcome || slot.parked) return false
  slot.parked = true
  return true
}

export function release(slots: Slots, slot: Slot): void {
  if (!slot.hold) return
  if (slot.hold.why === 'children') slots.heldByChildren--
  slot.hold = undefined
  slots.held--
}

/** Gives a call its final outcome, whatever it waits for; there will be no verdict, and no hook is asked. */
export function close(slots: Slots, slot: Slot, outcome: Outcome): void {
  slot.checked = true
  fillByChild(slots, slot, outcome)
}

/** Gives a call the outcome that another thread has; there will be no verdict. */
export function fillByChild(slots: Slots, slot: Slot, outcome: Outcome): void {
  release(slots, slot)
  slot.outcome = outcome
  slot.verdict = 'kept'
  slot.landed = undefined
  slot.text = undefined
  slot.media = undefined
  count(slots, slot)
}

/**
 * Closes what is open, at the end of a turn. An outcome without a verdict does not count, unless the call changed the
 * world.
 */
export function closeRest(
  slots: Slots,
  { outcome, unknown }: { readonly outcome: Outcome; readonly unknown: Outcome },
): void {
  for (let index = slots.drained; index < slots.items.length; index++) {
    const slot = slots.items[index]
    if (slot && !slot.outcome) close(slots, slot, slot.began ? unknown : outcome)
    else if (slot && awaitsVerdict(slot))
      close(slots, slot, slot.call.sideEffect && slot.outcome ? slot.outcome : outcome)
    else if (slot && awaitsHook(slot)) finish(slots, slot)
  }
}

export function drain(slots: Slots, take: (slot: Slot, index: number, outcome: Outcome) => void): void {
  for (;;) {
    const slot = slots.items[slots.drained]
    if (!slot?.outcome || !isSettled(slot)) return
    take(slot, slots.drained, slot.outcome)
    slots.drained++
  }
}

/** The call whose turn has come. */
export function firstUndrained(slots: Slots): Slot | undefined {
  return slots.items[slots.drained]
}

/** What the first held call waits for; people before children. */
export function firstHeld(slots: Slots): HoldReason | undefined {
  if (slots.held === slots.heldByChildren) return slots.held > 0 || slots.open > slots.own ? 'children' : undefined
  return slots.items.find(({ hold: held }) => held && held.why !== 'children')?.hold?.why
}
