/**
 * The error of a body in a form that can be sent between threads: for `shouldRetry`, and for logs. It is never
 * recorded; the journal has a `Failure`.
 *
 * - Fields that are not JSON, or too long, are left out.
 * - A text is masked before it is cut, because half a secret is not recognised.
 */
import { defined } from './defined.js'
import { isObject, textOf, toJson } from './json.js'
import type { Json } from './json.js'

export interface Thrown {
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** Own fields of the error, such as code and status. */
  readonly fields: Readonly<Record<string, Json>>
  readonly cause?: Thrown
}

const mostCauses = 4
const mostFields = 32
const longest = 8_192

const unmasked = (text: string): string => text

export function toThrown(value: unknown, mask = unmasked, causes = mostCauses): Thrown | undefined {
  if (!(value instanceof Error)) return undefined
  const cause = causes > 0 ? toThrown(value.cause, mask, causes - 1) : undefined
  const cut = (text: string): string => mask(text).slice(0, longest)
  return {
    name: cut(textOf(value.name)),
    message: cut(textOf(value.message)),
    fields: fieldsOf(value),
    ...defined({ stack: typeof value.stack === 'string' ? cut(value.stack) : undefined, cause }),
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

/** An `Error` with the same name, message, stack and fields. */
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
    fields: isObject(fields) ? fields : {},
    ...defined({
      stack: thrown.stack === undefined ? undefined : mask.text(thrown.stack),
      cause: thrown.cause && maskThrown(thrown.cause, mask),
    }),
  }
}
