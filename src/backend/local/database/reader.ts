/**
 * All reads from the database of a local store: journals, heads, mail, snapshots, small blobs. The owner reads on its
 * own connection, a client on a read-only one (in WAL mode neither waits for the other). Owns no write.
 *
 * - A read sees all that was acknowledged before it began.
 * - A row that is not what the writer wrote is JOURNAL_CORRUPT, never a wrong value; in a list of heads or mail it is
 *   marked and does not hinder the others.
 */
import type { Heads, Journal, Mailbox, Snapshots, StoredEntry, StoredMail } from '../../port.js'
import type { BlobRows } from './blobs.js'
import type { Database, Row } from './driver.js'
import { LocalHeadFollower } from './follow-heads.js'
import type { Bell } from './follow-heads.js'
import { createLocalHeads } from './heads.js'
import { createJournalReader } from './read-journal.js'
import { blobKey, bytesIn, corrupt, damageIn, integer, json, bytesColumn, reading, text, keyColumn } from './rows.js'
import { notRemoved } from './schema.js'

export interface StoreReader {
  readonly journal: Journal
  readonly heads: Heads
  readonly mailbox: Pick<Mailbox, 'read' | 'waiting'>
  readonly snapshots: Pick<Snapshots, 'get'>
  readonly blobs: Pick<BlobRows, 'find' | 'has'>
}

export function createStoreReader(database: Database, bell: Bell, assertOpen: () => void): StoreReader {
  const mail = database.query(
    `SELECT ${keyColumn('number')}, ${bytesColumn('id')}, ${bytesColumn('body')} FROM mail
     WHERE thread = ? AND number > ? ORDER BY number`,
  )
  const waiting = database.query(`SELECT DISTINCT ${bytesColumn('thread')} FROM mail`)
  const snapshot = database.query(
    `SELECT ${bytesColumn('body')} FROM snapshots
     WHERE thread = ?1 AND NOT EXISTS (SELECT 1 FROM threads WHERE id = ?1 AND NOT (${notRemoved}))`,
  )
  const blob = database.query(`SELECT ${bytesColumn('body')} FROM blobs WHERE hash = ?`)
  const blobThere = database.query('SELECT 1 FROM blobs WHERE hash = ?')
  const journal = createJournalReader(database)
  return {
    journal: {
      async read(thread, range) {
        assertOpen()
        return reading((): readonly StoredEntry[] => journal.read(thread, range), thread)
      },
      async readTree(root, range) {
        assertOpen()
        return reading((): readonly StoredEntry[] => journal.readTree(root, range), root)
      },
    },
    heads: {
      ...createLocalHeads(database, assertOpen),
      follow: (told) => new LocalHeadFollower({ database, bell, assertOpen }, told),
    },
    mailbox: {
      read: async (thread, after) => {
        assertOpen()
        return reading(() => mail.all(thread, after).map(mailOf), thread)
      },
      async waiting() {
        assertOpen()
        return reading(() => waiting.all().flatMap((row) => addressee(row)))
      },
    },
    snapshots: {
      get: async (thread) => {
        assertOpen()
        const row = reading(() => snapshot.one(thread), thread)
        return row && bytesIn(row[0])
      },
    },
    blobs: {
      find: (hash) =>
        reading(() => {
          const row = blob.one(blobKey(hash))
          return row && bytesIn(row[0])
        }),
      has: (hash) => reading(() => blobThere.one(blobKey(hash)) !== undefined),
    },
  }
}

/** The thread refuses damaged mail and tells its sender, if the id can be read. */
function mailOf(row: Row): StoredMail {
  const number = integer(row[0])
  let id = `damaged-${number}`
  try {
    id = text(row[1])
    return { number, id, body: json(row[2]) }
  } catch (thrown) {
    return { number, id, body: null, damaged: damageIn(thrown) }
  }
}

/** None, with a warning, where the addressee of a mail cannot be read. */
function addressee(row: Row): string[] {
  try {
    return [text(row[0])]
  } catch (thrown) {
    process.emitWarning(corrupt(`some mail is for nobody that can be read (${damageIn(thrown)})`))
    return []
  }
}
