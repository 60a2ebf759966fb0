/**
 * The heads of a local store: one row of `threads` each. Owns its queries and the decoding of that row.
 *
 * - A head that cannot be decoded is given as `damaged` (J11) and does not hinder the others. A row whose id cannot be
 *   read is left out, with a warning.
 */
import { defined } from '../../../core/defined.js'
import type { HeadFilter, Heads, StoredHead } from '../../port.js'
import { cursorNumber, damagedHead, listedAtOnce, matches } from '../../checks.js'
import type { Database, Query, Row, Value } from './driver.js'
import {
  bytesIn,
  corrupt,
  damageIn,
  integer,
  jsonRow,
  optionalFields,
  integerColumn,
  optionalInteger,
  optionalText,
  pendings,
  bytesColumn,
  reading,
  text,
  texts,
} from './rows.js'
import { notRemoved } from './schema.js'

export const headColumns = jsonRow({
  tid: 'number',
  id: 'text',
  seq: 'number',
  status: 'text',
  updated: 'number',
  rest: 'number',
  wake: 'number',
  agent: 'text',
  parent: 'text',
  root: 'text',
  path: 'text',
  tags: 'text',
  created: 'number',
  pending: 'text',
  more: 'text',
})

export function createLocalHeads(database: Database, assertOpen: () => void): Omit<Heads, 'follow'> {
  const one = database.query(`SELECT ${headColumns} FROM threads WHERE id = ? AND ${notRemoved}`)
  const restless = database.query(
    `SELECT ${headColumns} FROM threads 
     WHERE (rest = 0 OR wake IS NOT NULL OR status = 'awaiting_variables') AND ${notRemoved} ORDER BY tid`,
  )
  const rootOf = database.query(`SELECT ${bytesColumn('root')} FROM threads WHERE id = ?`)
  /** One statement per combination of filters, 64 at most. */
  const lists = new Map<string, Query>()

  function page(filter: HeadFilter): { heads: StoredHead[]; next?: string } {
    const limit = filter.limit ?? listedAtOnce
    // Children share their parent's root, which has an index; without the parent it is a scan.
    const root = filter.root ?? (filter.parent === undefined ? undefined : optionalText(rootOf.one(filter.parent)?.[0]))
    const { where, values } = conditions({ ...filter, ...defined({ root }) })
    let query = lists.get(where)
    if (!query) {
      query = database.query(
        `SELECT ${integerColumn('tid')}, ${headColumns} FROM threads
         WHERE tid > ? AND ${notRemoved}${where} ORDER BY tid LIMIT ?`,
      )
      lists.set(where, query)
    }
    const rows = query.all(cursorNumber(filter.cursor), ...values, limit + 1)
    const heads = rows
      .slice(0, limit)
      .flatMap((row) => headOfRow(row[1]) ?? [])
      .filter((head) => head.damaged === undefined || matches(head, filter))
    const last = rows[limit - 1]
    return rows.length > limit && last ? { heads, next: String(integer(last[0])) } : { heads }
  }

  return {
    get: async (thread) => {
      assertOpen()
      const row = reading(() => one.one(thread), thread)
      return row && headOfRow(row[0])
    },
    async list(filter) {
      assertOpen()
      return reading(() => page(filter))
    },
    async restless() {
      assertOpen()
      return reading(() => restless.all().flatMap((row) => headOfRow(row[0]) ?? []))
    },
  }
}

function conditions(filter: HeadFilter): { where: string; values: Value[] } {
  let where = ''
  const values: Value[] = []
  for (const column of ['root', 'parent', 'status', 'agent'] as const) {
    const value = filter[column]
    if (value === undefined) continue
    where += ` AND ${column} = ?`
    values.push(value)
  }
  if (filter.pending) where += ' AND pending IS NOT NULL'
  if (filter.tag !== undefined) {
    // Damaged tags, which are no JSON, must not fail the whole list.
    where += ' AND CASE WHEN json_valid(tags) THEN EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?) ELSE 1 END'
    values.push(filter.tag)
  }
  return { where, values }
}

const lenient = new TextDecoder()

export function headOfRow(stored: unknown): StoredHead | undefined {
  try {
    return wholeHead(JSON.parse(text(stored)))
  } catch (thrown) {
    const damaged = damageIn(thrown)
    const { 1: thread, 9: root } = readableTexts(stored)
    if (thread !== undefined) return damagedHead({ thread, root: root ?? thread, damaged })
    process.emitWarning(corrupt(`a thread has no id that can be read (${damaged})`))
    return undefined
  }
}

/** The texts of a damaged row; undefined where one cannot be read. */
function readableTexts(stored: unknown): readonly (string | undefined)[] {
  try {
    const row: unknown = JSON.parse(lenient.decode(bytesIn(stored)))
    return Array.isArray(row)
      ? row.map((value: unknown) => (typeof value === 'string' && !value.includes('\ufffd') ? value : undefined))
      : []
  } catch {
    return [] // the caller reports the damage
  }
}

function wholeHead(row: Row): StoredHead {
  const wakeAt = optionalInteger(row[6])
  const parent = optionalText(row[8])
  const pending = optionalText(row[13])
  const more = optionalText(row[14])
  return {
    thread: text(row[1]),
    seq: integer(row[2]),
    status: text(row[3]),
    updatedAt: integer(row[4]),
    rest: integer(row[5]) === 1,
    ...defined({ wakeAt }),
    agent: text(row[7]),
    ...defined({ parent }),
    root: text(row[9]),
    path: texts(row[10]),
    tags: texts(row[11]),
    createdAt: integer(row[12]),
    ...(pending !== undefined && { pending: pendings(pending) }),
    ...(more !== undefined && optionalFields(more)),
  }
}
