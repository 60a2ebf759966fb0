/**
 * The tables of a local store, how they are opened and which version of them this Skein understands.
 * Owns every CREATE and PRAGMA; the statements that use them are in writer.ts and reader.ts.
 *
 * TB1 The tables and `user_version` appear in one transaction: a file has the whole schema or none.
 * TB2 A file of a newer version is refused before anything in it is read or changed.
 * TB3 Rows of `journal` and `mail` never get a number again that was used once: mail by AUTOINCREMENT, the journal
 *     by counting on in write.ts, because AUTOINCREMENT writes one more page per commit (8 of 38 µs).
 */
import { dirname } from 'node:path'
import { SkeinError } from '../../core/failure.js'
import { openDatabase } from './driver.js'
import type { Database } from './driver.js'

const schemaVersion = 1

export type Durability = 'process' | 'power'

// No WITHOUT ROWID: rows around 1 KB take three times the room there. The index of the journal serves one
// thread's tail, the partial one what a new owner must activate; status, agent and tags are scanned.
const tables = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
  INSERT INTO meta VALUES ('epoch', 0);
  CREATE TABLE threads (
    tid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, epoch INTEGER NOT NULL,
    status TEXT NOT NULL, updated INTEGER NOT NULL, rest INTEGER NOT NULL, wake INTEGER,
    agent TEXT NOT NULL, parent TEXT, root TEXT NOT NULL, path TEXT NOT NULL, tags TEXT NOT NULL, created INTEGER NOT NULL
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
  PRAGMA user_version = ${schemaVersion};
`

/** Checkpoints in a commit only when the idle one (writer.ts) did not come for this many pages. */
const checkpointPages = 4000

/** For the owner of the folder, who alone writes. */
export async function openForOwner(path: string, durability: Durability): Promise<Database> {
  return openChecked(path, (database, version) => {
    // These answer with a row, so exec will not do.
    database.query('PRAGMA journal_mode = WAL').one()
    database.query(`PRAGMA wal_autocheckpoint = ${checkpointPages}`).one()
    database.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`)
    if (version === 0) database.exec(`BEGIN IMMEDIATE; ${tables} COMMIT;`)
  })
}

/** For clients. The file must be there and have its tables. */
export async function openForReading(path: string): Promise<Database> {
  return openChecked(path, (database, version) => {
    if (version === 0) throw noStore(dirname(path))
    database.exec('PRAGMA query_only = 1')
  })
}

export function noStore(dir: string): SkeinError {
  return new SkeinError('BAD_OPTION', `there is no Skein store in ${dir}; start a host on that folder first, or name the folder of one`, {
    data: { dir },
  })
}

async function openChecked(path: string, prepare: (database: Database, version: number) => void): Promise<Database> {
  const database = await openDatabase(path)
  try {
    database.query('PRAGMA busy_timeout = 5000').one()
    prepare(database, versionOf(database, path))
    // Reading through mapped memory halves a cold read of a thread whose rows lie between others'.
    database.query('PRAGMA mmap_size = 268435456').one()
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
    `${path} was written by a newer Skein (store version ${version}; this one knows up to ${schemaVersion}). Update Skein, or use another folder.`,
    { data: { path, version, known: schemaVersion } },
  )
}
