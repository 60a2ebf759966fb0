/**
 * Redaction by value: secrets are masked wherever they turn up, in any form that a body is likely to have given them.
 *
 * - Masked are the value itself and what says it under escapes (JSON, percent, entities, in any mixture), in hex,
 *   in base64 and as a list of bytes (secret-search.ts). Each line of a value is a value.
 * - Values that overlap are masked together: nothing of either is left.
 * - What holds no secret is given back as it is, without a copy.
 * RX4 Values under 8 characters are not masked: they would hit words that are no secrets. Loading refuses them.
 * RX5 Bytes are masked as text is. What a stream gives, piece by piece, is in the end what the whole text would have
 *     been; the start of a form is held back until it is known whether it is one.
 * - What an error of JSON.parse quotes is masked if a piece of it is of a value: it is cut wherever the parser stood.
 */
import { isObject } from '../json.js'
import type { Json } from '../json.js'
import { createSearch } from './secret-search.js'
import type { SecretSearch, Span } from './secret-search.js'

export interface Redactor {
  text(text: string): string
  json(value: Json): Json
  /** The same bytes where nothing is to be masked. */
  bytes(bytes: Uint8Array): Uint8Array
  stream(): TextStream
  byteStream(): ByteStream
}

/** `end` gives what was held back. */
export interface TextStream {
  push(piece: string): string
  end(): string
}

export interface ByteStream {
  push(piece: Uint8Array): Uint8Array
  end(): Uint8Array
}

export const mask = '[redacted]'

/** Shorter ones cannot be masked (RX4). */
export const shortestSecret = 8

const encoder = new TextEncoder()
const maskBytes = encoder.encode(mask)

/** Undefined when there is nothing to mask. */
export function createRedactor(secrets: readonly string[]): Redactor | undefined {
  const values = [...new Set(secrets.flatMap(valuesOf))].filter((value) => value.length >= shortestSecret)
  if (values.length === 0) return undefined
  const search = createSearch(values.map((value) => encoder.encode(value)))
  const pieces = createPieces(values)
  const text = (given: string): string => {
    // Nothing that says a value is shorter than it.
    if (given.length < shortestSecret) return given
    const { spans } = search(encoder.encode(given), true)
    return withoutQuotes(spans.length === 0 ? given : maskedText(given, spans), pieces)
  }
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value)
    // A secret of digits may come back as a number.
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : mask
    if (Array.isArray(value)) return saysSecret(value, search) ? mask : listed(value, json)
    return isObject(value) ? fielded(value as { readonly [key: string]: Json }, { json, text }) : value
  }
  const bytes = (given: Uint8Array): Uint8Array => {
    const { spans } = search(given, true)
    return spans.length === 0 ? given : maskedBytes(given, spans)
  }
  return { text, json, bytes, stream: () => createTextStream(search), byteStream: () => createByteStream(search) }
}

/** The value, and each line of it. What stands around the body of a key is no secret. */
function valuesOf(secret: string): readonly string[] {
  const lines = secret.split(/[\r\n]+|\\r\\n|\\n/).map((line) => line.trim())
  const body = lines.filter((line) => !/^-----.*-----$/.test(line))
  return [secret, secret.trim(), ...(lines.length > 1 ? [...body, body.join('\n')] : [])]
}

/** RX5. While much is held back it is not looked at again for every few bytes: over a stream the work stays linear. */
function createByteStream(search: SecretSearch): ByteStream {
  let held: Uint8Array[] = []
  let before = 0
  let fresh = 0
  const take = (): Uint8Array => {
    const bytes = joined(held)
    held = []
    before = 0
    fresh = 0
    return bytes
  }
  return {
    push(piece) {
      held.push(piece)
      fresh += piece.length
      if (fresh < before / patience) return new Uint8Array()
      const bytes = take()
      const { spans, safe } = search(bytes, false)
      held.push(bytes.subarray(safe))
      before = bytes.length - safe
      return maskedBytes(
        bytes.subarray(0, safe),
        spans.filter(([, end]) => end <= safe),
      )
    },
    end() {
      const rest = take()
      return maskedBytes(rest, search(rest, true).spans)
    },
  }
}

