/**
 * From rows of SQLite to values of the port: checked columns, and errors of the driver as SkeinErrors that say what to
 * do. Owns no statement.
 */
import type { z } from 'zod'
import { defined } from '../../../core/defined.js'
import { isSkeinError, SkeinError } from '../../../core/failure.js'
import type { Json } from '../../../core/json.js'
import { moreSchema, pendingSchema } from '../../head-schema.js'
import type { CommitResult, Pending } from '../../port.js'

/** `thread`: the one whose data is damaged, if it is known. */
export function corrupt(
  detail: string,
  { thread, cause }: { readonly thread?: string; readonly cause?: unknown } = {},
): SkeinError {
  const whose = thread === undefined ? 'the store' : `the store of thread ${thread}`
  return new SkeinError('JOURNAL_CORRUPT', `${whose} is damaged: ${detail}. ${restore}`, {
    cause,
    ...defined({ data: thread === undefined ? undefined : { thread } }),
  })
}

const restore = 'Restore the folder from a back-up (skein doctor says what else is damaged).'

/** A text column in a query, which must ask for bytes (DR3). */
export const bytesColumn = (column: string): string => `CAST(${column} AS BLOB)`

/**
 * The number of a row in a query: SQLite lets it be nothing else. Not the bare column, which brings the words of its
 * declaration along: text of the file (DR3).
 */
export const keyColumn = (column: string): string => `+${column}`

/** An integer column in a query: a value that was damaged into another type becomes empty bytes. */
export const integerColumn = (column: string): string => `iif(typeof(${column}) IN ('integer', 'null'), ${column}, x'')`

/** Several columns as the bytes of one JSON list, which takes a third of the time of single values. */
export function jsonRow(columns: { readonly [name: string]: 'text' | 'number' }): string {
  const checks = { text: ['text', '0'], number: ['integer', `''`] }
  const each = Object.entries(columns).map(
    ([name, kind]) => `iif(typeof(${name}) IN ('${checks[kind][0]}', 'null'), ${name}, ${checks[kind][1]})`,
  )
  return bytesColumn(`json_array(${each.join(', ')})`)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function text(value: unknown): string {
  if (typeof value === 'string') return value // from a JSON row
  if (!(value instanceof Uint8Array)) throw corrupt(`expected text, found ${typeof value}`)
  try {
    return utf8.decode(value)
  } catch (cause) {
    throw corrupt('a text is not UTF-8', { cause })
  }
}

export function integer(value: unknown): number {
  if (Number.isSafeInteger(value)) return Number(value)
  throw corrupt(`expected a number, found ${typeof value}`)
}

export function optionalText(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : text(value)
}

export function optionalInteger(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : integer(value)
}

export function json(value: unknown): Json {
  const source = text(value)
  try {
    const parsed: Json = JSON.parse(source)
    return parsed
  } catch (error) {
    throw corrupt('a stored value is not JSON', { cause: error })
  }
}

export function texts(value: unknown): string[] {
  const parsed = json(value)
  if (!Array.isArray(parsed)) throw corrupt('expected a list of texts')
  return parsed.map(text)
}

export function pendings(value: unknown): Pending[] {
  const parsed = pendingSchema().safeParse(json(value))
  if (!parsed.success) throw corrupt('expected what a thread waits for')
  return parsed.data
}

export function optionalFields(value: unknown): z.infer<ReturnType<typeof moreSchema>> {
  const parsed = moreSchema().safeParse(json(value))
  if (!parsed.success) throw corrupt('expected what a thread is called')
  return parsed.data
}

export function bytesIn(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw corrupt(`expected bytes, found ${typeof value}`)
}

/** The hash of a blob as the column has it. */
export function blobKey(hash: string): Uint8Array {
  return Buffer.from(hash, 'hex')
}

/** The damage in a few words, for use inside another sentence. */
export function damageIn(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return message.replace(/^the store is damaged: /, '').replace(`. ${restore}`, '')
}

/** Runs a read, perhaps of one thread; an error of the driver becomes a SkeinError. */
export function reading<T>(read: () => T, thread?: string): T {
  try {
    return read()
  } catch (error) {
    const failed = sqliteFailure('read', error)
    if (thread === undefined || failed.code !== 'JOURNAL_CORRUPT' || failed.data?.['thread'] !== undefined) throw failed
    throw new SkeinError(failed.code, failed.message.replace('the store', `the store of thread ${thread}`), {
      cause: failed,
      data: { thread },
    })
  }
}

/**
 * What the driver says of a damaged store. A constraint belongs to it: the one writer gives no number twice and leaves
 * no column out, so a row that is in its way is one that nobody wrote.
 */
const damageText = /malformed|not a database|corrupt|constraint failed/i

/** An error of the driver as a SkeinError that says what to do. */
export function sqliteFailure(action: 'read' | 'write', error: unknown): SkeinError {
  if (isSkeinError(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  if (damageText.test(message)) return corrupt(message, { cause: error })
  return new SkeinError(
    'STORE_FAILED',
    `the store could not ${action}: ${message}. Nothing of this ${action} was kept; check the disk (space, ` +
      `permissions), then try again.`,
    { retry: true, cause: error },
  )
}

/** One of several commits that stand or fall together was refused: nothing of them may be kept. */
export class PartRefused extends Error {
  readonly result: Extract<CommitResult, { ok: false }>

  constructor(result: Extract<CommitResult, { ok: false }>) {
    super('one of several commits was refused')
    this.result = result
  }
}
