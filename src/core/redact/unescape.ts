/**
 * Removes one layer of escaping: percent encoding, escapes of JSON and of programming languages, HTML entities, the
 * plus of form fields. All at once, in any mixture and case; other bytes stay.
 *
 * - Each resulting byte has the range of original bytes that it stands for.
 * - An escape that is incomplete at the end is left out and reported as `pending`, unless nothing follows.
 */
import { defined } from '../defined.js'

/** Bytes, and where in the original each starts and ends; without `starts` these are the original bytes. */
export interface Layer {
  readonly bytes: Uint8Array
  readonly starts?: Int32Array
  readonly ends?: Int32Array
  /** Where in the original the undecided part starts. */
  readonly pending?: number
}

export function escapeStart({ starts }: Layer, at: number): number {
  return starts ? (starts[at] ?? 0) : at
}

export function escapeEnd({ ends }: Layer, at: number): number {
  return ends ? (ends[at] ?? 0) : at + 1
}

const percent = 0x25
const ampersand = 0x26
const plus = 0x2b
const backslash = 0x5c

/** Undefined if there is no escape. */
export function unescape(layer: Layer, complete: boolean): Layer | undefined {
  const { bytes } = layer
  if (!bytes.some((byte) => byte === percent || byte === ampersand || byte === backslash)) return undefined
  const out = new Uint8Array(bytes.length)
  const starts = new Int32Array(bytes.length)
  const ends = new Int32Array(bytes.length)
  let count = 0
  let changed = false
  let at = 0
  let pending = layer.pending
  while (at < bytes.length) {
    const escape = escapeAt(bytes, at)
    if (escape === 'open' && !complete) {
      pending = Math.min(pending ?? Infinity, escapeStart(layer, at))
      break
    }
    const decoded = escape === undefined || escape === 'open' ? { size: 1, codes: [plain(bytes[at] ?? 0)] } : escape
    changed ||= escape !== undefined
    for (const code of decoded.codes) {
      out[count] = code
      starts[count] = escapeStart(layer, at)
      ends[count] = escapeEnd(layer, at + decoded.size - 1)
      count++
    }
    at += decoded.size
  }
  if (!changed && pending === layer.pending) return undefined
  return {
    bytes: out.subarray(0, count),
    starts: starts.subarray(0, count),
    ends: ends.subarray(0, count),
    ...defined({ pending }),
  }
}

/** A plus counts as a space: in form fields it is one, and which is meant cannot be known. */
export function plain(byte: number): number {
  return byte === plus ? 0x20 : byte
}

interface Escape {
  readonly size: number
  readonly codes: readonly number[]
}

/** `open`: the bytes end within what may be an escape. */
function escapeAt(bytes: Uint8Array, at: number): Escape | 'open' | undefined {
  const byte = bytes[at]
  if (byte === percent) return hexAt(bytes, at + 1, { digits: 2, size: 3 })
  if (byte === backslash) return backslashAt(bytes, at)
  return byte === ampersand ? entityAt(bytes, at) : undefined
}

const short: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['t', 9],
  ['r', 13],
  ['b', 8],
  ['f', 12],
  ['v', 11],
  ['"', 0x22],
  ["'", 0x27],
  ['`', 0x60],
  ['\\', backslash],
  ['/', 0x2f],
])

function backslashAt(bytes: Uint8Array, at: number): Escape | 'open' | undefined {
  const byte = bytes[at + 1]
  if (byte === undefined) return 'open'
  const letter = String.fromCharCode(byte)
  if (letter === 'x') return hexAt(bytes, at + 2, { digits: 2, size: 4 })
  if (letter === 'u') return unicodeAt(bytes, at)
  const code = short.get(letter)
  return code === undefined ? undefined : { size: 2, codes: [code] }
}

function unicodeAt(bytes: Uint8Array, at: number): Escape | 'open' | undefined {
  const first = valueAt(bytes, at + 2, 4)
  if (typeof first !== 'number') return first
  if (first < 0xd800 || first > 0xdbff) return { size: 6, codes: utf8(first) }
  const marks = [bytes[at + 6], bytes[at + 7]]
  if (marks[0] === undefined || (marks[0] === backslash && marks[1] === undefined)) return 'open'
  const second = marks[0] === backslash && marks[1] === 0x75 ? valueAt(bytes, at + 8, 4) : undefined
  if (second === 'open') return 'open'
  if (second === undefined || second < 0xdc00 || second > 0xdfff) return { size: 6, codes: utf8(0xfffd) }
  return { size: 12, codes: utf8(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)) }
}

function utf8(code: number): readonly number[] {
  return [...new TextEncoder().encode(String.fromCodePoint(code))]
}

function hexAt(
  bytes: Uint8Array,
  from: number,
  { digits, size }: { readonly digits: number; readonly size: number },
): Escape | 'open' | undefined {
  const value = valueAt(bytes, from, digits)
  return typeof value === 'number' ? { size, codes: [value] } : value
}

function valueAt(bytes: Uint8Array, from: number, digits: number): number | 'open' | undefined {
  let value = 0
  for (let at = from; at < from + digits; at++) {
    const byte = bytes[at]
    if (byte === undefined) return 'open'
    const digit = digitOf(byte)
    if (digit < 0) return undefined
    value = value * 16 + digit
  }
  return value
}

/** The value of a hex digit; -1 for any other byte. */
export function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

const entities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])
const longestEntity = 9

function entityAt(bytes: Uint8Array, at: number): Escape | 'open' | undefined {
  let name = ''
  for (let next = at + 1; next < at + longestEntity; next++) {
    const byte = bytes[next]
    if (byte === undefined) return 'open'
    if (byte === 0x3b) {
      const char = entities.get(name) ?? numbered(name)
      return char === undefined ? undefined : { size: next - at + 1, codes: [...new TextEncoder().encode(char)] }
    }
    name += String.fromCharCode(byte)
    if (!/^#?[0-9a-z]*$/i.test(name)) return undefined
  }
  return undefined
}

function numbered(name: string): string | undefined {
  const match = /^#(?:x([0-9a-f]{1,6})|([0-9]{1,7}))$/i.exec(name)
  if (!match) return undefined
  const code = match[1] === undefined ? Number(match[2]) : Number.parseInt(match[1], 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}
