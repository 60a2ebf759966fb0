/**
 * Removed trees: hidden in one statement, whatever their size, and collected in slices afterwards. Owns the tables
 * `removed` and `blob_refs`; everything here runs inside the writer's transactions.
 *
 * - A row of `threads` is deleted in the same transaction as the last of its journal, its snapshot and its references
 *   to blobs: what is left is a whole thread or none.
 * - The ids of a tree that is not collected yet are free: creating such a thread first collects the old one.
 */
import { blobsNamedIn } from '../../checks.js'
import type { Removal, RemovalResult } from '../../port.js'
import type { Database } from './driver.js'
import { blobKey, integer, integerColumn, bytesColumn, text, keyColumn } from './rows.js'
import { notRemoved } from './schema.js'

/** How much one slice deletes. */
const slice = { threads: 50, entries: 400, blobs: 200, pages: 500 }
/** References that are known to be in the table. */
const knownNames = 50_000

function prepare(database: Database) {
  return {
    top: database.query(
      `SELECT ${integerColumn('seq')}, ${integerColumn('epoch')} FROM threads WHERE id = ? AND ${notRemoved}`,
    ),
    hide: database.write('INSERT INTO removed SELECT root, max(tid) FROM threads WHERE root = ? GROUP BY root'),
    // From mail to threads: there is little mail, and there may be many threads.
    dropMail: database.write(
      `DELETE FROM mail WHERE number IN (
         SELECT mail.number FROM mail CROSS JOIN threads ON threads.id = mail.thread WHERE threads.root = ?
       )`,
    ),
    // Who follows heads learns from it that a tree is no more.
    count: database.write("INSERT INTO meta VALUES ('removals', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"),
    mark: database.write("UPDATE meta SET value = ? WHERE name = 'unswept'"),
    unswept: database.query(`SELECT ${integerColumn('value')} FROM meta WHERE name = 'unswept'`),
    next: database.query(`SELECT ${bytesColumn('root')}, ${integerColumn('upto')} FROM removed LIMIT 1`),
    threads: database.query(
      `SELECT ${keyColumn('tid')}, ${bytesColumn('id')} FROM threads
       WHERE root = ? AND tid <= ? ORDER BY tid LIMIT ${slice.threads}`,
    ),
    collected: database.write('DELETE FROM removed WHERE root = ? AND upto = ?'),
    removedThread: database.query(`SELECT ${keyColumn('tid')} FROM threads WHERE id = ? AND NOT (${notRemoved})`),
    floor: database.write("UPDATE meta SET value = max(value, ?) WHERE name = 'position'"),
    dropEntries: database.write(
      'DELETE FROM journal WHERE position IN (SELECT position FROM journal WHERE tid = ? LIMIT ?)',
    ),
    dropNames: database.write(
      'DELETE FROM blob_refs WHERE (hash, root) IN (SELECT hash, root FROM blob_refs WHERE root = ? LIMIT ?)',
    ),
    dropSnapshot: database.write('DELETE FROM snapshots WHERE thread = ?'),
    dropThread: database.write('DELETE FROM threads WHERE tid = ?'),
    name: database.write('INSERT OR IGNORE INTO blob_refs VALUES (?, ?)'),
    named: database.query('SELECT 1 FROM blob_refs WHERE hash = ? LIMIT 1'),
    mailed: database.query('SELECT 1 FROM mail WHERE instr(body, ?) > 0 LIMIT 1'),
    blobs: database.query(
      `SELECT ${bytesColumn('hash')}, ${integerColumn('touched')} FROM blobs
       WHERE hash > ? ORDER BY hash LIMIT ${slice.blobs}`,
    ),
    dropBlob: database.write('DELETE FROM blobs WHERE hash = ?'),
    free: database.query('PRAGMA freelist_count'),
  }
}

export class Removals {
  private readonly statements: ReturnType<typeof prepare>
  private readonly names = new Set<string>()

