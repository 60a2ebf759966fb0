/**
 * What models and tools have said, in a form that providers take: a name or half a character that one of them refuses
 * would stand in the thread for ever, and block it.
 */
import { isObject } from '../core/json.js'
import type { Json } from '../core/json.js'

const half = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g

/** Half a surrogate pair is no text in JSON that others read. */
export function sendableText(text: string): string {
  return text.replaceAll(half, '\uFFFD')
}

export function sendableJson(value: Json): Json {
  if (typeof value === 'string') return sendableText(value)
  if (Array.isArray(value)) return value.map((item: Json) => sendableJson(item))
  if (!isObject(value)) return value
  const fields = Object.entries(value as { readonly [key: string]: Json })
  return Object.fromEntries(fields.map(([key, field]) => [sendableText(key), sendableJson(field)]))
}

/** A model may call what is no name at all; it reads the error to that beside it. */
export function sendableName(name: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return /^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`.slice(0, 64)
}
