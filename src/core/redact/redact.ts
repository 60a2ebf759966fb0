/**
 * Redaction by value: secrets are masked wherever they occur, in every encoding that a tool is likely to produce.
 *
 * - Masked are the value itself and its escaped forms (JSON, percent, entities, in any mixture), hex, base64 and
 *   lists of bytes (secret-search.ts). Each line of a value counts as a value.
 * - Values that overlap are masked together, so that no part of either remains.
 * - Input without a secret is returned as it is, without a copy.
 * RX4 Values under 8 characters are not masked: they would match ordinary words. Loading an app refuses them.
 * RX5 A stream gives the same output as the whole text would: the beginning of a possible match is withheld until it
 *     is decided. Bytes are masked like text.
 * - A quote in an error of JSON.parse is masked if any piece of a value is in it: the parser cuts it anywhere.
 */
import { isObject } from '../json.js'
import type { Json } from '../json.js'
import { createSearch } from './secret-search.js'
import type { SecretSearch, Span } from './secret-search.js'

export interface Redactor {
  text(text: string): string
  json(value: Json): Json
  /** The same array if there is nothing to mask. */
  bytes(bytes: Uint8Array): Uint8Array
  stream(): TextStream
  byteStream(): ByteStream
}

/** `end` returns what was withheld. */
export interface TextStream {
  push(piece: string): string
  end(): string
}

export interface ByteStream {
  push(piece: Uint8Array): Uint8Array
  end(): Uint8Array
}

export const mask = '[redacted]'

/** RX4: shorter values are not masked. */
export const shortestSecret = 8

const encoder = new TextEncoder()
const maskBytes = encoder.encode(mask)

/** Undefined when there is nothing to mask. */
export function createRedactor(secrets: readonly string[]): Redactor | undefined {
  const values = [...new Set(secrets.flatMap(valuesOf))].filter((value) => value.length >= shortestSecret)
  if (values.length === 0) return undefined
  const search = createSearch(values.map((value) => encoder.encode(value)))
  const pieces = createPieces(values)
  const text = (input: string): string => {
    // No form of a value is shorter than the value.
    if (input.length < shortestSecret) return input
    const { spans } = search(encoder.encode(input), true)
    return maskQuotes(spans.length === 0 ? input : maskedText(input, spans), pieces)
  }
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value)
    // A secret of digits may have become a number.
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : mask
    if (Array.isArray(value)) return isSecretBytes(value, search) ? mask : maskedItems(value, json)
    return isObject(value) ? maskedFields(value as { readonly [key: string]: Json }, { json, text }) : value
  }
  const bytes = (input: Uint8Array): Uint8Array => {
    const { spans } = search(input, true)
    return spans.length === 0 ? input : maskedBytes(input, spans)
  }
  return { text, json, bytes, stream: () => createTextStream(search), byteStream: () => createByteStream(search) }
}

/** The value and each of its lines. The BEGIN and END lines of a PEM key are no secret. */
function valuesOf(secret: string): readonly string[] {
  const lines = secret.split(/[\r\n]+|\\r\\n|\\n/).map((line) => line.trim())
  const body = lines.filter((line) => !/^-----.*-----$/.test(line))
  return [secret, secret.trim(), ...(lines.length > 1 ? [...body, body.join('\n')] : [])]
}

/**
 * RX5: a possible match is withheld until it is decided. While much is withheld, it is searched again only after a
 * fraction of that much has arrived, so that the work over a stream stays linear.
 */