  private readonly database: Database
  private readonly shrinks: boolean

  constructor(database: Database) {
    this.database = database
    this.statements = prepare(database)
    this.shrinks = database.query('PRAGMA auto_vacuum').one()?.[0] === 2
  }

  remove({ root, expected, epoch }: Removal): RemovalResult {
    const { top, hide, dropMail, count, mark } = this.statements
    const row = top.one(root)
    const found = { seq: integer(row?.[0] ?? 0), epoch: integer(row?.[1] ?? 0) }
    if (!row || found.seq !== expected || epoch < found.epoch) return { ok: false, ...found }
    dropMail.run(root)
    hide.run(root)
    count.run()
    mark.run(1)
    return { ok: true }
  }

  /** Deletes a slice of the rows of removed trees; false when there are none. `position`: the last that was given. */
  collect(position: number): boolean {
    const { next, threads, collected } = this.statements
    const [root, upto] = next.one() ?? []
    if (root === undefined) return false
    const rows = threads.all(text(root), integer(upto))
    let room = slice.entries
    for (const [tid, id] of rows) {
      room -= this.drop({ tid: integer(tid), id: text(id), position }, room)
      if (room <= 0) return true
    }
    if (rows.length < slice.threads) collected.run(text(root), integer(upto))
    return true
  }

  /** Makes the id of a removed thread free at once; false when there is none. */
  free(id: string, position: number): boolean {
    const [tid] = this.statements.removedThread.one(id) ?? []
    if (tid === undefined) return false
    this.drop({ tid: integer(tid), id, position }, Number.MAX_SAFE_INTEGER)
    return true
  }

  /** Deletes up to `room` rows of a thread, its own row last; gives their number. */
  private drop({ tid, id, position }: { tid: number; id: string; position: number }, room: number): number {
    const { dropEntries, dropNames, dropSnapshot, dropThread, floor } = this.statements
    const entries = dropEntries.run(tid, room).changes
    if (entries > 0) floor.run(position)
    if (entries >= room) return entries
    const names = dropNames.run(tid, room - entries).changes
    if (entries + names >= room) return entries + names
    dropSnapshot.run(id)
    dropThread.run(tid)
    return entries + names + 1
  }

  /** J10: records the blobs that a text of the tree names. */
  refer(body: string, root: number): void {
    for (const hash of blobsNamedIn(body)) {
      const name = `${root} ${hash}`
      if (this.names.has(name)) continue
      if (this.names.size >= knownNames) this.names.clear()
      this.names.add(name)
      this.statements.name.run(blobKey(hash), root)
    }
  }

  isNamed(hash: string): boolean {
    return this.statements.named.one(blobKey(hash)) !== undefined || this.statements.mailed.one(hash) !== undefined
  }

  /** There may be blobs that nobody names. */
  get unswept(): boolean {
    return integer(this.statements.unswept.one()?.[0]) === 1
  }

  mark(unswept: boolean): void {
    this.statements.mark.run(unswept ? 1 : 0)
  }

  /** Sweeps a slice of the blobs in rows, after this one; gives its end, and whether a blob was too young. */
  sweepRows(after: string, before: number): { readonly end: string | undefined; readonly young: boolean } {
    let young = false
    let end: string | undefined
    for (const [key, touched] of this.statements.blobs.all(blobKey(after))) {
      end = Buffer.from(key instanceof Uint8Array ? key : []).toString('hex')
      if (this.isNamed(end)) continue
      if (integer(touched) < before) this.statements.dropBlob.run(blobKey(end))
      else young = true
    }
    return { end, young }
  }

  /** Gives a slice of the free pages back to the disk; false when there are none. */
  shrink(): boolean {
    if (!this.shrinks || integer(this.statements.free.one()?.[0]) === 0) return false
    this.database.exec(`PRAGMA incremental_vacuum(${slice.pages})`)
    return true
  }

  /** After a transaction that failed. */
  forget(): void {
    this.names.clear()
  }
}
