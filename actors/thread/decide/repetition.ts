/**
 * Repetition (L4): a turn that makes the same call again and again stops. The last 32 answered calls of the turn are
 * compared, not only those in a row: a loop of two calls is as common as one of one.
 *
 * - Part of the fold: it depends on the records alone, so a crash between two calls changes nothing.
 * - Calls are equal when tool and args are. A call is kept as a short key: neither the state nor a snapshot grows with
 *   the args. Keys of different calls could be equal once in 2^52; that would have to happen to many of 32.
 * - A tool that is meant to be called again and again (`repeats`) is not counted.
 */
import type { Outcome } from '../../../src/core/effect.js'
import { canonical, isObject, longerThan } from '../../../src/core/json.js'
import type { Json } from '../../../src/core/json.js'
import type { RecordedCall } from '../../../src/core/records/record.js'
import { stepRules } from '../../../src/core/records/rules.js'
import type { Slot } from '../calls/slots.js'
import type { ThreadState, Turn } from '../state.js'

const mostRecent = 32
const longestArgs = 200
/** Of longer args no text is made to tell them apart. */
const longArgs = 16 * 1024

/** A call was answered. */
export function noteRecent(turn: Turn, slot: Slot, { ok }: Outcome): void {
  const { call } = slot
  if (call.repeats || !stepRules(turn).repetition) return
  slot.key = keyOf(call)
  const key = ok ? slot.key : failedKey(slot.key)
  const { recent } = turn
  // Copied while it grows: a list that is pushed to makes room for more than most turns need.
  if (!recent) turn.recent = [key]
  else if (recent.length < mostRecent) turn.recent = recent.concat(key)
  else {
    // Not by `copyWithin` or `shift`: numbers of this size are kept without an object each only in plain loops.
    for (let index = 1; index < mostRecent; index++) recent[index - 1] = recent[index] ?? 0
    recent[mostRecent - 1] = key
  }
}

/** Keys are not negative: the key of a call that failed is told apart without an object for each. */
function failedKey(key: number): number {
  return -1 - key
}

/** All calls of the step are answered: the turn stops where the last of them were made too often. */
export function stopAtRepetition({ turn, slots }: ThreadState): void {
  const rule = turn && !turn.stop && stepRules(turn).repetition
  if (!rule || !turn.recent) return
  for (const { call, key } of slots.items) {
    if (call.repeats) continue
    const { equal, failing } = countEqual(turn.recent, key ?? keyOf(call))
    if (failing < rule.failing && equal < rule.same) continue
    turn.stop = 'repetition'
    turn.detail = detailOf(call, failing >= rule.failing ? `failed ${failing} times` : `was made ${equal} times`)
    return
  }
}

function countEqual(recent: readonly number[], key: number): { readonly equal: number; readonly failing: number } {
  const failed = failedKey(key)
  let equal = 0
  let failing = 0
  for (let index = 0; index < recent.length; index++) {
    const each = recent[index]
    if (each === key) equal++
    else if (each === failed) failing++
  }
  return { equal: equal + failing, failing }
}

function keyOf(call: RecordedCall): number {
  return longerThan(call.args, longArgs) ? hashOfLong(call) : hash(`${call.tool} ${canonical(call.args)}`)
}

function detailOf({ tool, args }: RecordedCall, happened: string): string {
  const text = canonical(args)
  const shown = text.length > longestArgs ? `${text.slice(0, longestArgs)}…` : text
  return `the call ${tool} ${shown} ${happened} within ${mostRecent} calls`
}

/** The lower and the upper half of a hash that is being made. */
interface Halves {
  low: number
  high: number
}

/** 52 bits of a text; no cryptography, only to tell the calls of one turn apart. */
function hash(text: string): number {
  const halves = begunHash()
  addUnits(halves, text)
  return endedHash(halves)
}

/** Equal args give equal keys, whatever the order of their fields: each text is gone through once, and none is made. */
function hashOfLong({ tool, args }: RecordedCall): number {
  const halves = begunHash()
  addText(halves, tool)
  addValue(halves, args)
  return endedHash(halves)
}

function addValue(halves: Halves, value: Json): void {
  if (typeof value === 'string') return addText(halves, value)
  if (Array.isArray(value)) {
    addUnits(halves, `[${value.length}`)
    for (const item of value as readonly Json[]) addValue(halves, item)
    return
  }
  if (!isObject(value)) return addUnits(halves, JSON.stringify(value))
  const fields = value as { readonly [key: string]: Json }
  const names = Object.keys(fields).sort()
  addUnits(halves, `{${names.length}`)
  for (const name of names) {
    addText(halves, name)
    addValue(halves, fields[name] ?? null)
  }
}

/** Its length first, so that texts one after another are not taken for others. */
function addText(halves: Halves, text: string): void {
  addUnits(halves, `"${text.length}:`)
  addUnits(halves, text)
}

function begunHash(): Halves {
  return { low: 0xdeadbeef, high: 0x41c6ce57 }
}

function addUnits(halves: Halves, text: string): void {
  let { low, high } = halves
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    low = Math.imul(low ^ unit, 2_654_435_761)
    high = Math.imul(high ^ unit, 1_597_334_677)
  }
  halves.low = low
  halves.high = high
}

function endedHash(halves: Halves): number {
  let { low, high } = halves
  low = Math.imul(low ^ (low >>> 15), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  high = Math.imul(high ^ (high >>> 15), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  return (high & 0xfffff) * 2 ** 32 + (low >>> 0)
}
