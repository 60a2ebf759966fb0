/**
 * Redaction by value: secrets are masked wherever they turn up, in any form that a body is likely to have given them.
 *
 * RX1 Masked are the value itself and its JSON, percent, hex and base64 forms, base64 at any place within a longer text.
 * RX2 Values that overlap are masked together: nothing of either is left.
 * RX3 What holds no secret is given back as it is, without a copy.
 * RX4 Values under 8 characters are not masked: they would hit words that are no secrets. Loading refuses them.
 * RX5 Bytes are masked as text is: by the forms' UTF-8. What a stream gives, piece by piece, is in the end what the whole
 *     text would have been; the start of a form is held back until it is known whether it is one.
 */
import { isObject } from './json.js'
import type { Json } from './json.js'

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

/** Undefined when there is nothing to mask. */
export function createRedactor(secrets: readonly string[]): Redactor | undefined {
  const values = new Set(secrets.flatMap((secret) => [secret, secret.trim()]).filter((secret) => secret.length >= shortestSecret))
  if (values.size === 0) return undefined
  const forms = [...new Set([...values].flatMap(formsOf))]
  const inBytes = forms.map((form) => latinOf(new TextEncoder().encode(form)))
  const text = (given: string): string => masked(given, spansOf(given, forms))
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value)
    // A secret of digits may come back as a number.
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : mask
    if (Array.isArray(value)) return listed(value, json)
    return isObject(value) ? fielded(value as { readonly [key: string]: Json }, { json, text }) : value
  }
  const bytes = (given: Uint8Array): Uint8Array => {
    const latin = latinOf(given)
    const clean = masked(latin, spansOf(latin, inBytes))
    return clean === latin ? given : bytesOf(clean)
  }
  const byteStream = (): ByteStream => {
    const stream = createStream(inBytes)
    return { push: (piece) => bytesOf(stream.push(latinOf(piece))), end: () => bytesOf(stream.end()) }
  }
  return { text, json, bytes, stream: () => createStream(forms), byteStream }
}

/** RX5 */
function createStream(forms: readonly string[]): TextStream {
  let held = ''
  return {
    push(piece) {
      const text = held + piece
      const spans = spansOf(text, forms)
      const safe = safeUpTo(text, forms, spans)
      held = text.slice(safe)
      return masked(text.slice(0, safe), spans.filter(([, end]) => end <= safe))
    },
    end() {
      const rest = masked(held, spansOf(held, forms))
      held = ''
      return rest
    },
  }
}

/** Up to where nothing that comes can change what is masked. */
function safeUpTo(text: string, forms: readonly string[], spans: readonly Span[]): number {
  let safe = text.length
  for (const form of forms) {
    for (let at = text.indexOf(form.charAt(0), Math.max(0, text.length - form.length + 1)); at !== -1 && at < safe; at = text.indexOf(form.charAt(0), at + 1)) {
      if (form.startsWith(text.slice(at))) safe = at
    }
  }
  // A span that ends there may grow by what follows it (RX2); spans are sorted by their start.
  for (const [start, end] of spans.toReversed()) if (end >= safe && start < safe) safe = start
  return safe
}

/** One character for each byte. */
function latinOf(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += 8_192) parts.push(String.fromCharCode(...bytes.subarray(at, at + 8_192)))
  return parts.join('')
}

function bytesOf(latin: string): Uint8Array {
  const bytes = new Uint8Array(latin.length)
  for (let at = 0; at < latin.length; at++) bytes[at] = latin.charCodeAt(at)
  return bytes
}

function listed(items: readonly Json[], json: (value: Json) => Json): Json {
  const clean = items.map(json)
  return clean.every((item, index) => item === items[index]) ? items : clean
}

function fielded(fields: { readonly [key: string]: Json }, { json, text }: Pick<Redactor, 'json' | 'text'>): Json {
  const entries = Object.entries(fields)
  const clean = entries.map(([key, value]) => [text(key), json(value)] as const)
  return clean.every(([key, value], index) => key === entries[index]?.[0] && value === entries[index]?.[1]) ? fields : Object.fromEntries(clean)
}

/** RX1. The lower and upper cases of hex digits are forms of their own: text is searched as it is. */
function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const inJson = JSON.stringify(secret).slice(1, -1)
  const inAscii = inJson.replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const percent = wellFormed(secret) ? percentOf(secret) : []
  return [secret, inJson, inAscii, JSON.stringify(inJson).slice(1, -1), inJson.replaceAll('/', String.raw`\/`), ...percent, hex, hex.toUpperCase(), ...base64Of(bytes)]
}

function percentOf(secret: string): readonly string[] {
  const component = encodeURIComponent(secret)
  const strict = component.replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  const forms = [component, strict, encodeURI(secret), strict.replaceAll('%20', '+')]
  return [...forms, ...forms.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase()))]
}

/** A lone surrogate has no percent form. */
function wellFormed(text: string): boolean {
  return !/[\uD800-\uDFFF]/u.test(text)
}

/** The characters that depend on the secret alone, for each place that it may begin at within three bytes. */
function base64Of(bytes: Uint8Array): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const shifted = new Uint8Array(before + bytes.length)
    shifted.set(bytes, before)
    let binary = ''
    for (const byte of shifted) binary += String.fromCharCode(byte)
    const form = btoa(binary).slice(Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6))
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

type Span = readonly [start: number, end: number]

function spansOf(text: string, forms: readonly string[]): readonly Span[] {
  const spans: Span[] = []
  for (const form of forms) {
    // From the next character, not from the end: a form may overlap itself.
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + 1)) spans.push([at, at + form.length])
  }
  return spans.sort(([a], [b]) => a - b)
}

/** RX2. */
function masked(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text
  let clean = ''
  let done = 0
  let open: Span | undefined
  const shut = (): void => {
    if (!open) return
    clean += text.slice(done, open[0]) + mask
    done = open[1]
  }
  for (const [start, end] of spans) {
    if (open && start <= open[1]) open = [open[0], Math.max(open[1], end)]
    else {
      shut()
      open = [start, end]
    }
  }
  shut()
  return clean + text.slice(done)
}
