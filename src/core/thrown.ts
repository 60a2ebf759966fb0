/**
 * The error of a body in a form that can be sent between threads: for `shouldRetry`, and for logs. It is never
 * recorded; the journal has a `Failure`. And the line of an app that an error comes from.
 *
 * - Fields that are not JSON, or too long, are left out.
 * - A text is masked before it is cut, because half a secret is not recognised.
 */
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
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

/** Skein's own modules, of the sources or of what was built of them. */
const root = new URL('../../', import.meta.url).pathname
const own = ['src/', 'actors/', 'workers/', 'lib/'].map((folder) => root + folder)
/** The function that loads an app (runtime/app/load.ts); a bundle may have numbered it. */
const loader = /at (?:async )?loadFrom\d* /
const frame = /(?:\(|at (?:async )?)(?:file:\/\/)?(\/[^()]+?)(\?again=\d+)?:(\d+):(\d+)\)?$/

/**
 * Where an error came from while an app was loaded, as `/path/app.ts:12:3`: the first line of its stack that is
 * neither a package's nor Skein's. Undefined where the loader itself threw it. Source maps are on before an app is
 * imported.
 */
export function sourceLineOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return undefined
  for (const line of thrown.stack.split('\n')) {
    const [, path, query = '', row, column] = frame.exec(line.trimEnd()) ?? []
    if (path === undefined) continue
    const { file, at } = inSource(`${path}${query}`, Number(row), Number(column)) ?? {
      file: path,
      at: `${row}:${column}`,
    }
    if (file.includes('/node_modules/')) continue
    if (!own.some((folder) => file.startsWith(folder))) return `${file}:${at}`
    // What is below the loader is whoever loads the app.
    if (loader.test(line)) return undefined
  }
  return undefined
}

/** Node maps a stack by itself, but not where another writes the stacks, as a test runner does. */
function inSource(module: string, row: number, column: number): { file: string; at: string } | undefined {
  const source = findSourceMap(`file://${module}`)?.findEntry(row - 1, column - 1)
  // Bundlers have schemes of their own.
  if (!source || !('originalSource' in source) || !source.originalSource.startsWith('file:')) return undefined
  const { originalSource, originalLine, originalColumn } = source
  return { file: fileURLToPath(originalSource), at: `${originalLine + 1}:${originalColumn + 1}` }
}

/** What was thrown while an app was loaded, as text after its place: `/app/tools/add.ts:3:9: …`. */
export function whereAndWhy(thrown: unknown): string {
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  const where = sourceLineOf(thrown)
  return where === undefined ? why : `${where}: ${why}`
}
