/**
 * The writes inside a transaction of the group commit: a commit, a mail, a snapshot, a blob, an epoch. Owns the
 * statements and a bounded cache of threads (their row and their last head), so that an ordinary commit costs two
 * statements, one where it is alone, and touches no index of heads.
 *
 * - A commit compares and advances the thread in one statement before it writes anything else, so that a
 *   refusal leaves nothing behind and needs no savepoint (J1, J2).
 * - The cache is dropped when a transaction fails, and its positions and numbers of mail were never given.
 * - Positions and numbers of mail are counted in memory from the opening of the store on: a damaged page may forget
 *   what was written to it, and a mail whose number was given before would never be read.
 */
import type { Commit, CommitResult, Head, Removal, RemovalResult, Send } from '../../port.js'
import { blobsNamedIn } from '../../checks.js'
import { createAdvanceAndAppend } from './advance-and-append.js'
import type { AdvanceAndAppend } from './advance-and-append.js'
import type { Database, Write } from './driver.js'
import { entryValues, isSameThread, isSteady, lastingValues, movingValues, waitingValues } from './head-columns.js'
import { markNote } from '../files/mark.js'
import type { MarkedPositions } from '../files/mark.js'
import { Removals } from './removals.js'
import { blobKey, integer, integerColumn, PartRefused, keyColumn } from './rows.js'
import { notRemoved } from './schema.js'

interface KnownThread {
  readonly tid: number
  /** The last head; absent where it is not known. */
  head?: Head
  /** Of a root: the position of its tree's last entry; absent where that is not known. */
  treeAt?: number
}

const knownThreads = 10_000

/** J2: a write changes its row only at the expected sequence, and not under a newer owner. */
const fence = 'WHERE tid = ? AND seq = ? AND epoch <= ?'

