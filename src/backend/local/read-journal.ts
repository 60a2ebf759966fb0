/**
 * Reads entries. Crossing from SQLite to JavaScript costs more than finding the rows, so the entries of one
 * thread cross as one text per page: half the time of a row each. Owns the packing and nothing else.
 *
 * P1  A page whose text does not split into as many entries as SQLite counted (a body that has the separator)
 *     is read again row by row.
 */
import type { StoredEntry } from '../port.js'
import { listedAtOnce } from '../checks.js'
import type { Database, Row } from './driver.js'
import { integer, text } from './rows.js'

interface Range {
  readonly after?: number
  readonly limit?: number
}

export interface JournalReader {
  read(thread: string, range?: Range): StoredEntry[]
  readTree(root: string, range?: Range): StoredEntry[]
}

/** JSON has these only escaped, so bodies do not contain them in practice. */
const betweenEntries = '\u001e'
const betweenFields = '\u001f'
const pageSize = 1000
/** How many positions `readTree` tries, per wanted entry, before it goes through the threads of the tree. */
const windowPerEntry = 4

// An entry belongs to the answer when its last record is after `after`; the inner select finds the one that
// begins at or before it, so that both ends of the search use the index.
const ofThread = `FROM journal WHERE tid = ?1 AND first >= coalesce((SELECT max(first) FROM journal WHERE tid = ?1 AND first <= ?2), 0)
  AND first + count > ?2 + 1 ORDER BY first LIMIT ?3`
const columns = 'position, first, count, hash, body'
const packedColumns = `position || char(31) || first || char(31) || count || char(31) || hash || char(31) || body`

export function createJournalReader(database: Database): JournalReader {
  const tidOf = database.query('SELECT tid FROM threads WHERE id = ?')
  const packed = database.query(`SELECT count(*) AS n, group_concat(${packedColumns}, char(30)) AS text FROM (SELECT ${columns} ${ofThread})`)
  const rows = database.query(`SELECT ${columns} ${ofThread}`)
  const last = database.query('SELECT max(position) FROM journal')
  const inWindow = database.query(
    `SELECT ${columns}, threads.id FROM journal CROSS JOIN threads USING (tid)
     WHERE position > ? AND position <= ? AND threads.root = ? ORDER BY position LIMIT ?`,
  )
  // The positions come from the index alone; only the chosen rows are fetched.
  const byThreads = database.query(
    `SELECT ${columns}, threads.id FROM (
       SELECT journal.position AS p FROM threads INDEXED BY threads_root
       CROSS JOIN journal INDEXED BY journal_thread ON journal.tid = threads.tid
       WHERE threads.root = ? AND +journal.position > ? ORDER BY p LIMIT ?
     ) CROSS JOIN journal ON position = p CROSS JOIN threads USING (tid) ORDER BY position`,
  )

  function page(thread: string, tid: number, range: Required<Range>): StoredEntry[] {
    const answer = packed.one(tid, range.after, range.limit)
    const count = integer(answer?.[0])
    if (count === 0) return []
    const parts = text(answer?.[1]).split(betweenEntries)
    const entries = parts.length === count ? unpacked(thread, parts) : undefined
    return entries ?? rows.all(tid, range.after, range.limit).map((row) => entryOf(thread, row))
  }

  return {
    read(thread, range = {}) {
      const row = tidOf.one(thread)
      if (!row) return []
      const wanted = range.limit ?? Number.MAX_SAFE_INTEGER
      const found: StoredEntry[] = []
      let after = range.after ?? 0
      while (found.length < wanted) {
        const limit = Math.min(pageSize, wanted - found.length)
        const entries = page(thread, integer(row[0]), { after, limit })
        for (const entry of entries) found.push(entry)
        const end = entries.at(-1)
        if (!end || entries.length < limit) break
        after = end.first + end.count - 1
      }
      return found
    },
    readTree(root, range = {}) {
      const limit = range.limit ?? listedAtOnce
      const after = range.after ?? 0
      const until = after + Math.max(limit, 1) * windowPerEntry
      const near = inWindow.all(after, until, root, limit)
      const end = Number(last.one()?.[0] ?? 0)
      const all = near.length >= limit || until >= end ? near : byThreads.all(root, after, limit)
      return all.map((row) => entryOf(text(row[5]), row))
    },
  }
}

function entryOf(thread: string, row: Row): StoredEntry {
  return {
    thread,
    position: integer(row[0]),
    first: integer(row[1]),
    count: integer(row[2]),
    hash: text(row[3]),
    body: text(row[4]),
  }
}

/** Undefined when a part is not an entry or they are not in order: the separator was inside (P1). */
function unpacked(thread: string, parts: readonly string[]): StoredEntry[] | undefined {
  const entries: StoredEntry[] = []
  let before = 0
  for (const part of parts) {
    const first = part.indexOf(betweenFields)
    const count = part.indexOf(betweenFields, first + 1)
    const hash = part.indexOf(betweenFields, count + 1)
    const body = part.indexOf(betweenFields, hash + 1)
    const entry: StoredEntry = {
      thread,
      position: Number(part.slice(0, first)),
      first: Number(part.slice(first + 1, count)),
      count: Number(part.slice(count + 1, hash)),
      hash: part.slice(hash + 1, body),
      body: part.slice(body + 1),
    }
    if (body < 0 || !(entry.first > before)) return undefined
    before = entry.first
    entries.push(entry)
  }
  return entries
}
