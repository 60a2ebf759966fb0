/**
 * Finds secrets in bytes, in many encodings: plain and under up to three layers of escapes (unescape.ts), in base64 at
 * any offset and broken into lines, in hex with or without separators, and as a list of byte values.
 *
 * - One pass for each layer: the work is linear in the bytes (AU1: whatever the patterns are).
 * - Up to `safe` nothing that follows changes what was found; the next search may start there.
 */
import { createAutomaton } from './automaton.js'
import type { Automaton } from './automaton.js'
import { digitOf, escapeEnd, plain, escapeStart, unescape } from './unescape.js'
import type { Layer } from './unescape.js'

export type Span = readonly [start: number, end: number]

export interface FoundSecret {
  /** Sorted; they may overlap. */
  readonly spans: readonly Span[]
  readonly safe: number
}

const mostLayers = 4
const shortestText = 8

/** `complete`: no bytes follow. */
export type SecretSearch = (bytes: Uint8Array, complete: boolean) => FoundSecret

export function createSearch(values: readonly Uint8Array[]): SecretSearch {
  const writings = [
    { feed: feedText, automaton: createAutomaton(values.flatMap(textsOf)) },
    { feed: feedBase64, automaton: createAutomaton(values.flatMap(base64Of)) },
    {
      feed: feedHex,
      automaton: createAutomaton(values.flatMap((value) => [hexOf(value), ...beginning(value, shownBytes).map(hexOf)])),
    },
    {
      feed: feedNumbers,
      automaton: createAutomaton(values.flatMap((value) => [value, ...beginning(value, shownItems)])),
    },
  ]
  return (bytes, complete) => {
    const layers: Layer[] = [{ bytes }]
    const traces: Trace[] = []
    for (
      let layer: Layer | undefined = layers[0];
      layer;
      layer = layers.length <= mostLayers ? unescape(layer, complete) : undefined
    ) {
      if (layer.starts) layers.push(layer)
      for (const { feed, automaton } of writings) {
        const trace = new Trace(automaton, layer)
        feed(trace, layer.bytes, complete)
        traces.push(trace)
      }
    }
    const spans = traces.flatMap((trace) => trace.spans).sort(([a], [b]) => a - b)
    return { spans, safe: complete ? bytes.length : safeOf({ bytes, layers, traces, spans }) }
  }
}

/** A value may contain what looks like an escape, which is then removed together with real ones. */
function textsOf(value: Uint8Array): readonly Uint8Array[] {
  const texts: Uint8Array[] = []
  for (
    let layer: Layer | undefined = { bytes: value };
    layer && texts.length < mostLayers;
    layer = unescape(layer, true)
  )
    texts.push(layer.bytes.map(plain))
  return texts.filter((text) => text.length >= shortestText)
}

/** How much Node prints of a buffer, and of a typed array. */
const shownBytes = 50
const shownItems = 100

function beginning(value: Uint8Array, most: number): readonly Uint8Array[] {
  return value.length > most ? [value.subarray(0, most)] : []
}

/** One automaton in its pass over one layer. */
class Trace {
  readonly #automaton: Automaton
  readonly #layer: Layer
  /** The offset in the layer of each byte that was fed. */
  readonly #fed: Int32Array
  #count = 0
  #state = 0
  readonly spans: [start: number, end: number][] = []
  /** The offset in the layer of the part that could not be fed yet. */
  unfed: number | undefined

  constructor(automaton: Automaton, layer: Layer) {
    this.#automaton = automaton
    this.#layer = layer
    this.#fed = new Int32Array(layer.bytes.length)
  }

  /** `last` is the offset of the last byte of the layer that belongs to it. */
  feed(byte: number, at: number, last = at): void {
    const { next, ending } = this.#automaton
    this.#fed[this.#count++] = at
    this.#state = next(this.#state, byte)
    const length = ending[this.#state] ?? 0
    if (length > 0)
      this.#add(escapeStart(this.#layer, this.#fed[this.#count - length] ?? 0), escapeEnd(this.#layer, last))
  }

  reset(): void {
    this.#state = 0
  }

  #add(start: number, end: number): void {
    const before = this.spans.at(-1)
    if (before && start <= before[1]) {
      before[0] = Math.min(before[0], start)
      before[1] = Math.max(before[1], end)
    } else this.spans.push([start, end])
  }

