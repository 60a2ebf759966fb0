/**
 * The tables of a local store, how they are opened and which version of them this Skein understands. Owns every PRAGMA
 * and every CREATE in the file; the statements that use the tables are in write.ts and reader.ts.
 *
 * - The tables and `user_version` appear in one transaction: a file has the whole schema of a version or none.
 * - A file of a newer version is refused before anything in it is read or changed. One of an older version is
 *   migrated by its next owner; until then clients are refused.
 * - Numbers of rows of `journal` and `mail` are never reused: mail has AUTOINCREMENT; for the journal write.ts counts,
 *   because AUTOINCREMENT writes one more page per commit (8 of 38 µs). A row of `threads` gets no number that a row
 *   of a removed tree still has.
 * - Deleted data is overwritten: no byte of it stays in the file, nor in the log once that is emptied.
 */
import { dirname } from 'node:path'
import { SkeinError } from '../../../core/failure.js'
import { blobsNamedIn } from '../../checks.js'
import { openDatabase } from './driver.js'
import { refuseEmptied } from '../files/mark.js'
import { makePrivate } from '../files/private-file.js'
import type { Database } from './driver.js'
import { map } from './mapping.js'
import { blobKey, integer, integerColumn, bytesColumn, text, keyColumn } from './rows.js'
import { emptyLog } from './writer.js'

export type Durability = 'process' | 'power'

