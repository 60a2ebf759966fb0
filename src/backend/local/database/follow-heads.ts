/**
 * Following the heads of a local store, by its owner and by clients alike: a bell says that something was committed,
 * the database says what. Owns what one follower has been told.
 *
 * - Nothing is written for it: changed threads are those with entries after a position. A commit without records
 *   changes no head; one that was damaged is read again until it is whole.
 * - What is told comes of one read transaction, so no change falls between two answers (J12).
 * - Removals are counted by the writer. While a removed tree is not collected its row says which it was; otherwise the
 *   roots that were told are compared with those that are there.
 */
import { nextTurn } from '../../../core/async/next-turn.js'
import { systemClock } from '../../../core/clock.js'
import { storeClosed } from '../../checks.js'
import type { HeadChange, HeadFollower, StoredHead } from '../../port.js'
import { tell } from '../../topics.js'
import type { Database } from './driver.js'
import { headColumns, headOfRow } from './heads.js'
import { bytesColumn, integer, integerColumn, reading, text, keyColumn } from './rows.js'
import { notRemoved } from './schema.js'

/** Calls `ring` after commits, and when some may have been missed. Returns what stops it. */
export type Bell = (ring: () => void) => () => void

/** The topic on which the owner rings for clients. */
export const headsTopic = 'heads'

/** Commits of this time are read together. */
const pauseMs = 5
/** Heads that are read in one turn of the event loop. */
const pageSize = 100

function prepare(database: Database) {
  return {
    now: database.query(
      `SELECT
         max(
           coalesce((SELECT max(position) FROM journal), 0),
           (SELECT ${integerColumn('value')} FROM meta WHERE name = 'position')
         ),
         coalesce((SELECT ${integerColumn('value')} FROM meta WHERE name = 'removals'), 0)`,
    ),
    page: database.query(
      `SELECT ${keyColumn('tid')}, ${headColumns} FROM threads
       WHERE tid > ? AND ${notRemoved} ORDER BY tid LIMIT ${pageSize}`,
    ),
    changed: database.query(
      `SELECT last, ${keyColumn('tid')}, ${headColumns}
       FROM (SELECT max(position) AS last, tid AS of FROM journal NOT INDEXED WHERE position > ? GROUP BY tid)
       CROSS JOIN threads ON threads.tid = of
       WHERE ${notRemoved} ORDER BY last`,
    ),
    one: database.query(`SELECT ${keyColumn('tid')}, ${headColumns} FROM threads WHERE id = ? AND ${notRemoved}`),
    removed: database.query(`SELECT ${bytesColumn('root')}, ${integerColumn('upto')} FROM removed`),
    roots: database.query(
      `SELECT ${bytesColumn('id')}, ${keyColumn('tid')}, ${integerColumn('created')} FROM threads
       WHERE id = root AND ${notRemoved}`,
    ),
  }
}

/** Which tree it is: its id may be used again. */
interface KnownRoot {
  readonly tid: number
  readonly createdAt: number
}

export class LocalHeadFollower implements HeadFollower {
  readonly #database: Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #assertOpen: () => void
  readonly #told: (change: HeadChange) => void
  readonly #roots = new Map<string, KnownRoot>()
  readonly #damaged = new Set<string>()
  readonly #stopBell: () => void
  #position = 0
  #removals = 0
  #cancel: (() => void) | undefined
  #stopped = false
  readonly ready: Promise<number>

  constructor(
    { database, bell, assertOpen }: { database: Database; bell: Bell; assertOpen: () => void },
    told: (change: HeadChange) => void,
  ) {
    assertOpen()
    this.#database = database
    this.#assertOpen = assertOpen
    this.#statements = prepare(database)
    this.#told = told
    this.#stopBell = bell(() => this.#ring())
    this.ready = this.#begin()
    this.ready.catch(() => undefined) // whoever waits for it hears of it
  }

  readonly current = async (): Promise<number> => {
    await this.ready
    if (this.#stopped) throw storeClosed('local')
    this.#assertOpen()
    return this.#read()
  }

  readonly stop = (): void => {
    this.#stopped = true
    this.#cancel?.()
    this.#stopBell()
  }

  /** Page by page; what changes meanwhile is told after it. */
  async #begin(): Promise<number> {
    const [position, removals] = this.#now()
    for (let after = 0, more = true; more;) {
      await Promise.resolve()
      if (this.#stopped) throw storeClosed('local')
      this.#assertOpen()
      const rows = reading(() => this.#statements.page.all(after))
      for (const [tid, columns] of rows) {
        after = integer(tid)
        this.#tellHead(position, after, headOfRow(columns))
      }
      more = rows.length === pageSize
      if (more) await nextTurn()
    }
    this.#position = position
    this.#removals = removals
    return this.#read()
  }

  #now(): readonly [position: number, removals: number] {
    const [position, removals] = reading(() => this.#statements.now.one()) ?? []
    return [integer(position), integer(removals)]
  }

  #ring(): void {
    if (this.#stopped) return
    this.#cancel ??= systemClock.wakeAt(systemClock.now() + pauseMs, () => {
      this.#cancel = undefined
      // What cannot be read is reported to who asks, and read with the next ring.
      void this.current().catch(() => undefined)
    })
  }

  #read(): number {
    const changes = this.#inTransaction(() => {
      const [position, removals] = this.#now()
      const removed = removals === this.#removals ? [] : this.#removedRoots(removals - this.#removals)
      this.#removals = removals
      const changed = position === this.#position ? [] : this.#statements.changed.all(this.#position)
      const mended = [...this.#damaged].flatMap((thread) => this.#statements.one.all(thread))
      return { position, removed, changed, mended }
    })
    const { position, removed, changed, mended } = changes
    for (const root of removed) {
      this.#roots.delete(root)
      tell(() => this.#told({ position: this.#position, removed: root }))
    }
    for (const [tid, columns] of mended) this.#tellMended(integer(tid), headOfRow(columns))
    for (const [last, tid, columns] of changed) this.#tellHead(integer(last), integer(tid), headOfRow(columns))
    this.#position = position
    return position
  }

  /** A client reads while the owner writes. */
  #inTransaction<Result>(read: () => Result): Result {
    this.#database.exec('BEGIN')
    try {
      return reading(read)
    } finally {
      this.#database.exec('COMMIT')
    }
  }

  #tellHead(position: number, born: number, head: StoredHead | undefined): void {
    if (!head) return
    const { thread, root, createdAt } = head
    if (thread === root) this.#roots.set(root, { tid: born, createdAt })
    if (head.damaged === undefined) this.#damaged.delete(thread)
    else this.#damaged.add(thread)
    tell(() => this.#told({ position, born, head }))
  }

  #tellMended(born: number, head: StoredHead | undefined): void {
    if (head && head.damaged === undefined) this.#tellHead(this.#position, born, head)
  }

  #removedRoots(count: number): readonly string[] {
    const uncollected = this.#statements.removed.all().flatMap(([id, upto]) => {
      const root = text(id)
      const known = this.#roots.get(root)
      return known && known.tid <= integer(upto) ? [root] : []
    })
    if (uncollected.length === count) return uncollected
    const there = new Map(this.#statements.roots.all().map(([id, tid, created]) => [text(id), [tid, created]]))
    return [...this.#roots].flatMap(([root, { tid, createdAt }]) => {
      const [tidNow, createdNow] = there.get(root) ?? []
      return tidNow === tid && createdNow === createdAt ? [] : [root]
    })
  }
}
