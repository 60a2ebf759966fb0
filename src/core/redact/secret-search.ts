/**
 * Where secrets are in bytes, in whatever dress: as they are and under up to three layers of escapes (unescape.ts),
 * in base64 at any place within a longer text and broken into lines, in hex with or without something between, as a
 * list of byte values.
 *
 * - One pass for each layer: the work is linear in the bytes, whatever the secrets are (AU1).
 * - `safe` is a place up to which nothing that may follow changes what was found, and from which a search may begin
 *   anew.
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

/** `complete`: nothing follows. */
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

/** A value may hold what looks like an escape, which is then taken off with those that someone put over it. */
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

/** What Node shows of a buffer, and of a typed array, when it is printed: the beginning. */
const shownBytes = 50
const shownItems = 100

function beginning(value: Uint8Array, most: number): readonly Uint8Array[] {
  return value.length > most ? [value.subarray(0, most)] : []
}

/** An automaton on its way through one layer. */
class Trace {
  readonly #automaton: Automaton
  readonly #layer: Layer
  /** Where in the layer each byte that was fed begins. */
  readonly #fed: Int32Array
  #count = 0
  #state = 0
  readonly spans: [start: number, end: number][] = []
  /** Where in the layer the part begins that could not be fed yet. */
  unfed: number | undefined

  constructor(automaton: Automaton, layer: Layer) {
    this.#automaton = automaton
    this.#layer = layer
    this.#fed = new Int32Array(layer.bytes.length)
  }

  /** `last` is the last byte of the layer that belongs to it. */
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

  /** From where on it may still become something. */
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

/**
 * For each byte what it is in base64: 0 is nothing of it, 1 is passed over. A plus may have become a space on its way.
 */
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
      // 0x before each.
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
    // A span that ends there may grow by what follows it; spans are sorted by their start.
    for (const [start, end] of spans.toReversed()) if (end >= safe && start < safe) safe = start
    for (const layer of layers) safe = notInside(layer, safe)
    safe = notInNumber(bytes, safe)
  }
  return safe
}

/** The beginning of the escape that the place is in the middle of. */
function notInside({ starts, ends }: Layer, place: number): number {
  if (!starts || !ends) return place
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) < place) low = middle + 1
    else high = middle
  }
  return low > 0 && (ends[low - 1] ?? 0) > place ? (starts[low - 1] ?? 0) : place
}

function notInNumber(bytes: Uint8Array, place: number): number {
  if (((bytes[place] ?? 0) | 0x20) === 0x78 && bytes[place - 1] === 0x30) return place - 1
  let from = place
  while (isDigit(bytes[from]) && isDigit(bytes[from - 1]) && place - from < 4) from--
  return from
}

function hexOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(
    { length: bytes.length * 2 },
    (_, at) => ((bytes[at >> 1] ?? 0) >> (at % 2 === 0 ? 4 : 0)) & 15,
  )
}

/** Shorter ones would be found where there is none. */
const shortestBase64 = 6

/**
 * The characters that depend on the value alone, for each place that it may begin at within three bytes; and itself,
 * if it is base64 in lines.
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
