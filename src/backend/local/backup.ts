/**
 * A back-up of a local store, made while it is in use, by its host or by any client. The copy is a store: opening it is
 * restoring it. Owns no state.
 *
 * BK1 The database is copied as of one instant, in a worker thread: commits continue meanwhile.
 * BK2 Every blob that the copy names is in it. Blob files are copied before the database and once more after it: a blob
 *     that existed at that instant was copied before, or is too young to have been swept since (J10).
 * - The copy gets its name when it is whole.
 */
import { constants } from 'node:fs'
import { copyFile, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { systemRandom } from '../../core/clock.js'
import { SkeinError, isSkeinError, toFailure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { copyDatabase } from './database/driver.js'
import { keyFile } from './owner.js'
import { makePrivate } from './files/private-file.js'

export async function backUp(folder: string, dir: string): Promise<void> {
  const target = resolve(dir)
  await refuseUnlessEmpty(target)
  const part = `${target}.${systemRandom.id()}.part`
  try {
    await mkdir(dirname(target), { recursive: true })
    await mkdir(part, { mode: 0o700 })
    await copyBlobs(folder, part)
    makePrivate(join(part, 'skein.db'))
    await copyDatabase(join(folder, 'skein.db'), join(part, 'skein.db'))
    await copyBlobs(folder, part)
    await copyIfThere(join(folder, keyFile), join(part, keyFile))
    await syncFile(join(part, 'skein.db'))
    await rmdir(target).catch(throwUnlessMissing)
    await rename(part, target)
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    throw new SkeinError(
      'STORE_FAILED',
      `the store ${folder} could not be copied to ${target}: ${toFailure(thrown, 'STORE_FAILED').message}. ` +
        `Nothing was left there; check its disk, then try again.`,
      { retry: true, cause: thrown },
    )
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

async function refuseUnlessEmpty(target: string): Promise<void> {
  const names = await namesIn(target).catch((thrown: unknown) => {
    throw new SkeinError('BAD_OPTION', `a back-up goes into a new folder; ${target} is no folder`, { cause: thrown })
  })
  if (names.length > 0)
    throw new SkeinError('BAD_OPTION', `a back-up goes into a new folder; ${target} has something in it already`)
}

/** BK2: copies the blobs that the copy does not have yet. */
async function copyBlobs(folder: string, part: string): Promise<void> {
  const home = join(folder, 'blobs')
  for (const prefix of await namesIn(home)) {
    if (prefix.endsWith('.part')) continue
    const names = await namesIn(join(home, prefix))
    const copied = new Set(await namesIn(join(part, 'blobs', prefix)))
    await mkdir(join(part, 'blobs', prefix), { recursive: true, mode: 0o700 })
    for (const name of names)
      if (!copied.has(name)) await copyIfThere(join(home, prefix, name), join(part, 'blobs', prefix, name))
  }
}

/** A blob may have been swept since it was listed. */
async function copyIfThere(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE).catch(throwUnlessMissing)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (thrown) {
    throwUnlessMissing(thrown)
    return []
  }
}

function throwUnlessMissing(thrown: unknown): void {
  if (!isObject(thrown) || thrown['code'] !== 'ENOENT') throw thrown
}
