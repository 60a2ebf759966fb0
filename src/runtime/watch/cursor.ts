/** A place in a journal: the position of a commit and a record of it. As text it is the cursor of an event. */
import type { StoredEntry } from '../../backend/port.js'
import { SkeinError } from '../../core/failure.js'

export interface Cursor {
  readonly position: number
  readonly seq: number
}

export function parseCursor(cursor: string | undefined): Cursor {
  if (cursor === undefined) return { position: 0, seq: 0 }
  const [, position, seq] = /^(\d+)\.(\d+)$/.exec(cursor) ?? []
  if (position === undefined || seq === undefined)
    throw new SkeinError('BAD_OPTION', `${JSON.stringify(cursor)} is not a cursor; pass the \`cursor\` of an event`)
  return { position: Number(position), seq: Number(seq) }
}

/** A cursor of a run has position 0: it is found by its sequence alone. */
export function holds(entry: StoredEntry | undefined, { position, seq }: Cursor): boolean {
  return (
    entry !== undefined && (position === 0 || entry.position === position) && entry.first <= seq && lastOf(entry) >= seq
  )
}

export function lastOf({ first, count }: StoredEntry): number {
  return first + count - 1
}