function createByteStream(search: SecretSearch): ByteStream {
  let withheld: Uint8Array[] = []
  let searched = 0
  let unsearched = 0
  const take = (): Uint8Array => {
    const bytes = joined(withheld)
    withheld = []
    searched = 0
    unsearched = 0
    return bytes
  }
  return {
    push(piece) {
      withheld.push(piece)
      unsearched += piece.length
      if (unsearched < searched / patience) return new Uint8Array()
      const bytes = take()
      const { spans, safe } = search(bytes, false)
      withheld.push(bytes.subarray(safe))
      searched = bytes.length - safe
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

/** Like the byte stream; half of a surrogate pair is withheld, too. */
function createTextStream(search: SecretSearch): TextStream {
  const withheld: string[] = []
  let searched = 0
  let unsearched = 0
  const take = (): string => {
    const text = withheld.join('')
    withheld.length = 0
    searched = 0
    unsearched = 0
    return text
  }
  return {
    push(piece) {
      withheld.push(piece)
      unsearched += piece.length
      if (unsearched < searched / patience) return ''
      const text = take()
      const whole = /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text
      const { spans, safe } = search(encoder.encode(whole), false)
      const [upTo = 0] = charsAt(whole, [safe])
      withheld.push(text.slice(upTo))
      searched = text.length - upTo
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
  const bounds = charsAt(text, united(spans).flat())
  let clean = ''
  let done = 0
  for (let at = 0; at < bounds.length; at += 2) {
    clean += text.slice(done, bounds[at]) + mask
    done = bounds[at + 1] ?? text.length
  }
  return clean + text.slice(done)
}

/** UTF-8 offsets, sorted, as indices of the text. An offset within a character becomes the start of it. */
function charsAt(text: string, offsets: readonly number[]): readonly number[] {
  const found: number[] = []
  let byte = 0
  let char = 0
  for (const offset of offsets) {
    while (char < text.length) {
      const code = text.codePointAt(char) ?? 0
      const size = utf8Size(code)
      if (byte + size > offset) break
      byte += size
      char += code < 0x10000 ? 1 : 2
    }
    found.push(char)
  }
  return found
}

function utf8Size(code: number): number {
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}

/** Overlapping spans as one. */
function united(spans: readonly Span[]): readonly Span[] {
  const all: [number, number][] = []
  for (const [start, end] of spans) {
    const before = all.at(-1)
    if (before && start <= before[1]) before[1] = Math.max(before[1], end)
    else all.push([start, end])
  }
  return all
}

/** Whether a list of numbers is the bytes of a secret. */
function isSecretBytes(items: readonly Json[], search: SecretSearch): boolean {
  const bytes =
    items.length >= shortestSecret &&
    items.every((item) => typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255)
  return bytes && search(Uint8Array.from(items, Number), true).spans.length > 0
}

function maskedItems(items: readonly Json[], json: (value: Json) => Json): Json {
  const clean = items.map(json)
  return clean.every((item, index) => item === items[index]) ? items : clean
}

function maskedFields(fields: { readonly [key: string]: Json }, { json, text }: Pick<Redactor, 'json' | 'text'>): Json {
  const entries = Object.entries(fields)
  const clean = entries.map(([key, value]) => [text(key), json(value)] as const)
  return clean.every(([key, value], index) => key === entries[index]?.[0] && value === entries[index]?.[1])
    ? fields
    : Object.fromEntries(clean)
}

const quoted = /"([^\n]{4,80}?)"((?:\.\.\.)? is not valid JSON)/g
const pieceLength = 4

/** A test whether a text has a piece of a value; the pieces are computed at the first call. */
function createPieces(values: readonly string[]): (text: string) => boolean {
  let known: Set<string> | undefined
  const piecesOf = (text: string): string[] =>
    Array.from({ length: Math.max(0, text.length - pieceLength + 1) }, (_, at) => text.slice(at, at + pieceLength))
  return (text) => {
    known ??= new Set(values.flatMap(piecesOf))
    return piecesOf(text).some((piece) => known?.has(piece))
  }
}

function maskQuotes(text: string, hasPiece: (text: string) => boolean): string {
  if (!text.includes('is not valid JSON')) return text
  return text.replaceAll(quoted, (whole, quote: string, rest: string) => (hasPiece(quote) ? `"${mask}"${rest}` : whole))
}
