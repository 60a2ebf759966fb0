/** The args of the built-in tools, the same for a thread's own files and for a real directory. */
import { z } from 'zod'
import { lazy } from '../../core/schema.js'
import { commandArgs, commandChars, longestTimeoutMs } from './limits.js'

export const readArgs = lazy(() =>
  z.object({
    path: z.string().describe('The file.'),
    offset: z.number().int().min(1).optional().describe('First line to give; the first of the file is 1.'),
    limit: z.number().int().min(1).optional().describe('How many lines to give.'),
  }),
)

export const writeArgs = lazy(() =>
  z.object({
    path: z.string().describe('The file. Directories above it are made.'),
    content: z.string().describe('All that the file will hold.'),
  }),
)

export const editArgs = lazy(() =>
  z.object({
    path: z.string().describe('The file, which must exist.'),
    patch: z
      .string()
      .describe(
        'A unified diff of this one file, with @@ -line,count +line,count @@ headers and lines that match the file ' +
          'exactly.',
      ),
  }),
)

export const grepArgs = lazy(() =>
  z.object({
    pattern: z
      .string()
      .min(1)
      .describe('A regular expression, matched line by line; without backreferences and lookaround.'),
    path: z.string().optional().describe('Directory or file to search. Default: everything.'),
  }),
)

export const lsArgs = lazy(() =>
  z.object({
    path: z.string().optional().describe('The directory. Default: /'),
  }),
)

export const globArgs = lazy(() =>
  z.object({
    pattern: z.string().min(1).describe('Such as **/*.md or src/{a,b}/*.ts'),
    path: z.string().optional().describe('Directory to begin in. Default: /'),
  }),
)

const command = () => ({
  cmd: z
    .string()
    .min(1)
    .max(commandChars)
    .describe('Name of one command; it is not parsed. For pipes: sh with args ["-lc", script].'),
  args: z
    .array(z.string().max(commandChars))
    .max(commandArgs)
    .optional()
    .describe('Its arguments, each passed as it is.'),
})

export const bashArgs = lazy(() =>
  z.object({
    ...command(),
    opts: z
      .object({
        cwd: z.string().optional().describe('Directory to run in.'),
        timeoutMs: z.number().int().min(1).max(longestTimeoutMs).optional().describe('How long it may take.'),
      })
      .optional(),
  }),
)

export type ReadArgs = z.output<ReturnType<typeof readArgs>>
export type WriteArgs = z.output<ReturnType<typeof writeArgs>>
export type EditArgs = z.output<ReturnType<typeof editArgs>>
export type GrepArgs = z.output<ReturnType<typeof grepArgs>>
export type LsArgs = z.output<ReturnType<typeof lsArgs>>
export type GlobArgs = z.output<ReturnType<typeof globArgs>>
export type BashArgs = z.output<ReturnType<typeof bashArgs>>