function prepare(database: Database) {
  return {
    ...prepareCounts(database),
    find: database.query(
      `SELECT ${keyColumn('tid')}, ${integerColumn('seq')}, ${integerColumn('epoch')} FROM threads
       WHERE id = ? AND ${notRemoved}`,
    ),
    create: database.write(
      `INSERT INTO threads (
         tid, id, seq, epoch, status, updated,
         more, rest, wake, pending, agent, parent, root, path, tags, created
       )
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    ),
    advance: database.write(`UPDATE threads SET seq = ?, epoch = ?, status = ?, updated = ?, more = ? ${fence}`),
    rewrite: database.write(
      `UPDATE threads SET
         seq = ?, epoch = ?, status = ?, updated = ?, more = ?,
         rest = ?, wake = ?, pending = ?, agent = ?, parent = ?, root = ?, path = ?, tags = ?, created = ?
       ${fence}`,
    ),
    // As `rewrite`, but without the columns that say whose thread it is, and so without their index.
    change: database.write(
      `UPDATE threads SET
         seq = ?, epoch = ?, status = ?, updated = ?, more = ?, rest = ?, wake = ?, pending = ? ${fence}`,
    ),
    touch: database.write(`UPDATE threads SET epoch = ? ${fence}`),
    append: database.write('INSERT INTO journal (position, tid, first, count, hash, body) VALUES (?, ?, ?, ?, ?, ?)'),
    finish: database.write('DELETE FROM mail WHERE number = ? AND thread = ?'),
    post: database.write(
      'INSERT INTO mail (number, thread, id, body) VALUES (?, ?, ?, ?) ON CONFLICT (thread, id) DO NOTHING',
    ),
    // Only of a thread that exists: a snapshot that comes after its tree was removed would stay for ever.
    keep: database.write(
      `INSERT INTO snapshots SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM threads WHERE id = ?1 AND ${notRemoved})
       ON CONFLICT (thread) DO UPDATE SET body = excluded.body`,
    ),
    // Equal bytes cost nothing: SQLite does not write pages that would not change.
    store: database.write(
      `INSERT INTO blobs (hash, touched, body) VALUES (?, ?, ?)
       ON CONFLICT (hash) DO UPDATE SET touched = excluded.touched, body = excluded.body`,
    ),
    // Greater than the epochs of threads, too: one that was damaged must not bar its owner for ever. A larger number
    // than 2 ** 40 is no epoch.
    raise: database.write(
      `UPDATE meta SET value = 1 + max(
         value,
         (SELECT coalesce(max(epoch), 0) FROM threads WHERE typeof(epoch) = 'integer' AND epoch < ${2 ** 40})
       )
       WHERE name = 'epoch'`,
    ),
    epoch: database.query(`SELECT ${integerColumn('value')} FROM meta WHERE name = 'epoch'`),
  }
}

/** The last numbers that were given, and how they are raised after a loss. */
function prepareCounts(database: Database) {
  return {
    end: database.query(
      `SELECT max(
         coalesce((SELECT max(position) FROM journal), 0),
         (SELECT ${integerColumn('value')} FROM meta WHERE name = 'position')
       )`,
    ),
    // Also of the mail itself: what waits must not hinder what comes, whatever became of the count.
    lastMail: database.query(
      `SELECT max(
         coalesce((SELECT max(${integerColumn('seq')}) FROM sqlite_sequence WHERE name = 'mail'), 0),
         coalesce((SELECT max(number) FROM mail), 0)
       )`,
    ),
    raisePosition: database.write("UPDATE meta SET value = max(value, ?) WHERE name = 'position'"),
    countMail: database.write(
      `INSERT INTO sqlite_sequence (name, seq)
       SELECT 'mail', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'mail')`,
    ),
    raiseMail: database.write("UPDATE sqlite_sequence SET seq = max(seq, CAST(? AS INTEGER)) WHERE name = 'mail'"),
    lastThread: database.query(
      'SELECT max(coalesce((SELECT max(tid) FROM threads), 0), coalesce((SELECT max(upto) FROM removed), 0))',
    ),
  }
}

export class Writes {
  private readonly statements: ReturnType<typeof prepare>
  private readonly advanceAndAppend: AdvanceAndAppend
  private readonly known = new Map<string, KnownThread>()
  private thread: number | undefined
  /** The last position and the last mail that were given, with those of the transaction under way. */
  private given: MarkedPositions
  /** The same without it. */
  private durable: MarkedPositions
  /** What this transaction will acknowledge, as lines for the mark. */
  private noted = ''
  readonly removals: Removals

  constructor(database: Database) {
    this.statements = prepare(database)
    this.advanceAndAppend = createAdvanceAndAppend(database)
    this.removals = new Removals(database)
    const { end, lastMail } = this.statements
    this.given = { position: integer(end.one()?.[0] ?? 0), mail: integer(lastMail.one()?.[0] ?? 0) }
    this.durable = this.given
  }

  /** The last position and the last mail that were given. */
  get heights(): MarkedPositions {
    return this.given
  }

  /** After a loss, so that no number is given twice. */
  raise({ position, mail }: MarkedPositions): void {
    this.statements.raisePosition.run(position)
    this.statements.countMail.run()
    this.statements.raiseMail.run(mail)
    this.given = { position: Math.max(this.given.position, position), mail: Math.max(this.given.mail, mail) }
    this.durable = this.given
  }

  /** The transaction was committed. Gives its lines for the mark. */
  committed(): string {
    const { noted } = this
    this.noted = ''
    this.durable = this.given
    return noted
  }

  /** Throws `PartRefused` where one of several is refused: the transaction must not be kept. */
  commit(commit: Commit, texts: readonly (readonly string[])[], arrived: Set<string>): CommitResult {
    const result = this.commitOne(commit, texts[0], arrived)
    if (!commit.also) return result
    if (!result.ok) throw new PartRefused(result)
    const also = commit.also.map((other, index) => {
      const part = this.commitOne(other, texts[index + 1], arrived)
      if (!part.ok) throw new PartRefused(part)
      return part
    })
    return { ok: true, position: result.position, follows: result.follows, also }
  }

  /** A commit that only goes on with a thread that is known, outside of a transaction; undefined for any other. */
  commitAlone(commit: Commit): CommitResult | undefined {
    const { thread, expected, entry, head, sends, done, also } = commit
    if (!entry || !head || also || sends.length > 0 || done.length > 0) return undefined
    const row = this.known.get(thread)
    if (!row?.head || !isSteady(row.head, head) || blobsNamedIn(entry.body).length > 0) return undefined
    const position = this.given.position + 1
    const values = [...movingValues(commit, head), row.tid, expected, position, ...entryValues(entry)]
    if (!this.advanceAndAppend(values)) return this.refusal(thread)
    row.head = head
    return { ok: true, position, follows: this.appended(commit, position) }
  }

  private commitOne(commit: Commit, texts: readonly string[] | undefined, arrived: Set<string>): CommitResult {
    const { append, finish } = this.statements
    const tid = this.compareAndAdvance(commit)
    if (tid === undefined) return this.refusal(commit.thread)
    const { entry } = commit
    let follows: number | undefined
    if (entry) {
      const position = this.given.position + 1
      append.run(position, tid, ...entryValues(entry))
      follows = this.appended(commit, position)
      this.removals.refer(entry.body, this.rootOf(commit, tid))
    }
    for (const number of commit.done) finish.run(number, commit.thread)
    commit.sends.forEach((send, index) => this.putMail(send, texts?.[index] ?? 'null', arrived))
    return { ok: true, position: this.given.position, follows }
  }

  private refusal(thread: string): CommitResult {
    const found = this.statements.find.one(thread)
    return { ok: false, seq: integer(found?.[1] ?? 0), epoch: integer(found?.[2] ?? 0) }
  }

  /** The entry of a commit is in the table: gives the position of its tree's entry before it, where that is known. */
  private appended({ thread, head }: Commit, position: number): number | undefined {
    this.given = { position, mail: this.given.mail }
    this.noted += markNote('commit', position, thread)
    return head && this.pass(head.root, position)
  }

  /** The position of the tree's entry before this one, where it is known. */
  private pass(root: string, position: number): number | undefined {
    const row = this.known.get(root)
    const before = row?.treeAt
    if (row) row.treeAt = position
    return before
  }

  private nextThread(): number {
    this.thread = (this.thread ?? Number(this.statements.lastThread.one()?.[0] ?? 0)) + 1
    return this.thread
  }

  private rootOf({ thread, head }: Commit, tid: number): number {
    if (!head || head.root === thread) return tid
    return this.known.get(head.root)?.tid ?? Number(this.statements.find.one(head.root)?.[0] ?? tid)
  }

  remove(removal: Removal): RemovalResult {
    const removed = this.removals.remove(removal)
    if (removed.ok) this.known.clear()
    return removed
  }

  putMail(send: Send, body: string, arrived: Set<string>): void {
    const mail = this.given.mail + 1
    if (this.statements.post.run(mail, send.to, send.id, body).changes !== 1) return
    this.given = { position: this.given.position, mail }
    this.noted += markNote('mail', mail, send.to)
    arrived.add(send.to)
  }

  putSnapshot(thread: string, snapshot: Uint8Array): void {
    this.statements.keep.run(thread, snapshot)
  }

  /** A blob that exists gets a new age, and its bytes again in case they were damaged. */
  putBlob(hash: string, bytes: Uint8Array, at: number): void {
    this.statements.store.run(blobKey(hash), at, bytes)
  }

  /** Greater than every epoch before. */
  nextEpoch(): number {
    this.statements.raise.run()
    return integer(this.statements.epoch.one()?.[0])
  }

  /** The transaction failed. */
  rolledBack(): void {
    this.given = this.durable
    this.noted = ''
    this.known.clear()
    this.removals.forget()
    this.thread = undefined
  }

  /** The thread's row if the commit may proceed, 0 for a thread that does not exist, undefined when refused. */
  private compareAndAdvance(commit: Commit): number | undefined {
    const { thread, expected, head, entry, epoch } = commit
    const { advance, change, find, rewrite, touch } = this.statements
    let written: ReturnType<Write['run']>
    let row = this.known.get(thread)
    if (!row && head && entry && expected === 0) return this.create(commit, head)
    if (!row) {
      const found = find.one(thread)
      if (!found) return expected === 0 ? 0 : undefined
      row = { tid: integer(found[0]) }
      this.remember(thread, row)
    }
    if (!head) return touch.run(epoch, row.tid, expected, epoch).changes === 1 ? row.tid : undefined
    const moving = movingValues(commit, head)
    const at = [row.tid, expected, epoch]
    if (row.head && isSteady(row.head, head)) written = advance.run(...moving, ...at)
    else if (row.head && isSameThread(row.head, head)) written = change.run(...moving, ...waitingValues(head), ...at)
    else written = rewrite.run(...moving, ...waitingValues(head), ...lastingValues(head), ...at)
    if (written.changes !== 1) return undefined
    row.head = head
    return row.tid
  }

  private create(commit: Commit, head: Head): number | undefined {
    const values = [...movingValues(commit, head), ...waitingValues(head), ...lastingValues(head)]
    const insert = () => this.statements.create.run(this.nextThread(), commit.thread, ...values)
    const first = insert()
    const { changes, rowid } =
      first.changes === 1 || !this.removals.free(commit.thread, this.given.position) ? first : insert()
    if (changes !== 1) return undefined
    this.remember(commit.thread, { tid: rowid, head })
    return rowid
  }

  private remember(thread: string, row: KnownThread): void {
    // The oldest is dropped first; one that is in use comes back with a lookup.
    if (this.known.size >= knownThreads) {
      const oldest = this.known.keys().next()
      if (!oldest.done) this.known.delete(oldest.value)
    }
    this.known.set(thread, row)
  }
}
