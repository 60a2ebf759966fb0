/**
 * Reads entries. Crossing from SQLite to JavaScript costs more than finding the rows, so the entries of one thread
 * cross as three texts per page, which takes half the time of single rows. Owns that packing and nothing else.
 *
 * - A page whose text does not split into as many entries as SQLite counted (a body that has the separator) is read
 *   again row by row.
 * - A journal that does not end where its thread's row says has lost acknowledged records, or that row is damaged:
 *   reading it to its end is JOURNAL_CORRUPT.
 */
import type { JournalRange, StoredEntry } from '../../port.js'
import { listedAtOnce } from '../../checks.js'
import type { Database, Query, Row } from './driver.js'
import { corrupt, integer, json, integerColumn, bytesColumn, text, keyColumn } from './rows.js'
import { notRemoved } from './schema.js'

export interface JournalReader {
  read(thread: string, range?: JournalRange): readonly StoredEntry[]
  readTree(root: string, range?: JournalRange): readonly StoredEntry[]
}

/** JSON has it only escaped, so bodies rarely contain it; hashes never do (checks.ts). */
const betweenEntries = '\u001e'
/** Measured: 1,000 entries take 3.3 ms cold and 1 ms warm in pages of 100, 4 and 2 as single rows. */
const pageSize = 100
/** Where bytes are counted: SQLite cannot tell the length of a text without reading it. */
const smallPage = 8
/** How many positions `readTree` looks at, per entry of its limit, before it goes through the threads of the tree. */
const windowPerEntry = 4

// An entry belongs to the answer when its last record is after `after`; the inner select finds the one that
// begins at or before it, so that both ends of the search use the index.
const ofThread = `FROM journal
  WHERE tid = ?1
    AND first >= coalesce((SELECT max(first) FROM journal WHERE tid = ?1 AND first <= ?2), 0)
    AND first + count > ?2 + 1
  ORDER BY first LIMIT ?3`
const threadColumns = [keyColumn('tid'), integerColumn('seq')].join(', ')
const columns = 'position, first, count, hash, body'
const safeColumns = [
  keyColumn('position'),
  ...['first', 'count'].map(integerColumn),
  ...['hash', 'body'].map(bytesColumn),
].join(', ')
const packedColumns = [
  `'[' || group_concat(position || ',' || first || ',' || count) || ']'`,
  'group_concat(hash, char(30))',
  'group_concat(body, char(30))',
]
  .map(bytesColumn)
  .join(', ')

export function createJournalReader(database: Database): JournalReader {
  const rowOf = database.query(`SELECT ${threadColumns} FROM threads WHERE id = ? AND ${notRemoved}`)
  const packed = database.query(`SELECT ${packedColumns} FROM (SELECT ${columns} ${ofThread})`)
  const rows = database.query(`SELECT ${safeColumns} ${ofThread}`)

  function page(thread: string, tid: number, range: { readonly after: number; readonly limit: number }): StoredEntry[] {
    const [numbers, hashes, bodies] = packed.one(tid, range.after, range.limit) ?? []
    if (numbers === null) return []
    const entries = unpacked(thread, {
      numbers: json(numbers),
      hashes: text(hashes).split(betweenEntries),
      bodies: text(bodies).split(betweenEntries),
    })
    return entries ?? rows.all(tid, range.after, range.limit).map((row) => entryOf(thread, row))
  }

  /** Whether they end for a reason other than the journal's end. */
  interface Pages {
    readonly found: StoredEntry[]
    readonly isCut: boolean
  }

  function pages(thread: string, tid: number, range: JournalRange): Pages {
    const { limit: most = Number.MAX_SAFE_INTEGER, bytes } = range
    const found: StoredEntry[] = []
    let left = bytes ?? Infinity
    let after = range.after ?? 0
    while (found.length < most) {
      const limit = Math.min(bytes === undefined ? pageSize : smallPage, most - found.length)
      const entries = page(thread, tid, { after, limit })
      for (const entry of entries) {
        found.push(entry)
        left -= entry.body.length
        if (left <= 0) return { found, isCut: true }
      }
      const end = entries.at(-1)
      if (!end || entries.length < limit) break
      after = end.first + end.count - 1
    }
    return { found, isCut: found.length >= most }
  }

  return {
    read(thread, range = {}) {
      for (let row = rowOf.one(thread); row;) {
        const [tid, seq] = [integer(row[0]), integer(row[1])]
        const { found, isCut } = pages(thread, tid, range)
        const last = found.at(-1)
        const end = last ? last.first + last.count - 1 : Math.min(range.after ?? 0, seq)
        if (end === seq || isCut) return found
        const now = rowOf.one(thread)
        // Otherwise we are a client, and the owner has written meanwhile or removed the thread: read again.
        if (now?.[0] === tid && now[1] === seq)
          throw corrupt(`its journal ends at record ${end}, and ${seq} were acknowledged`, { thread })
        row = now
      }
      return []
    },
    readTree: createTreeReader(database),
  }
}

