/**
 * Everything that is read from the file of a local store: journals, heads, mail, snapshots, small blobs. The owner
 * uses it on its own connection, a client on a read-only one (in WAL neither waits for the other). Owns no write.
 *
 * RD1 A read sees all that was acknowledged before it began.
 * RD2 A row that is not what the writer wrote is JOURNAL_CORRUPT, never a wrong value.
 */
import type { HeadFilter, Heads, Journal, Mailbox, Snapshots, StoredEntry, StoredHead } from '../port.js'
import { cursorNumber, listedAtOnce } from '../checks.js'
import type { BlobRows } from './blobs.js'
import type { Database, Query, Value } from './driver.js'
import { createJournalReader } from './read-journal.js'
import { blobKey, bytes, corrupt, integer, json, more, optionalInteger, optionalText, pendings, reading, text, texts } from './rows.js'
import { there } from './schema.js'
import type { Row } from './driver.js'

export interface Reader {
  readonly journal: Journal
  readonly heads: Heads
  readonly mailbox: Pick<Mailbox, 'read' | 'waiting'>
  readonly snapshots: Pick<Snapshots, 'get'>
  readonly blobs: Pick<BlobRows, 'find' | 'has'>
}

export function createReader(database: Database, live: () => void): Reader {
  const mail = database.query('SELECT number, id, body FROM mail WHERE thread = ? AND number > ? ORDER BY number')
  const waiting = database.query('SELECT DISTINCT thread FROM mail')
  const snapshot = database.query(`SELECT body FROM snapshots WHERE thread = ?1 AND NOT EXISTS (SELECT 1 FROM threads WHERE id = ?1 AND NOT (${there}))`)
  const blob = database.query('SELECT body FROM blobs WHERE hash = ?')
  const blobThere = database.query('SELECT 1 FROM blobs WHERE hash = ?')
  const journal = createJournalReader(database)
  return {
    journal: {
      read: async (thread, range) => (live(), reading((): StoredEntry[] => journal.read(thread, range))),
      readTree: async (root, range) => (live(), reading((): StoredEntry[] => journal.readTree(root, range))),
    },
    heads: createHeads(database, live),
    mailbox: {
      read: async (thread, after) => {
        live()
        return reading(() =>
          mail.all(thread, after).map((row) => ({ number: integer(row[0]), id: text(row[1]), body: json(row[2]) })),
        )
      },
      waiting: async () => (live(), reading(() => waiting.all().map((row) => text(row[0])))),
    },
    snapshots: {
      get: async (thread) => {
        live()
        const row = reading(() => snapshot.one(thread))
        if (!row) return undefined
        if (!(row[0] instanceof Uint8Array)) throw corrupt(`the snapshot of ${thread} is not bytes`)
        return row[0]
      },
    },
    blobs: {
      find: (hash) => reading(() => {
        const row = blob.one(blobKey(hash))
        return row && bytes(row[0])
      }),
      has: (hash) => reading(() => blobThere.one(blobKey(hash)) !== undefined),
    },
  }
}

const headColumns = 'tid, id, seq, status, updated, rest, wake, agent, parent, root, path, tags, created, pending, more'

function createHeads(database: Database, live: () => void): Heads {
  const one = database.query(`SELECT ${headColumns} FROM threads WHERE id = ? AND ${there}`)
  const restless = database.query(`SELECT ${headColumns} FROM threads WHERE (rest = 0 OR wake IS NOT NULL) AND ${there} ORDER BY tid`)
  const rootOf = database.query('SELECT root FROM threads WHERE id = ?')
  /** One statement per combination of filters: at most 64. */
  const lists = new Map<string, Query>()

  function list(filter: HeadFilter): { heads: StoredHead[]; next?: string } {
    const limit = filter.limit ?? listedAtOnce
    // Children share their parent's root, which has an index; a parent that is gone costs a scan.
    const root = filter.root ?? (filter.parent === undefined ? undefined : optionalText(rootOf.one(filter.parent)?.[0]))
    const { where, values } = conditions({ ...filter, ...(root !== undefined && { root }) })
    let query = lists.get(where)
    if (!query) {
      query = database.query(`SELECT ${headColumns} FROM threads WHERE tid > ? AND ${there}${where} ORDER BY tid LIMIT ?`)
      lists.set(where, query)
    }
    const rows = query.all(cursorNumber(filter.cursor), ...values, limit + 1)
    const heads = rows.slice(0, limit).map(headOf)
    const last = rows[limit - 1]
    return rows.length > limit && last ? { heads, next: String(integer(last[0])) } : { heads }
  }

  return {
    get: async (thread) => {
      live()
      const row = reading(() => one.one(thread))
      return row && headOf(row)
    },
    list: async (filter) => (live(), reading(() => list(filter))),
    restless: async () => (live(), reading(() => restless.all().map(headOf))),
  }
}

function conditions(filter: HeadFilter): { where: string; values: Value[] } {
  let where = ''
  const values: Value[] = []
  for (const column of ['root', 'parent', 'status', 'agent'] as const) {
    const wanted = filter[column]
    if (wanted === undefined) continue
    where += ` AND ${column} = ?`
    values.push(wanted)
  }
  if (filter.pending) where += ' AND pending IS NOT NULL'
  if (filter.tag !== undefined) {
    where += ' AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)'
    values.push(filter.tag)
  }
  return { where, values }
}

function headOf(row: Row): StoredHead {
  const wakeAt = optionalInteger(row[6])
  const parent = optionalText(row[8])
  const pending = optionalText(row[13])
  const also = optionalText(row[14])
  return {
    thread: text(row[1]),
    seq: integer(row[2]),
    status: text(row[3]),
    updatedAt: integer(row[4]),
    rest: integer(row[5]) === 1,
    ...(wakeAt !== undefined && { wakeAt }),
    agent: text(row[7]),
    ...(parent !== undefined && { parent }),
    root: text(row[9]),
    path: texts(row[10]),
    tags: texts(row[11]),
    createdAt: integer(row[12]),
    ...(pending !== undefined && { pending: pendings(pending) }),
    ...(also !== undefined && more(also)),
  }
}
