/**
 * Texts of models and tools in a form that providers accept: a name or half of a surrogate pair that a provider refuses
 * would stay in the transcript and block the thread for good.
 */
import { isObject } from '../core/json.js'
import type { Json } from '../core/json.js'

const half = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g

/** Replaces halves of surrogate pairs: other JSON parsers refuse them. */
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

/** A model may call a tool by a name that no provider accepts; the error of that call follows in the transcript. */
export function sendableName(name: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return /^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`.slice(0, 64)
}
