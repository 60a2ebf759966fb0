/** Options that several methods of handles take, and their schemas. */
import { z } from 'zod'
import { lazy } from '../../core/schema.js'

export interface ReasonOption {
  /** Why, for the journal and for whoever reads it. */
  readonly reason?: string
}

export interface TreeOption {
  /** The thread and all below it. */
  readonly tree?: boolean
}

export interface GrantOptions {
  /** A turn that ended because nothing was left goes on. */
  readonly resume?: boolean
  /** Who gives it, for the journal. */
  readonly by?: string
}

export const reasonSchema = lazy(() => z.strictObject({ reason: z.string().exactOptional() }))
export const cancelSchema = lazy(() => reasonSchema().extend({ run: z.string().min(1).exactOptional() }))
export const treeSchema = lazy(() => z.strictObject({ tree: z.boolean().exactOptional() }))
export const pauseSchema = lazy(() =>
  z.strictObject({ reason: z.string().exactOptional(), tree: z.boolean().exactOptional() }),
)

const text = z.string().optional()

/** Who decides, and why. */
export const decisionSchema = lazy(() => z.strictObject({ by: text, comment: text }))
