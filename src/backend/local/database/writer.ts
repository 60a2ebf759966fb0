/**
 * The group commit of a local store: all writes that are handed over together become durable in one transaction.
 * Owns the queue, the transaction and the checkpoints; what a write does is in write.ts.
 *
 * - A write is acknowledged after the COMMIT that holds it, in the order of the queue (J3).
 * - When the transaction fails, every write in it is rejected and none is kept. But one that meets damage, or several
 *   commits of which one is refused, fail alone: the others are tried again, each in a transaction of its own.
 * - Watchers are told of mail after it is durable, once per thread and transaction.
 * - The write-ahead log is checkpointed when the store is idle, and by another thread where it is long: a commit never
 *   waits for the disk but where its durability asks for that. A log that is very long is not written to until it was
 *   checkpointed whole, so that it begins anew: commits wait for that, the event loop does not.
 * - A store that is idle keeps nothing of its file in memory.
 * - After `scrub` the log is truncated as soon as nobody reads from it; no reader is ever waited for.
 */
import { systemClock } from '../../../core/clock.js'
import { storeClosed } from '../../checks.js'
import type { Checkpoint } from './checkpoint-thread.js'
import type { Database, Query } from './driver.js'
import { mapAnew } from './mapping.js'
import { PartRefused, sqliteFailure } from './rows.js'

interface Queued {
  /** Runs inside the transaction; gives what acknowledges it after the COMMIT. */
  readonly apply: (arrived: Set<string>) => () => void
  /** Does the same without a transaction around it; undefined, with nothing done, where that is not possible. */
  readonly applyAlone: () => (() => void) | undefined
  readonly reject: (error: unknown) => void
}

export interface WriterHooks {
  /** After the COMMIT, before it is acknowledged. */
  readonly committed: () => void
  readonly arrived: (threads: ReadonlySet<string>) => void
  readonly rolledBack: () => void
  /** All that was committed is in the database itself, and nothing is in the log alone. */
  readonly settled: () => void
}

export interface WriteManner<T> {
  /** Its texts took a while to make, and it is written in the next turn of the event loop. */
  readonly isLong?: boolean
  /**
   * The write as one statement, which is a transaction itself: used where no other write is ready. Undefined, with
   * nothing done, where one statement is not enough.
   */
  readonly alone?: () => T | undefined
}

/** Copies the log into the database on another thread. */
export interface Checkpoints {
  run(): Promise<Checkpoint>
  close(): Promise<void>
}

const idleMs = 100
/** A checkpoint by another thread is worth it after so many writes. */
const manyWrites = 1_000
/** Pages in a log that is not written to any more until it was checkpointed whole: 64 MB. */
const longLog = 16_000
const lockPatienceMs = 5_000

/** Truncates the log to an empty file; false when a reader uses it now. */
export function emptyLog(database: Database, truncate = database.query('PRAGMA wal_checkpoint(TRUNCATE)')): boolean {
  database.pragma('busy_timeout = 0')
  try {
    return truncate.one()?.[0] === 0
  } finally {
    database.pragma(`busy_timeout = ${lockPatienceMs}`)
  }
}

export class Writer {
  private queue: Queued[] = []
  private open = true
  private cancelIdle: (() => void) | undefined
  private lastFlushAt = 0
  private scrubbing = false
  /** Since the last checkpoint. */
  private writes = 0
  private transactions = 0
  private checkpointing: Promise<void> | undefined
  /** Until the log is checkpointed whole. */
  private holding = false
  private readonly database: Database
  private readonly hooks: WriterHooks
  private readonly checkpoints: Checkpoints
  private readonly checkpoint: Query
  private readonly truncate: Query

