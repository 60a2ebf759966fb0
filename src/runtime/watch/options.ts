/** Schemas of the options of waits, iterations and views: one field of each name, the same everywhere. */
import { z } from 'zod'
import { lazy } from '../../core/schema.js'

const signal = z.instanceof(AbortSignal).optional()

const fields = {
  signal,
  /** How many may wait, or any number. */
  maxBuffered: z
    .custom<number>((value) => value === Infinity || (Number.isInteger(value) && Number(value) > 0), {
      error: ({ input }) => `maxBuffered is a number of events, 1 or more; this is ${String(input)}`,
    })
    .optional(),
}
const from = z.string().optional()
const until = z.literal('now').optional()
const tree = z.boolean().optional()

export const waitSchema = lazy(() => z.strictObject({ signal }))
export const settledSchema = lazy(() => z.strictObject({ signal, tree }))
export const streamSchema = lazy(() => z.strictObject(fields))
export const eventsSchema = lazy(() => z.strictObject({ ...fields, from, until }))
export const viewSchema = lazy(() => z.strictObject({ ...fields, tree }))
export const threadViewSchema = lazy(() => z.strictObject({ ...fields, from, until, tree }))
