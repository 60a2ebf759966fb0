/**
 * The writing end of a local store, for the holder of its lock: the host, or a client that puts mail where there is no
 * host. Owns the order in which the database, its mark and its writer come up and go down.
 *
 * - A loss of acknowledged data is reported once, when the store is opened, and noted for `skein doctor`.
 */
import { join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { toFailure } from '../../core/failure.js'
import { CheckpointThread } from './database/checkpoint-thread.js'
import type { Database } from './database/driver.js'
import { Mark, loggedLine, lossOf, lossText, markedHeights, noteLoss, unwrittenIn } from './files/mark.js'
import { openForOwner } from './database/schema.js'
import type { Durability } from './database/schema.js'
import { Writes } from './database/write.js'
import { Writer, emptyLog } from './database/writer.js'
import type { WriterHooks } from './database/writer.js'

export interface LocalStore {
  readonly database: Database
  readonly writes: Writes
  readonly writer: Writer
  close(): Promise<void>
}

export async function openLocalStore(
  folder: string,
  durability: Durability,
  { arrived, committed }: Pick<WriterHooks, 'arrived' | 'committed'>,
): Promise<LocalStore> {
  const file = join(folder, 'skein.db')
  const database = await openForOwner(file, durability)
  let mark: Mark | undefined
  try {
    const writes = new Writes(database)
    writeLeft(folder, database, writes)
    reportLoss(folder, writes)
    mark = new Mark(folder, durability, writes.heights)
    const hooks = { arrived, ...createLogHooks(folder, mark, writes), ...createMarkHooks(mark, writes, committed) }
    const writer = new Writer(database, hooks, new CheckpointThread(file))
    const close = async (): Promise<void> => {
      await writer.close()
      database.close()
      mark?.close()
    }
    return { database, writes, writer, close }
  } catch (thrown) {
    mark?.close()
    database.close()
    throw thrown
  }
}

/** What the last owner has logged and not written to the tables. */
function writeLeft(folder: string, database: Database, writes: Writes): void {
  const left = unwrittenIn(folder, writes.heights)
  if (left.length === 0) return
  database.exec('BEGIN IMMEDIATE')
  for (const { commit } of left) if (!writes.commit(commit, [], new Set()).ok) break
  database.exec('COMMIT')
  writes.committed()
  // The mark, which has it too, begins anew.
  emptyLog(database)
}

function createLogHooks(folder: string, mark: Mark, writes: Writes): Pick<WriterHooks, 'log' | 'writeLogged' | 'lost'> {
  return {
    log: (accepted) => {
      mark.log(accepted.map(loggedLine).join(''))
      writes.accepted()
    },
    writeLogged: (logged) => writes.writeLogged(logged),
    lost: ({ commit: { thread } }, failure) => {
      writes.bar(thread, failure)
      process.emitWarning(`${folder}: a commit of ${thread} was acknowledged and cannot be written: ${failure.message}`)
      noteLoss(folder, { commits: 1, mails: 0, threads: [thread] }, systemClock.now())
    },
  }
}

function reportLoss(folder: string, writes: Writes): void {
  const loss = lossOf(folder, writes.heights)
  if (!loss) return
  process.emitWarning(
    `${folder}: ${lossText(loss)}. Its threads go on from what is there. Restore the folder from a back-up, or ` +
      `read skein.lost and take it away.`,
  )
  noteLoss(folder, loss, systemClock.now())
  writes.raise(markedHeights(folder))
}

/** The mark follows the database. A mark that cannot be written fails no commit, which is durable by then. */
function createMarkHooks(
  mark: Mark,
  writes: Writes,
  committed: () => void,
): Pick<WriterHooks, 'committed' | 'rolledBack' | 'settled'> {
  let failing = false
  const warnOnce = (work: () => void): void => {
    try {
      work()
      failing = false
    } catch (thrown) {
      if (!failing)
        process.emitWarning(
          `skein.mark cannot be written: ${toFailure(thrown, 'STORE_FAILED').message}; losses could not be told`,
        )
      failing = true
    }
  }
  return {
    committed: () => {
      const notes = writes.committed()
      if (notes !== '') warnOnce(() => mark.write(notes))
      committed()
    },
    rolledBack: () => writes.rolledBack(),
    settled: () => warnOnce(() => mark.settle(writes.heights)),
  }
}
