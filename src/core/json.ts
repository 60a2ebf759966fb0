/**
 * Plain JSON values: the only values that records, messages and tool results are made of.
 *
 * V1  `canonical` gives equal text for equal values, whatever the order of their keys.
 * V2  `toJson` never throws and never keeps a reference to what it was given; what JSON cannot say
 *     (a function, a cycle, a bigint) becomes a short text that says so.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item)).join(',')}]`
  if (isObject(value)) {
    const fields = value as { readonly [key: string]: Json }
    const keys = Object.keys(fields).sort()
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(fields[key] ?? null)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

export function toJson(value: unknown): Json {
  return plain(value, [])
}

function plain(value: unknown, above: readonly object[]): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return value.toString()
    case 'undefined':
      return null
    case 'function':
      return `[function ${value.name || 'anonymous'}]`
    case 'symbol':
      return value.toString()
    default:
      return typeof value === 'object' && value !== null ? plainObject(value, above) : null
  }
}

function plainObject(value: object, above: readonly object[]): Json {
  if (above.includes(value)) return '[cycle]'
  const path = [...above, value]
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
  if (value instanceof Map) return plain(Object.fromEntries(value), path)
  if (value instanceof Set) return plain([...value], path)
  if (Array.isArray(value)) return value.map((item) => plain(item, path))
  const fields: Record<string, Json> = {}
  for (const [key, field] of Object.entries(value)) {
    if (field !== undefined && typeof field !== 'function') fields[key] = plain(field, path)
  }
  return fields
}
