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
import { Mark, lossOf, lossText, markedHeights, noteLoss } from './files/mark.js'
import { openForOwner } from './database/schema.js'
import type { Durability } from './database/schema.js'
import { Writes } from './database/write.js'
import { Writer } from './database/writer.js'
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
    reportLoss(folder, writes)
    mark = new Mark(folder, writes.heights)
    const hooks = { arrived, ...createMarkHooks(mark, writes, committed) }
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
function createMarkHooks(mark: Mark, writes: Writes, committed: () => void): Omit<WriterHooks, 'arrived'> {
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
