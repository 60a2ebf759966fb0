/** Rows of a list: which are found, in which order they come, and the cursor of the last. */
import type { StoredHead } from '../../../backend/port.js'
import type { ThreadOrder } from './thread-info.js'
import { badCursor, hasFields, searchText } from './thread-query.js'
import type { HeadQuery } from './thread-query.js'

/** What of a row its place in a list depends on. */
interface RankedRow {
  readonly head: StoredHead
  readonly born: number
}

export interface ListedRow extends RankedRow {
  /** Where texts are looked for; made by the first search. */
  text: string | undefined
}

export interface HeadPage {
  readonly heads: readonly StoredHead[]
  readonly next?: string
}

/** Collects what a list gives. Its rows stay as they were, whatever happens to those of the table. */
interface FoundRows {
  readonly rows: readonly RankedRow[]
  /** True when no other can be among them. */
  add(row: RankedRow): boolean
}

/** Of rows that are in order. */
export class TakenRows implements FoundRows {
  readonly rows: RankedRow[] = []
  readonly #count: number

  constructor(count: number) {
    this.#count = count
  }

  add({ head, born }: RankedRow): boolean {
    return this.rows.push({ head, born }) >= this.#count
  }
}

/** Of rows in any order, without sorting them all: few come before the last of the best so far. */
export class FirstRows implements FoundRows {
  readonly rows: RankedRow[] = []
  readonly #count: number
  readonly #sort: ThreadOrder

  constructor(count: number, sort: ThreadOrder) {
    this.#count = count
    this.#sort = sort
  }

  add(row: RankedRow): boolean {
    const last = this.rows[this.#count - 1]
    if (last && comesBefore(row, last, this.#sort) > 0) return false
    let [low, high] = [0, this.rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.rows[middle]
      if (other && comesBefore(other, row, this.#sort) < 0) low = middle + 1
      else high = middle
    }
    this.rows.splice(low, 0, { head: row.head, born: row.born })
    this.rows.length = Math.min(this.rows.length, this.#count)
    return false
  }
}

export function toHeadPage(found: readonly RankedRow[], sort: ThreadOrder, limit: number): HeadPage {
  const heads = found.slice(0, limit).map(({ head }) => head)
  const last = found[limit - 1]
  return found.length > limit && last ? { heads, next: cursorOf(last, sort) } : { heads }
}

/** Whether a row is among those that the query asks for, after its cursor. */
export function finderOf(query: HeadQuery): (row: ListedRow) => boolean {
  const { sort = 'created', cursor } = query
  const isAfter = cursor === undefined ? undefined : afterCursor(cursor, sort)
  const text = query.q?.toLowerCase()
  return (row) => (!isAfter || isAfter(row)) && hasFields(row.head, query) && (text === undefined || hasText(row, text))
}

function hasText(row: ListedRow, text: string): boolean {
  row.text ??= searchText(row.head)
  return row.text.includes(text)
}

function costOf({ head: { usage } }: RankedRow): number {
  return usage?.tree?.nanoUsd ?? usage?.nanoUsd ?? 0
}

function keyOf(row: RankedRow, sort: ThreadOrder): number {
  if (sort === 'updated') return row.head.updatedAt
  return sort === 'cost' ? costOf(row) : row.born
}

/** Negative where `a` is listed before `b`. Only `created` begins with the smallest; births decide between equals. */
export function comesBefore(a: RankedRow, b: RankedRow, sort: ThreadOrder): number {
  const difference = keyOf(a, sort) - keyOf(b, sort) || a.born - b.born
  return sort === 'created' ? difference : -difference
}

function cursorOf(row: RankedRow, sort: ThreadOrder): string {
  return sort === 'created' || sort === 'newest' ? String(row.born) : `${keyOf(row, sort)}.${row.born}`
}

function afterCursor(cursor: string, sort: ThreadOrder): (row: RankedRow) => boolean {
  const isPair = sort === 'updated' || sort === 'cost'
  if (!(isPair ? /^-?\d{1,16}\.\d{1,15}$/ : /^\d{1,15}$/).test(cursor)) throw badCursor(cursor)
  const [first = 0, second = 0] = cursor.split('.').map(Number)
  const [key, born] = isPair ? [first, second] : [first, first]
  const sign = sort === 'created' ? 1 : -1
  return (row) => sign * (keyOf(row, sort) - key || row.born - born) > 0
}
