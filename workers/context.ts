/**
 * Contexts (T9): a value of the thread that a tool, or all tools of the thread, keep from call to call, typed by a schema.
 *
 * CX1 A value that does not fit its schema is never written; one that was written under another schema is shown as it is.
 * CX2 Merging keeps the fields that the schema does not know: tools may know the shared context in part.
 */
import type { z } from 'zod'
import { SkeinError } from '../src/core/failure.js'
import { isObject, toJson } from '../src/core/json.js'
import type { Json } from '../src/core/json.js'
import type { Values } from './values.js'

export interface Context {
  readonly tool: string
  readonly key: string
  readonly field: 'contextSchema' | 'sharedSchema'
  readonly schema: z.ZodType | undefined
}

/** The latest value; before the first, what the schema makes of nothing. */
export function shown(values: Values, context: Context): unknown {
  const { schema } = context
  if (!schema) return undefined
  const value = values.readNow(context.key) ?? {}
  const { success, data } = schema.safeParse(value)
  return success ? data : value
}

export function merged(values: Values, context: Context, part: object): void {
  const { schema, tool, field, key } = context
  const setter = field === 'contextSchema' ? 'setContext' : 'setShared'
  if (!schema) throw new SkeinError('BAD_OPTION', `${tool} calls ${setter}, and its definition has no ${field}; give it one`)
  if (!isObject(part)) throw new SkeinError('BAD_OPTION', `${setter} of ${tool} was given ${part === null ? 'null' : typeof part}; give it an object with the fields to change`)
  const before = values.readNow(key)
  const whole = { ...(isObject(before) ? before : {}), ...fieldsOf(part) }
  const { success, data, error } = schema.safeParse(whole)
  if (!success) {
    const text = error.issues.map(({ path, message }) => `${path.join('.') || '(context)'}: ${message}`).join('; ')
    throw new SkeinError('TOOL_OUTPUT_INVALID', `${setter} of ${tool} would make what its ${field} does not allow: ${text}`)
  }
  values.write(key, isObject(data) ? toJson({ ...whole, ...data }) : toJson(data))
}

/** A field that is given as undefined is removed. */
function fieldsOf(part: object): { readonly [key: string]: Json | undefined } {
  return Object.fromEntries(Object.entries(part).map(([key, value]: [string, unknown]) => [key, value === undefined ? undefined : toJson(value)]))
}
