/**
 * Options as callers give them. An unknown option is an error, never ignored: a caller who misspells one must hear
 * of it.
 */
import type { z } from 'zod'
import { SkeinError } from './failure.js'

/** Throws BAD_OPTION for what does not fit; `what` says where it was given. */
export function checkOptions<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  throw new SkeinError('BAD_OPTION', `${what}: ${issuesText(checked.error)}`)
}

/** What is wrong with a value, in one line. */
export function issuesText({ issues }: z.ZodError): string {
  const texts = issues
    .slice(0, 8)
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return texts.join('; ')
}