// No WITHOUT ROWID: rows around 1 KB take three times the room there. The index of the journal serves one
// thread's tail, the partial one what a new owner must activate; status, agent and tags are scanned.
const firstTables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
  INSERT INTO meta VALUES ('epoch', 0);
  CREATE TABLE threads (
    tid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, epoch INTEGER NOT NULL,
    status TEXT NOT NULL, updated INTEGER NOT NULL, rest INTEGER NOT NULL, wake INTEGER,
    agent TEXT NOT NULL, parent TEXT, root TEXT NOT NULL, path TEXT NOT NULL, tags TEXT NOT NULL,
    created INTEGER NOT NULL
  );
  CREATE INDEX threads_root ON threads (root);
  CREATE INDEX threads_restless ON threads (tid) WHERE rest = 0 OR wake IS NOT NULL;
  CREATE TABLE journal (
    position INTEGER PRIMARY KEY, tid INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL,
    hash TEXT NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX journal_thread ON journal (tid, first);
  CREATE TABLE mail (
    number INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX mail_order ON mail (thread);
  CREATE UNIQUE INDEX mail_id ON mail (thread, id);
  CREATE TABLE snapshots (thread TEXT PRIMARY KEY, body BLOB NOT NULL);
`
// The hash as 32 bytes halves its index. `touched` before the body: a new age changes the row's first page alone.
const blobTable = 'CREATE TABLE blobs (hash BLOB PRIMARY KEY, touched INTEGER NOT NULL, body BLOB NOT NULL);'
/** The decisions and values that a thread waits for; the index serves the inbox. */
const pendingColumn = `
  ALTER TABLE threads ADD COLUMN pending TEXT;
  CREATE INDEX threads_pending ON threads (tid) WHERE pending IS NOT NULL;
`

/** Fields of a head that no query filters by, as one JSON object, so that a new one needs no column. */
const moreColumn = 'ALTER TABLE threads ADD COLUMN more TEXT;'

/**
 * `removed`: trees whose rows are not collected yet; readers do not see their threads up to `upto`. `blob_refs`: which
 * blobs a tree names, by the row of its root. `position`: the last one that was given, since a removal may delete the
 * last row of the journal. `unswept`: there may be blobs that nobody names.
 */
const removals = `
  CREATE TABLE removed (root TEXT NOT NULL, upto INTEGER NOT NULL, PRIMARY KEY (root, upto)) WITHOUT ROWID;
  CREATE TABLE blob_refs (hash BLOB NOT NULL, root INTEGER NOT NULL, PRIMARY KEY (hash, root)) WITHOUT ROWID;
  CREATE INDEX blob_refs_root ON blob_refs (root);
  INSERT INTO meta VALUES ('position', 0), ('unswept', 0);
`

/** A condition for rows of `threads`: their tree was not removed. */
export const notRemoved =
  'NOT EXISTS (SELECT 1 FROM removed WHERE removed.root = threads.root AND threads.tid <= removed.upto)'

/** What each version added to the one before. */
const additions = [firstTables, blobTable + pendingColumn, moreColumn, removals]
const schemaVersion = additions.length

/** A commit makes a checkpoint itself only where no other could be made (writer.ts). */
const checkpointPages = 64_000

/** For the owner of the folder, who alone writes. */
export async function openForOwner(path: string, durability: Durability): Promise<Database> {
  refuseEmptied(dirname(path))
  makePrivate(path)
  return openChecked(path, (database, version) => {
    // So that free pages can be given back to the disk; it can only be set before there are tables. It is set for the
    // connection as it is compiled. Run, it would be a transaction of its own, synced four times, before the next one.
    if (version === 0) database.write('PRAGMA auto_vacuum = INCREMENTAL')
    // These answer with a row, which `exec` does not take.
    database.pragma('journal_mode = WAL')
    database.pragma('secure_delete = ON')
    // A killed owner may have left traces in the log.
    emptyLog(database)
    database.pragma(`wal_autocheckpoint = ${checkpointPages}`)
    database.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
    // For a view of this connection (advance-and-append.ts), which needs no file.
    database.exec('PRAGMA temp_store = MEMORY')
    if (version === schemaVersion) return
    const missing = additions.slice(version).join('')
    database.exec(`BEGIN IMMEDIATE; ${missing}`)
    if (version > 0) addBlobReferences(database)
    database.exec(`PRAGMA user_version = ${schemaVersion}; COMMIT;`)
  })
}

/** J10: the blobs that the journals of an older version name. */
function addBlobReferences(database: Database): void {
  const page = database.query(
    `SELECT ${keyColumn('position')}, ${integerColumn('tid')}, ${bytesColumn('body')} FROM journal
     WHERE position > ? ORDER BY position LIMIT 200`,
  )
  const rootOf = database.query(
    `SELECT ${keyColumn('r.tid')} FROM threads t JOIN threads r ON r.id = t.root WHERE t.tid = ?`,
  )
  const add = database.write('INSERT OR IGNORE INTO blob_refs VALUES (?, ?)')
  for (let after = 0, more = true; more;) {
    const rows = page.all(after)
    for (const [position, tid, body] of rows) {
      after = integer(position)
      const root = integer(rootOf.one(integer(tid))?.[0] ?? tid)
      for (const hash of blobsNamedIn(text(body))) add.run(blobKey(hash), root)
    }
    more = rows.length > 0
  }
}

/** For clients. The file must exist and have its tables. */
export async function openForReading(path: string): Promise<Database> {
  return openChecked(path, (database, version) => {
    if (version === 0) throw noStore(dirname(path))
    if (version < schemaVersion) throw olderStore(dirname(path), version)
    database.exec('PRAGMA query_only = 1')
  })
}

export function noStore(dir: string): SkeinError {
  return new SkeinError(
    'BAD_OPTION',
    `there is no Skein store in ${dir}; start a host on that folder first, or name the folder of one`,
    {
      data: { dir },
    },
  )
}

function olderStore(dir: string, version: number): SkeinError {
  const what = `the store in ${dir} is of version ${version}, this Skein reads version ${schemaVersion}`
  return new SkeinError(
    'BAD_OPTION',
    `${what}; start a host of this Skein on that folder once, which brings it up to date`,
    {
      data: { dir, version, known: schemaVersion },
    },
  )
}

async function openChecked(path: string, prepare: (database: Database, version: number) => void): Promise<Database> {
  refuseEmptied(dirname(path))
  const database = await openDatabase(path)
  try {
    database.pragma('busy_timeout = 5000')
    prepare(database, versionOf(database, path))
    map(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function versionOf(database: Database, path: string): number {
  const version = Number(database.query('PRAGMA user_version').one()?.[0] ?? 0)
  if (version <= schemaVersion) return version
  throw new SkeinError(
    'RECORD_FROM_FUTURE',
    `${path} was written by a newer Skein (store version ${version}; this one knows up to ${schemaVersion}). ` +
      `Update Skein, or use another folder.`,
    { data: { path, version, known: schemaVersion } },
  )
}