  /** The offset from which on bytes may still become a match. */
  get open(): number {
    const depth = this.#automaton.depth[this.#state] ?? 0
    const begun = depth === 0 ? Infinity : escapeStart(this.#layer, this.#fed[this.#count - depth] ?? 0)
    return Math.min(
      begun,
      this.unfed === undefined ? Infinity : escapeStart(this.#layer, this.unfed),
      this.#layer.pending ?? Infinity,
    )
  }
}

type Feed = (trace: Trace, bytes: Uint8Array, complete: boolean) => void

const feedText: Feed = (trace, bytes) => {
  for (let at = 0; at < bytes.length; at++) trace.feed(plain(bytes[at] ?? 0), at)
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 9 && byte <= 13)

/** For each byte its form in base64: 0 is no base64, 1 is skipped. A plus may have been turned into a space. */
const base64Bytes = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (isSpace(byte) || '+-='.includes(String.fromCharCode(byte))) return 1
  if (byte === 0x5f || byte === 0x2f) return 0x2f
  return /[A-Za-z0-9]/.test(String.fromCharCode(byte)) ? byte : 0
})

const feedBase64: Feed = (trace, bytes) => {
  for (let at = 0; at < bytes.length; at++) {
    const byte = base64Bytes[bytes[at] ?? 0] ?? 0
    if (byte === 0) trace.reset()
    else if (byte !== 1) trace.feed(byte, at)
  }
}

const betweenHex: ReadonlySet<number> = new Set([0x20, 9, 10, 13, 0x3a, 0x2c, 0x2d])

const feedHex: Feed = (trace, bytes, complete) => {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === 0x30) {
      // The prefix 0x of a byte.
      if (at + 1 === bytes.length && !complete) return void (trace.unfed = at)
      if (((bytes[at + 1] ?? 0) | 0x20) === 0x78) {
        at++
        continue
      }
    }
    const digit = digitOf(byte)
    if (digit >= 0) trace.feed(digit, at)
    else if (!betweenHex.has(byte)) trace.reset()
  }
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const feedNumbers: Feed = (trace, bytes, complete) => {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (!isDigit(byte)) {
      if (!isSpace(byte) && byte !== 0x2c) trace.reset()
      continue
    }
    const from = at
    let number = 0
    for (; isDigit(bytes[at]) && at - from <= 3; at++) number = number * 10 + (bytes[at] ?? 0) - 0x30
    if (at === bytes.length && !complete && at - from <= 3) return void (trace.unfed = from)
    if (at - from > 3 || number > 255) trace.reset()
    else trace.feed(number, from, at - 1)
    while (isDigit(bytes[at])) at++
    at--
  }
}

interface Searched {
  readonly bytes: Uint8Array
  readonly layers: readonly Layer[]
  readonly traces: readonly Trace[]
  readonly spans: readonly Span[]
}

function safeOf({ bytes, layers, traces, spans }: Searched): number {
  let safe = traces.reduce((least, { open }) => Math.min(least, open), bytes.length)
  for (let before = -1; before !== safe;) {
    before = safe
    // A span that ends there may grow; spans are sorted by their start.
    for (const [start, end] of spans.toReversed()) if (end >= safe && start < safe) safe = start
    for (const layer of layers) safe = notInside(layer, safe)
    safe = notInNumber(bytes, safe)
  }
  return safe
}

/** The start of the escape that the offset is within; else the offset. */
function notInside({ starts, ends }: Layer, offset: number): number {
  if (!starts || !ends) return offset
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return low > 0 && (ends[low - 1] ?? 0) > offset ? (starts[low - 1] ?? 0) : offset
}

function notInNumber(bytes: Uint8Array, offset: number): number {
  if (((bytes[offset] ?? 0) | 0x20) === 0x78 && bytes[offset - 1] === 0x30) return offset - 1
  let from = offset
  while (isDigit(bytes[from]) && isDigit(bytes[from - 1]) && offset - from < 4) from--
  return from
}

function hexOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(
    { length: bytes.length * 2 },
    (_, at) => ((bytes[at >> 1] ?? 0) >> (at % 2 === 0 ? 4 : 0)) & 15,
  )
}

/** Shorter forms would match ordinary text. */
const shortestBase64 = 6

/**
 * The base64 characters that depend on the value alone, for each of the three offsets at which it may start; and the
 * value itself, if it is base64 in lines.
 */
function base64Of(bytes: Uint8Array): readonly Uint8Array[] {
  const forms = [0, 1, 2].map((before) => {
    const shifted = new Uint8Array(before + bytes.length)
    shifted.set(bytes, before)
    let binary = ''
    for (const byte of shifted) binary += String.fromCharCode(byte)
    return new TextEncoder().encode(
      btoa(binary).slice(Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6)),
    )
  })
  const inLines = bytes.includes(10) && bytes.every((byte) => base64Bytes[byte] !== 0)
  return [...forms, ...(inLines ? [bytes] : [])]
    .map((form) => form.map((byte) => base64Bytes[byte] ?? 0).filter((byte) => byte > 1))
    .filter((form) => form.length >= shortestBase64)
}
