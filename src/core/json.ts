/**
 * Plain JSON values: the only values that records, messages and tool results are made of.
 *
 * - `canonical` gives equal text for equal values, whatever the order of their keys.
 * - `toJson` never throws and never keeps a reference to its argument; what JSON cannot express
 *   (a function, a cycle, a bigint, a getter that throws) becomes a short text that says so.
 *   Its result equals what comes back from the journal.
 * - `copyOf` is what comes back from the journal of a value that goes there as it is.
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

/** `ancestors` are the objects that contain the value. */
function plain(value: unknown, ancestors: Set<object>): Json {
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
      return typeof value === 'object' && value !== null ? plainObject(value, ancestors) : null
  }
}

/** No value that is meant is deeper, and JSON.stringify still takes it. */
const maxDepth = 500

function plainObject(value: object, ancestors: Set<object>): Json {
  if (ancestors.has(value)) return '[cycle]'
  if (ancestors.size === maxDepth) return `[deeper than ${maxDepth} levels]`
  // Objects of texts and numbers, which are most of a large value, contain nothing that could lead back to them.
  if (isOrdinary(value)) return plainFields(value, ancestors)
  ancestors.add(value)
  const json = plainContents(value, ancestors)
  ancestors.delete(value)
  return json
}

/** A plain object with no form of its own. */
function isOrdinary(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype && typeof readField(value, 'toJSON') !== 'function'
}

function plainContents(value: object, ancestors: Set<object>): Json {
  if (Array.isArray(value)) {
    const items: Json[] = []
    // By index: a hole is null, as in JSON.
    for (let index = 0; index < value.length; index++) items.push(plain(value[index], ancestors))
    return items
  }
  if (value instanceof Map)
    return plain(Object.fromEntries(Array.from(value, ([key, item]) => [textOf(key), item])), ancestors)
  if (value instanceof Set) return plain([...value], ancestors)
  const builtin = plainBuiltin(value)
  if (builtin !== undefined) return builtin
  const ownToJson = readField(value, 'toJSON')
  return typeof ownToJson === 'function'
    ? plain(callToJson(value, ownToJson), ancestors)
    : plainFields(value, ancestors)
}

/** Objects of the language that are not containers; undefined for any other object. */
function plainBuiltin(value: object): Json | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (value instanceof RegExp) return textOf(value)
  if (value instanceof Promise) return '[promise]'
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
  return undefined
}

function plainFields(value: object, ancestors: Set<object>): Json {
  const fields: Record<string, Json> = {}
  let isAncestor = false
  for (const key of Object.keys(value)) {
    const field = readField(value, key)
    if (field === undefined || typeof field === 'function') continue
    if (!isAncestor && typeof field === 'object' && field !== null) {
      ancestors.add(value)
      isAncestor = true
    }
    const json = typeof field === 'string' ? field : plain(field, ancestors)
    if (key === '__proto__') define(fields, key, json)
    else fields[key] = json
  }
  if (isAncestor) ancestors.delete(value)
  return fields
}

/** Classes such as URL or a decimal bring their own `toJSON`. */
function callToJson(value: object, ownToJson: Function): unknown {
  try {
    return ownToJson.call(value)
  } catch (thrown) {
    return `[not readable: ${textOf(thrown)}]`
  }
}

function readField(value: object, key: string): unknown {
  try {
    return (value as { readonly [key: string]: unknown })[key]
  } catch (thrown) {
    return `[not readable: ${textOf(thrown)}]`
  }
}

/** The same as `JSON.parse(JSON.stringify(value))`, but texts are shared, which makes it fast where they are long. */
export function copyOf<Value>(value: Value): Value {
  return copied(value) as Value
}

/** Undefined: JSON does not have it. Made for every event, so without lists of keys: a plain object has its own. */
function copied(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value + 0 : null
    case 'function':
    case 'symbol':
      return undefined
    case 'object':
      return value === null ? null : copiedObject(value)
    default:
      return value
  }
}

function copiedObject(value: object): unknown {
  if (Array.isArray(value)) return copiedItems(value)
  const form: unknown = Object.getPrototypeOf(value)
  const isPlain = (form === Object.prototype || form === null) && !('toJSON' in value)
  if (isPlain) return copiedFields(value as { readonly [key: string]: unknown })
  const text: string | undefined = JSON.stringify(value)
  return text === undefined ? undefined : JSON.parse(text)
}

/** By index: a hole is null, and so is what JSON does not have. */
function copiedItems(value: readonly unknown[]): unknown[] {
  const items: unknown[] = []
  for (let index = 0; index < value.length; index++) items.push(copied(value[index]) ?? null)
  return items
}

function copiedFields(value: { readonly [key: string]: unknown }): object {
  const fields: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const field = copied(value[key])
    if (field === undefined) continue
    if (key === '__proto__') define(fields, key, field)
    else fields[key] = field
  }
  return fields
}

/** Assigning to `__proto__` would set the prototype. */
function define(fields: object, key: string, value: unknown): void {
  Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true })
}

/** Whether its JSON text would have more than about `limit` characters; stops as soon as that is known. */
export function longerThan(value: Json, limit: number): boolean {
  return remaining(value, limit) < 0
}

/** What is left of `room` characters after the value; negative as soon as it does not fit. */
function remaining(value: Json, room: number): number {
  if (typeof value === 'string') return room - value.length - 2
  if (typeof value !== 'object' || value === null) return room - 4
  let rest = room - 2
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) if ((rest = remaining(item, rest - 1)) < 0) return rest
  } else {
    const fields = value as { readonly [key: string]: Json }
    for (const key in fields) if ((rest = remaining(fields[key] ?? null, rest - key.length - 4)) < 0) return rest
  }
  return rest
}

/** A text for any value, also for one whose `toString` throws. */
export function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
