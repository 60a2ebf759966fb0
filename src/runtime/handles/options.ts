/**
 * Options as callers give them. An unknown option is an error, never ignored: a caller who misspells one must hear
 * of it.
 */
import { z } from 'zod'
import { SkeinError } from '../../core/failure.js'

export interface ReasonOption {
  /** Why, for the journal and for whoever reads it. */
  readonly reason?: string
}

export interface TreeOption {
  /** The thread and all below it. */
  readonly tree?: boolean
}

export const reasonSchema = z.strictObject({ reason: z.string().exactOptional() })
export const treeSchema = z.strictObject({ tree: z.boolean().exactOptional() })
export const pauseSchema = z.strictObject({ reason: z.string().exactOptional(), tree: z.boolean().exactOptional() })

export function check<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  throw new SkeinError('BAD_OPTION', `${what}: ${z.prettifyError(checked.error)}`)
}
