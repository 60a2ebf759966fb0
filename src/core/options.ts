/**
 * Options as callers give them. An unknown option is an error, never ignored: a caller who misspells one must hear
 * of it.
 */
import type { z } from 'zod'
import { SkeinError } from './failure.js'
import { isObject } from './json.js'

/** Throws BAD_OPTION for what does not fit; `what` says where it was given. */
export function checkOptions<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  return dataOf(schema, schema.safeParse(value), what)
}

/** The same for what a process is given once: zod would compile the schema first, which takes longer than the check. */
export function checkOnce<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  return dataOf(schema, schema.safeParse(value, { jitless: true }), what)
}

function dataOf<Value>(schema: z.ZodType<Value>, checked: z.ZodSafeParseResult<Value>, what: string): Value {
  if (checked.success) return checked.data
  throw new SkeinError('BAD_OPTION', `${what}: ${mistakesIn(checked.error, namesIn(schema))}`)
}

/** In one line. `names`: of the options there are. */
function mistakesIn({ issues }: z.ZodError, names: readonly string[]): string {
  const mistakes = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  const isUnknown = issues.some(({ code, path }) => code === 'unrecognized_keys' && path.length === 0)
  return [...mistakes, ...(isUnknown && names.length > 0 ? [`there are: ${names.join(', ')}`] : [])].join('; ')
}

function namesIn(schema: z.ZodType): readonly string[] {
  return 'shape' in schema && isObject(schema.shape) ? Object.keys(schema.shape) : []
}
