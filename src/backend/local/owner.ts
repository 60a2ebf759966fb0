/**
 * Who may write to a folder: the process that holds `owner.db` in an exclusive transaction. The lock is the operating
 * system's, so it ends with the process, however that ends. Owns that file and `owner.json`, which only tells people
 * who the owner is.
 *
 * - At most one holder per folder at any time, over processes and inside one.
 * - Nothing else may open `owner.db`: closing any handle on it drops the lock of the whole process (POSIX).
 * - Every file of a store is for its user alone (0600, folders 0700), whatever the folder around it allows.
 */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { dirname, join, resolve as absolute } from 'node:path'
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { systemClock } from '../../core/clock.js'
import { openDatabase } from './database/driver.js'
import { makePrivate } from './files/private-file.js'

export interface Ownership {
  release(): Promise<void>
}

/** The master key for secrets, in the folder. */
export const keyFile = 'skein.key'

const ownerNote = z.object({ pid: z.number().int().positive() })

/**
 * Makes the folder if need be, and gives its real path, by which all its users know it. Synchronous, as all that is
 * small while a folder is opened: the turns of the event loop between would take longer.
 */
export function prepareFolder(dir: string): string {
  makeFolder(absolute(dir))
  return realpathSync.native(dir)
}

/** One by one: where none can be made, as below /proc, Node's own `recursive` tries for ever. */
function makeFolder(dir: string): void {
  if (existsSync(dir)) return
  makeFolder(dirname(dir))
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (thrown) {
    // Another process may have made it meanwhile.
    if (!existsSync(dir)) throw thrown
  }
}

/** Undefined while someone else owns the folder. */
export async function takeOwnership(folder: string): Promise<Ownership | undefined> {
  makePrivate(join(folder, 'owner.db'))
  const database = await openDatabase(join(folder, 'owner.db'))
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if (error instanceof Error && /locked|busy/i.test(error.message)) return undefined
    throw error
  }
  const path = join(folder, 'owner.json')
  const unlock = (): void => {
    // A close alone would keep the lock for as long as the driver keeps the handle.
    database.exec('ROLLBACK')
    database.close()
  }
  try {
    writeFileSync(path, `${JSON.stringify({ pid: process.pid })}\n`, { mode: 0o600 })
  } catch (error) {
    unlock()
    throw error
  }
  return { release: () => rm(path, { force: true }).finally(unlock) }
}

export async function folderInUse(folder: string): Promise<SkeinError> {
  const pid = await ownerPid(folder)
  const owner = describeProcess(pid)
  return new SkeinError(
    'STORE_IN_USE',
    `${folder} already has a host: ${owner}. Stop that one first, or open the folder as a client, or give this host ` +
      `a folder of its own.`,
    { retry: true, data: { folder, ...defined({ pid }) } },
  )
}

function describeProcess(pid: number | undefined): string {
  if (pid === undefined) return 'another process'
  return pid === process.pid ? `this process (pid ${pid})` : `process ${pid}`
}

async function ownerPid(folder: string): Promise<number | undefined> {
  try {
    return ownerNote.parse(JSON.parse(await readFile(join(folder, 'owner.json'), 'utf8'))).pid
  } catch (error) {
    // The note may be missing or half written for a moment; the lock is the truth, the pid only helps people.
    if (error instanceof Error) return undefined
    throw error
  }
}

export interface Patience {
  readonly tries: number
  readonly pauseMs: number
}

/** Calls `attempt` until it gives something, `tries` times at most, with a pause after each. */
export async function persist<T>(patience: Patience, attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let tried = 1; ; tried++) {
    const result = await attempt()
    if (result !== undefined || tried >= patience.tries) return result
    await new Promise<void>((resolve) => void systemClock.wakeAt(systemClock.now() + patience.pauseMs, resolve))
  }
}