const patience = 16

/** Half of a character is held back, too. */
function createTextStream(search: SecretSearch): TextStream {
  const held: string[] = []
  let before = 0
  let fresh = 0
  const take = (): string => {
    const text = held.join('')
    held.length = 0
    before = 0
    fresh = 0
    return text
  }
  return {
    push(piece) {
      held.push(piece)
      fresh += piece.length
      if (fresh < before / patience) return ''
      const text = take()
      const whole = /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
      const { spans, safe } = search(encoder.encode(whole), false)
      const [upTo = 0] = charsAt(whole, [safe])
      held.push(text.slice(upTo))
      before = text.length - upTo
      return maskedText(
        whole.slice(0, upTo),
        spans.filter(([, end]) => end <= safe),
      )
    },
    end() {
      const rest = take()
      return maskedText(rest, search(encoder.encode(rest), true).spans)
    },
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function maskedBytes(bytes: Uint8Array, spans: readonly Span[]): Uint8Array {
  let done = 0
  const parts = united(spans).flatMap(([start, end]) => {
    const before = bytes.subarray(done, start)
    done = end
    return [before, maskBytes]
  })
  return joined([...parts, bytes.subarray(done)])
}

function maskedText(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text
  const places = charsAt(text, united(spans).flat())
  let clean = ''
  let done = 0
  for (let at = 0; at < places.length; at += 2) {
    clean += text.slice(done, places[at]) + mask
    done = places[at + 1] ?? text.length
  }
  return clean + text.slice(done)
}

/** Where in a text these places of its UTF-8 are; they are sorted. One inside of a character is where that begins. */
function charsAt(text: string, places: readonly number[]): readonly number[] {
  const found: number[] = []
  let byte = 0
  let char = 0
  for (const place of places) {
    while (char < text.length) {
      const code = text.codePointAt(char) ?? 0
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
      if (byte + size > place) break
      byte += size
      char += code < 0x10000 ? 1 : 2
    }
    found.push(char)
  }
  return found
}

function united(spans: readonly Span[]): readonly Span[] {
  const all: [number, number][] = []
  for (const [start, end] of spans) {
    const before = all.at(-1)
    if (before && start <= before[1]) before[1] = Math.max(before[1], end)
    else all.push([start, end])
  }
  return all
}

/** A list of the bytes of a secret. */
function saysSecret(items: readonly Json[], search: SecretSearch): boolean {
  const bytes =
    items.length >= shortestSecret &&
    items.every((item) => typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255)
  return bytes && search(Uint8Array.from(items, Number), true).spans.length > 0
}

function listed(items: readonly Json[], json: (value: Json) => Json): Json {
  const clean = items.map(json)
  return clean.every((item, index) => item === items[index]) ? items : clean
}

function fielded(fields: { readonly [key: string]: Json }, { json, text }: Pick<Redactor, 'json' | 'text'>): Json {
  const entries = Object.entries(fields)
  const clean = entries.map(([key, value]) => [text(key), json(value)] as const)
  return clean.every(([key, value], index) => key === entries[index]?.[0] && value === entries[index]?.[1])
    ? fields
    : Object.fromEntries(clean)
}

const quoted = /"([^\n]{4,80}?)"((?:\.\.\.)? is not valid JSON)/g
const pieceLength = 4

/** Whether a text has a piece of a value; made when it is first asked. */
function createPieces(values: readonly string[]): (text: string) => boolean {
  let known: Set<string> | undefined
  const piecesOf = (text: string): string[] =>
    Array.from({ length: Math.max(0, text.length - pieceLength + 1) }, (_, at) => text.slice(at, at + pieceLength))
  return (text) => {
    known ??= new Set(values.flatMap(piecesOf))
    return piecesOf(text).some((piece) => known?.has(piece))
  }
}

function withoutQuotes(text: string, hasPiece: (text: string) => boolean): string {
  if (!text.includes('is not valid JSON')) return text
  return text.replaceAll(quoted, (whole, quote: string, rest: string) => (hasPiece(quote) ? `"${mask}"${rest}` : whole))
}
