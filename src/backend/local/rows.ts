/**
 * From what SQLite gives to what the port promises: checked values of a row, and errors of the driver as
 * SkeinErrors that say what to do. Owns no statement.
 */
import { z } from 'zod'
import { isSkeinError, SkeinError } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import type { Head, Pending } from '../port.js'

export function corrupt(detail: string, cause?: unknown): SkeinError {
  return new SkeinError('JOURNAL_CORRUPT', `the store is damaged: ${detail}. Restore the folder from a backup.`, { cause })
}

export function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw corrupt(`expected text, found ${typeof value}`)
}

export function integer(value: unknown): number {
  if (typeof value === 'number') return value
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
    throw corrupt('a stored value is not JSON', error)
  }
}

export function texts(value: unknown): string[] {
  const parsed = json(value)
  if (!Array.isArray(parsed)) throw corrupt('expected a list of texts')
  return parsed.map(text)
}

export function pendings(value: unknown): Pending[] {
  const parsed = pendingSchema.safeParse(json(value))
  if (!parsed.success) throw corrupt('expected what a thread waits for')
  return parsed.data
}

export function more(value: unknown): Pick<Head, 'reference' | 'name' | 'says' | 'reason' | 'dead'> {
  const parsed = moreSchema.safeParse(json(value))
  if (!parsed.success) throw corrupt('expected what a thread is called')
  return parsed.data
}

const moreSchema = z.object({ reference: z.string().exactOptional(), name: z.string().exactOptional(), says: z.string().exactOptional(), reason: z.string().exactOptional(), dead: z.number().exactOptional() })

const pendingSchema = z.array(
  z.object({
    call: z.string(),
    why: z.enum(['approval', 'person', 'variables', 'children']),
    tool: z.string(),
    args: z.json(),
    requestedAt: z.number(),
    missing: z.array(z.string()).exactOptional(),
    request: z.string().exactOptional(),
    prompt: z.string().exactOptional(),
    defaults: z.json().exactOptional(),
    deadlineAt: z.number().exactOptional(),
    atDeadline: z.enum(['approve', 'reject']).exactOptional(),
    unknown: z.literal(true).exactOptional(),
  }),
)

export function bytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw corrupt(`expected bytes, found ${typeof value}`)
}

/** The hash of a blob as the column has it. */
export function blobKey(hash: string): Uint8Array {
  return Buffer.from(hash, 'hex')
}

/** Runs a read; what the driver throws becomes a SkeinError. */
export function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw sqliteFailure('read', error)
  }
}

/** What the driver threw while we tried to read or write. */
export function sqliteFailure(doing: 'read' | 'write', error: unknown): SkeinError {
  if (isSkeinError(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  if (/malformed|not a database|corrupt/i.test(message)) return corrupt(message, error)
  return new SkeinError(
    'STORE_FAILED',
    `the store could not ${doing}: ${message}. Nothing of this ${doing} was kept; check the disk (space, permissions), then try again.`,
    { retry: true, cause: error },
  )
}
