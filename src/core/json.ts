/**
 * Plain JSON values: the only values that records, messages and tool results are made of.
 *
 * - `canonical` gives equal text for equal values, whatever the order of their keys.
 * - `toJson` never throws and never keeps a reference to what it was given; what JSON cannot say
 *   (a function, a cycle, a bigint, a field that throws when it is read) becomes a short text that says so.
 *   What it gives is what comes back from the journal.
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
  return plain(value, new Set())
}

function plain(value: unknown, above: Set<object>): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // JSON has no -0.
      return Number.isFinite(value) ? value + 0 : String(value)
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

/** Deeper than anyone means it, and still far from what JSON.stringify can take. */
const deepest = 500

/** `above` holds what the value is inside of. */
function plainObject(value: object, above: Set<object>): Json {
  if (above.has(value)) return '[cycle]'
  if (above.size === deepest) return `[deeper than ${deepest} levels]`
  above.add(value)
  const json = fieldsOf(value, above)
  above.delete(value)
  return json
}

function fieldsOf(value: object, path: Set<object>): Json {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (value instanceof RegExp) return textOf(value)
  if (value instanceof Promise) return '[promise]'
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
  if (value instanceof Map)
    return plain(Object.fromEntries(Array.from(value, ([key, item]) => [textOf(key), item])), path)
  if (value instanceof Set) return plain([...value], path)
  if (Array.isArray(value)) {
    const items: Json[] = []
    // By index: a hole is null, as JSON has it.
    for (let index = 0; index < value.length; index++) items.push(plain(value[index], path))
    return items
  }
  const own = fieldOf(value, 'toJSON')
  if (typeof own === 'function') return plain(spoken(value, own), path)
  const fields: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const field = fieldOf(value, key)
    if (field === undefined || typeof field === 'function') continue
    if (key === '__proto__')
      Object.defineProperty(fields, key, {
        value: plain(field, path),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else fields[key] = plain(field, path)
  }
  return fields
}

/** What a value says of itself (a URL, a decimal). */
function spoken(value: object, say: Function): unknown {
  try {
    return say.call(value)
  } catch (thrown) {
    return `[not readable: ${textOf(thrown)}]`
  }
}

function fieldOf(value: object, key: string): unknown {
  try {
    return (value as { readonly [key: string]: unknown })[key]
  } catch (thrown) {
    return `[not readable: ${textOf(thrown)}]`
  }
}

/** Whether its JSON text would have more than `limit` characters, about; looks no further than it must. */
export function longerThan(value: Json, limit: number): boolean {
  return left(value, limit) < 0
}

function left(value: Json, room: number): number {
  if (typeof value === 'string') return room - value.length - 2
  if (typeof value !== 'object' || value === null) return room - 4
  let rest = room - 2
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) if ((rest = left(item, rest - 1)) < 0) return rest
  } else {
    const fields = value as { readonly [key: string]: Json }
    for (const key in fields) if ((rest = left(fields[key] ?? null, rest - key.length - 4)) < 0) return rest
  }
  return rest
}

/** A text for anything, also for what has none of its own. */
export function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
