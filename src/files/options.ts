/** Options of file operations: one that is unknown is refused, as everywhere. */
import { z } from 'zod'
import { checkOptions } from '../core/options.js'
import { lazy } from '../core/schema.js'

/** Most processes never check any. */
const schemas = lazy(() => {
  const mode = z.number().int().min(0).optional()
  const flag = z.boolean().optional()
  const signal = z.instanceof(AbortSignal).optional()
  const path = z.string().optional()
  const count = z.number().min(0).optional()
  return {
    readFile: z
      .literal('utf8', {
        error: ({ input }) => `takes the encoding 'utf8', or none for the bytes; this is ${JSON.stringify(input)}`,
      })
      .optional(),
    // The encoding that a text has anyway: tools that were written for Node name it.
    writeFile: z.union([z.literal('utf8'), z.strictObject({ mode })], "takes 'utf8' or { mode? }").optional(),
    writeStream: z.strictObject({ mode }).optional(),
    mkdir: z.strictObject({ recursive: flag, mode }).optional(),
    rm: z.strictObject({ recursive: flag, force: flag }).optional(),
    grep: z.strictObject({ path, glob: z.string().optional(), limit: count, maxChars: count, signal }).optional(),
    find: z.strictObject({ path, limit: count, signal }).optional(),
  }
})

/** Throws BAD_OPTION; most operations are given none, and cost nothing. */
export function checkFileOptions(operation: keyof ReturnType<typeof schemas>, options: unknown): void {
  if (options !== undefined) checkOptions<unknown>(schemas()[operation], options, `files.${operation}`)
}