function createTreeReader(database: Database): JournalReader['readTree'] {
  const last = database.query('SELECT max(position) FROM journal')
  const row = `${safeColumns}, ${bytesColumn('threads.id')}`
  const near = `FROM journal CROSS JOIN threads USING (tid)
    WHERE position > ? AND position <= ? AND threads.root = ? AND ${notRemoved} ORDER BY position LIMIT ?`
  // The positions come from the index alone; only the chosen rows are fetched.
  const far = `SELECT ${keyColumn('journal.position')} AS p FROM threads INDEXED BY threads_root
    CROSS JOIN journal INDEXED BY journal_thread ON journal.tid = threads.tid
    WHERE threads.root = ? AND ${notRemoved} AND +journal.position > ? ORDER BY p LIMIT ?`
  const finder = (inWindow: Query, byThreads: Query) => (root: string, after: number, limit: number) => {
    const until = after + Math.max(limit, 1) * windowPerEntry
    const found = inWindow.all(after, until, root, limit)
    const end = Number(last.one()?.[0] ?? 0)
    return found.length >= limit || until >= end ? found : byThreads.all(root, after, limit)
  }
  const rows = finder(
    database.query(`SELECT ${row} ${near}`),
    database.query(
      `SELECT ${row} FROM (${far}) CROSS JOIN journal ON position = p CROSS JOIN threads USING (tid) ORDER BY position`,
    ),
  )
  const positions = finder(database.query(`SELECT ${keyColumn('position')} ${near}`), database.query(far))
  const at = database.query(
    `SELECT ${row} FROM journal CROSS JOIN threads USING (tid) WHERE position = ? AND ${notRemoved}`,
  )
  return (root, { after = 0, limit = listedAtOnce, bytes } = {}) => {
    if (bytes === undefined) return rows(root, after, limit).map((found) => entryOf(text(found[5]), found))
    const entries: StoredEntry[] = []
    let left = bytes
    for (const [position] of positions(root, after, limit)) {
      const found = at.one(integer(position))
      if (!found) continue
      const entry = entryOf(text(found[5]), found)
      entries.push(entry)
      left -= entry.body.length
      if (left <= 0) break
    }
    return entries
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

/** Undefined when a body had the separator inside. */
function unpacked(
  thread: string,
  page: { numbers: unknown; hashes: string[]; bodies: string[] },
): StoredEntry[] | undefined {
  const { numbers, hashes, bodies } = page
  if (!Array.isArray(numbers) || bodies.length !== hashes.length || numbers.length !== 3 * hashes.length)
    return undefined
  return hashes.map((hash, index) => ({
    thread,
    position: integer(numbers[3 * index]),
    first: integer(numbers[3 * index + 1]),
    count: integer(numbers[3 * index + 2]),
    hash,
    body: bodies[index] ?? '',
  }))
}
