/**
 * What a body threw, as far as it can travel: for the one who decides whether to try again, and for whoever looks for
 * the place. It is never recorded; what is, is a `Failure`.
 *
 * - What is not JSON is left out, and so is what is too long.
 * - A text is masked before it is cut: half a secret is not recognised.
 */
import { defined } from './defined.js'
import { isObject, textOf, toJson } from './json.js'
import type { Json } from './json.js'

export interface Thrown {
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** Its own fields: code, status and whatever else it has. */
  readonly fields: Readonly<Record<string, Json>>
  readonly cause?: Thrown
}

const mostCauses = 4
const mostFields = 32
const longest = 8_192

const asItIs = (text: string): string => text

export function toThrown(value: unknown, mask = asItIs, causes = mostCauses): Thrown | undefined {
  if (!(value instanceof Error)) return undefined
  const cause = causes > 0 ? toThrown(value.cause, mask, causes - 1) : undefined
  const cut = (text: string): string => mask(text).slice(0, longest)
  return {
    name: cut(textOf(value.name)),
    message: cut(textOf(value.message)),
    ...(typeof value.stack === 'string' && { stack: cut(value.stack) }),
    fields: fieldsOf(value),
    ...defined({ cause }),
  }
}

function fieldsOf(value: Error): Record<string, Json> {
  const fields: Record<string, Json> = {}
  for (const [name, field] of Object.entries(value).slice(0, mostFields)) {
    if (typeof field === 'function' || typeof field === 'symbol' || name === 'cause' || name === 'stack') continue
    const json = toJson(field)
    if (JSON.stringify(json).length <= longest) fields[name] = json
  }
  return fields
}

/** An error like it. */
export function fromThrown({ name, message, stack, fields, cause }: Thrown): Error {
  const error = new Error(message, cause ? { cause: fromThrown(cause) } : undefined)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  for (const [field, value] of Object.entries(fields))
    Object.defineProperty(error, field, { value, configurable: true, enumerable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  return error
}

export function maskThrown(thrown: Thrown, mask: { text(text: string): string; json(value: Json): Json }): Thrown {
  const fields = mask.json({ ...thrown.fields })
  return {
    ...thrown,
    message: mask.text(thrown.message),
    ...(thrown.stack !== undefined && { stack: mask.text(thrown.stack) }),
    fields: isObject(fields) ? fields : {},
    ...(thrown.cause && { cause: maskThrown(thrown.cause, mask) }),
  }
}
