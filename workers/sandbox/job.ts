/**
 * Checks the arguments of `runCode` and fills in the defaults. Owns the limits of the options and their error messages.
 *
 * - A bad option never throws: `toJob` returns the message for a `link_error`.
 */
import { z } from 'zod'
import { toJson } from '../../src/core/json.js'
import type { HostFunction } from '../../src/tools/code.js'
import type { GuestJob } from './wire.js'

/** The engine needs some heap itself, and is built for less than 2 GB. */
const leastMemoryBytes = 2 ** 20
const mostMemoryBytes = 2 ** 30
const longestMs = 3_600_000

const identifier = z
  .string()
  .regex(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u, 'must be a name that JavaScript can import')
const hostFunction = z.custom<HostFunction>((value) => typeof value === 'function', 'must be a function')
const data = z.custom<unknown>((value) => typeof value !== 'function', 'is a function; pass functions by `imports`')
const specifier = z
  .string()
  .regex(/^(?!(?:host|code)$|skein:)/, '`host`, `code` and what begins with `skein:` are not free')

const globalName = z.string().regex(/^(?!(?:undefined|NaN|Infinity)$)/, 'cannot be a global')

const jobOptions = z.strictObject({
  language: z.enum(['js', 'ts']).default('js'),
  execute: z
    .union([
      identifier.transform((name) => ({ name, args: [] as unknown[] })),
      z.strictObject({ name: identifier, args: z.array(data).default([]) }),
    ])
    .optional(),
  imports: z.record(identifier, hostFunction).default({}),
  globals: z.record(globalName, data).default({}),
  modules: z.record(specifier, z.string()).default({}),
  memoryLimitBytes: z
    .int()
    .min(leastMemoryBytes)
    .max(mostMemoryBytes)
    .default(64 * 2 ** 20),
  timeoutMs: z.number().positive().max(longestMs).default(5_000),
})

export interface GuestProgram extends Omit<GuestJob, 'imports'> {
  readonly imports: readonly (readonly [name: string, body: HostFunction])[]
}

export function toJob(source: unknown, options: unknown): GuestProgram | { readonly bad: string } {
  if (typeof source !== 'string')
    return { bad: `the code must be a text, and it is ${source === null ? 'null' : typeof source}` }
  const parsed = jobOptions.safeParse(options ?? {})
  if (!parsed.success) return { bad: `options of runCode: ${parsed.error.issues.map(sentence).join('; ')}` }
  const { execute, imports, globals, modules, ...rest } = parsed.data
  return {
    ...rest,
    modules: new Map([['code', source], ...Object.entries(modules)]),
    execute: execute && { name: execute.name, args: JSON.stringify(toJson(execute.args)) },
    imports: Object.entries(imports),
    globals: JSON.stringify(toJson(globals)),
  }
}

function sentence(issue: z.core.$ZodIssue): string {
  const at = issue.path.join('.')
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
  return at === '' ? message : `${at}: ${message}`
}