  constructor(database: Database, hooks: WriterHooks, checkpoints: Checkpoints) {
    this.database = database
    this.hooks = hooks
    this.checkpoints = checkpoints
    this.checkpoint = database.query('PRAGMA wal_checkpoint(PASSIVE)')
    this.truncate = database.query('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  add<T>(write: (arrived: Set<string>) => T, { isLong = false, alone }: WriteManner<T> = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.open) {
        reject(storeClosed('local'))
        return
      }
      // The host hands over everything that is ready in one go, so a microtask is late enough.
      if (this.queue.length === 0 && !this.holding) {
        if (isLong) setImmediate(() => this.flush())
        else queueMicrotask(() => this.flush())
      }
      this.queue.push({
        apply: (arrived) => {
          const result = write(arrived)
          return () => resolve(result)
        },
        applyAlone: () => {
          const result = alone?.()
          return result === undefined ? undefined : () => resolve(result)
        },
        reject,
      })
    })
  }

  flush(): void {
    const queue = this.queue
    if (queue.length === 0) return
    this.queue = []
    this.transact(queue)
  }

  private transact(writes: readonly Queued[]): void {
    const arrived = new Set<string>()
    const acknowledgements: (() => void)[] = []
    try {
      const acknowledge = writes.length === 1 ? writes[0]?.applyAlone() : undefined
      if (acknowledge) acknowledgements.push(acknowledge)
      else {
        this.database.exec('BEGIN IMMEDIATE')
        for (const { apply } of writes) acknowledgements.push(apply(arrived))
        this.database.exec('COMMIT')
      }
    } catch (error) {
      return this.failed(writes, error)
    }
    this.hooks.committed()
    for (const acknowledge of acknowledgements) acknowledge()
    if (arrived.size > 0) this.hooks.arrived(arrived)
    this.lastFlushAt = systemClock.now()
    this.transactions++
    this.writes += writes.length
    if (this.writes >= manyWrites) this.startCheckpoint()
    this.cancelIdle ??= this.checkpointWhenIdle()
  }

  private startCheckpoint(): void {
    const { transactions } = this
    this.checkpointing ??= this.checkpointBeside().finally(() => {
      this.checkpointing = undefined
      if (this.open && transactions !== this.transactions) this.cancelIdle ??= this.checkpointWhenIdle()
    })
  }

  /** That it fails loses nothing: the log stays, and SQLite itself makes a checkpoint in a commit at last. */
  private async checkpointBeside(): Promise<void> {
    this.writes = 0
    const { transactions } = this
    try {
      const { frames, copied } = await this.checkpoints.run()
      if (!this.open) return
      const isWhole = frames === copied && transactions === this.transactions
      if (isWhole) this.hooks.settled()
      else if (frames > longLog && !this.holding) {
        this.holding = true
        await this.checkpointBeside()
      }
    } catch (thrown) {
      process.emitWarning(sqliteFailure('write', thrown))
    } finally {
      if (this.holding) this.resume()
    }
  }

  private resume(): void {
    this.holding = false
    if (this.open) this.flush()
  }

  /** Removes deleted data from the log, too: when this is done, or as soon as nobody reads from it. */
  async scrub(): Promise<void> {
    this.scrubbing = true
    await this.checkpointing
    if (this.open) this.tryCheckpoint()
  }

  /** Flushes, then empties the log. Later writes are refused. */
  async close(): Promise<void> {
    this.flush()
    this.open = false
    this.cancelIdle?.()
    await this.checkpoints.close()
    if (this.truncate.one()?.[0] === 0) this.hooks.settled()
  }

  private failed(writes: readonly Queued[], error: unknown): void {
    this.rollBack()
    const failure = error instanceof PartRefused ? error : sqliteFailure('write', error)
    const isOfOne = failure instanceof PartRefused || failure.code === 'JOURNAL_CORRUPT'
    if (isOfOne && writes.length > 1 && this.open) for (const write of writes) this.transact([write])
    else for (const { reject } of writes) reject(failure)
  }

  private rollBack(): void {
    this.hooks.rolledBack()
    try {
      this.database.exec('ROLLBACK')
    } catch (error) {
      // SQLite rolls back by itself on a full disk; then there is nothing left to roll back. Anything else
      // leaves a connection that we cannot trust with another write.
      if (!(error instanceof Error) || !/no transaction is active/.test(error.message)) this.open = false
    }
  }

  private checkpointWhenIdle(): () => void {
    return systemClock.wakeAt((this.scrubbing ? systemClock.now() : this.lastFlushAt) + idleMs, () => {
      this.cancelIdle = undefined
      if (!this.scrubbing && systemClock.now() - this.lastFlushAt < idleMs) this.cancelIdle = this.checkpointWhenIdle()
      else this.tryCheckpoint()
    })
  }

  private tryCheckpoint(): void {
    try {
      mapAnew(this.database)
      if (this.scrubbing) this.cut()
      else if (this.checkpointing || this.transactions >= manyWrites) this.startCheckpoint()
      else {
        const [busy, frames, written] = this.checkpoint.one() ?? []
        if (busy === 0 && frames === written) this.hooks.settled()
      }
    } catch (error) {
      // Nothing is lost: the log stays as it is, and the next checkpoint or commit will report the same error.
      process.emitWarning(sqliteFailure('write', error))
    }
  }

  private cut(): void {
    this.scrubbing = !emptyLog(this.database, this.truncate)
    if (this.scrubbing) this.cancelIdle ??= this.checkpointWhenIdle()
    else this.hooks.settled()
  }
}
