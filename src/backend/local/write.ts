/**
 * What one write does inside the group's transaction: a commit, a mail, a snapshot, an epoch. Owns the
 * statements and a bounded memory of threads (their row and what their head was), so that an ordinary commit
 * costs two statements and touches no index of heads.
 *
 * W1  A commit compares and advances the thread in one statement before it writes anything else, so that a
 *     refusal leaves nothing behind and needs no savepoint (J1, J2).
 * W2  What is remembered of a thread is forgotten when a transaction fails.
 */
import type { Commit, CommitResult, Head, Send } from '../port.js'
import type { Database, Value } from './driver.js'
import { integer } from './rows.js'

interface Known {
  readonly tid: number
  /** The parts of the head that rarely change, as one text. */
  steady: string
}

const knownThreads = 10_000

export interface Writes {
  commit(commit: Commit, bodies: readonly string[], arrived: Set<string>): CommitResult
  putMail(send: Send, body: string, arrived: Set<string>): void
  putSnapshot(thread: string, snapshot: Uint8Array): void
  /** The next epoch: greater than every one before. */
  nextEpoch(): number
  forget(): void
}

export function createWrites(database: Database): Writes {
  const known = new Map<string, Known>()
  const find = database.query('SELECT tid, seq, epoch FROM threads WHERE id = ?')
  const create = database.write(
    `INSERT INTO threads (id, seq, epoch, status, updated, rest, wake, agent, parent, root, path, tags, created)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  )
  const where = 'WHERE tid = ? AND seq = ? AND epoch <= ?'
  const advance = database.write(`UPDATE threads SET seq = ?, epoch = ?, status = ?, updated = ? ${where}`)
  const rewrite = database.write(
    `UPDATE threads SET seq = ?, epoch = ?, status = ?, updated = ?,
     rest = ?, wake = ?, agent = ?, parent = ?, root = ?, path = ?, tags = ?, created = ? ${where}`,
  )
  const touch = database.write(`UPDATE threads SET epoch = ? ${where}`)
  const append = database.write('INSERT INTO journal (tid, first, count, hash, body) VALUES (?, ?, ?, ?, ?)')
  const finish = database.write('DELETE FROM mail WHERE number = ? AND thread = ?')
  const post = database.write('INSERT INTO mail (thread, id, body) VALUES (?, ?, ?) ON CONFLICT (id, thread) DO NOTHING')
  const keep = database.write('INSERT INTO snapshots VALUES (?, ?) ON CONFLICT (thread) DO UPDATE SET body = excluded.body')
  const raise = database.write("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")
  const epoch = database.query("SELECT value FROM meta WHERE name = 'epoch'")
  const end = database.query('SELECT max(position) FROM journal')
  let position: number | undefined

  function remember(thread: string, entry: Known): void {
    // The oldest goes first; one that is in use comes back with a lookup.
    if (known.size >= knownThreads) {
      const oldest = known.keys().next()
      if (!oldest.done) known.delete(oldest.value)
    }
    known.set(thread, entry)
  }

  /** W1: the thread's row if the commit may go on, 0 for a thread that is not there, undefined when refused. */
  function compareAndAdvance(commit: Commit): number | undefined {
    const { thread, expected, head, entry } = commit
    let row = known.get(thread)
    if (!row && head && entry && expected === 0) return insert(commit, head)
    if (!row) {
      const found = find.one(thread)
      if (!found) return expected === 0 ? 0 : undefined
      row = { tid: integer(found[0]), steady: '' }
      remember(thread, row)
    }
    const fence = [row.tid, expected, commit.epoch]
    if (!head) return touch.run(commit.epoch, ...fence).changes === 1 ? row.tid : undefined
    const moving: Value[] = [expected + (entry?.count ?? 0), commit.epoch, head.status, head.updatedAt]
    const steady = steadyText(head)
    const same = steady === row.steady
    const { changes } = same ? advance.run(...moving, ...fence) : rewrite.run(...moving, ...steadyValues(head), ...fence)
    if (changes !== 1) return undefined
    row.steady = steady
    return row.tid
  }

  function insert(commit: Commit, head: Head): number | undefined {
    const values: Value[] = [commit.entry?.count ?? 0, commit.epoch, head.status, head.updatedAt]
    const { changes, rowid } = create.run(commit.thread, ...values, ...steadyValues(head))
    if (changes !== 1) return undefined
    remember(commit.thread, { tid: rowid, steady: steadyText(head) })
    return rowid
  }

  function putMail(send: Send, body: string, arrived: Set<string>): void {
    if (post.run(send.to, send.id, body).changes === 1) arrived.add(send.to)
  }

  return {
    commit(commit, bodies, arrived) {
      const tid = compareAndAdvance(commit)
      if (tid === undefined) {
        const found = find.one(commit.thread)
        return { ok: false, seq: Number(found?.[1] ?? 0), epoch: Number(found?.[2] ?? 0) }
      }
      const { entry } = commit
      if (entry) position = append.run(tid, entry.first, entry.count, entry.hash, entry.body).rowid
      for (const number of commit.done) finish.run(number, commit.thread)
      commit.sends.forEach((send, index) => putMail(send, bodies[index] ?? 'null', arrived))
      position ??= Number(end.one()?.[0] ?? 0)
      return { ok: true, position }
    },
    putMail,
    putSnapshot: (thread, snapshot) => void keep.run(thread, snapshot),
    nextEpoch() {
      raise.run()
      return integer(epoch.one()?.[0])
    },
    forget() {
      known.clear()
      position = undefined
    },
  }
}

function steadyValues(head: Head): Value[] {
  const { rest, wakeAt, agent, parent, root, path, tags, createdAt } = head
  return [rest ? 1 : 0, wakeAt ?? null, agent, parent ?? null, root, JSON.stringify(path), JSON.stringify(tags), createdAt]
}

function steadyText(head: Head): string {
  return JSON.stringify(steadyValues(head))
}
