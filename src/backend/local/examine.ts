/**
 * Examining the folder of a local store: whether it can be written, who serves it, which version its tables have,
 * whether the disk has room. Owns no state.
 *
 * - It leaves the folder as it was: it makes an empty folder and removes it, and holds the lock for a moment.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isSkeinError, toFailure } from '../../core/failure.js'
import { finding } from '../../core/finding.js'
import type { Finding } from '../../core/finding.js'
import { OwnerLink } from './socket/owner-link.js'
import { notedLosses, refuseEmptied } from './files/mark.js'
import { folderInUse, takeOwnership } from './owner.js'
import { openForReading } from './database/schema.js'
import { socketPath } from './socket/socket-path.js'

const mb = 1024 * 1024
const freeBytes = { fail: 64 * mb, warn: 1024 * mb }

export async function examineFolder(dir: string): Promise<readonly Finding[]> {
  const folder = resolve(dir)
  const existing = nearestExisting(folder)
  const exists = existing === folder
  const writable = await examineWriting(existing, exists ? '' : `${folder} is not there yet; `)
  if (writable.level === 'fail' || !exists) return [writable, await examineSpace(existing)]
  return [
    writable,
    await examineOwner(folder),
    await examineSchema(folder),
    ...examineLosses(folder),
    await examineSpace(folder),
  ]
}

/** The folder, or the nearest one above it that exists. */
function nearestExisting(folder: string): string {
  let path = folder
  while (!existsSync(path) && path !== dirname(path)) path = dirname(path)
  return path
}

async function examineWriting(path: string, before: string): Promise<Finding> {
  try {
    if (!(await stat(path)).isDirectory())
      return finding('folder', 'fail', `${path} is a file`, 'name a folder with --store')
    await rmdir(await mkdtemp(join(path, '.skein-doctor-')))
    return finding('folder', 'ok', `${before}${path} can be written`)
  } catch (thrown) {
    return finding(
      'folder',
      'fail',
      `${before}${path} cannot be written: ${toFailure(thrown, 'STORE_FAILED').message}`,
      'let the user that runs Skein own it, or name another folder with --store',
    )
  }
}

async function examineOwner(folder: string): Promise<Finding> {
  const link = new OwnerLink(await socketPath(await realpath(folder)))
  try {
    if (await link.connect()) return finding('host', 'ok', `served by ${(await link.hosts())[0]?.name ?? 'a host'}`)
    if (!existsSync(join(folder, 'owner.db'))) return finding('host', 'ok', 'no host has served it yet')
    const ownership = await takeOwnership(folder)
    await ownership?.release()
    if (ownership) return finding('host', 'ok', 'no host serves it now')
    return finding(
      'host',
      'warn',
      `${(await folderInUse(folder)).message.split('.')[0] ?? ''}, and it does not answer`,
      'if it is not just starting or stopping, end that process',
    )
  } finally {
    await link.close()
  }
}

/** Losses that a host has noted. */
function examineLosses(folder: string): readonly Finding[] {
  return notedLosses(folder).map((loss) =>
    finding(
      'losses',
      'fail',
      loss,
      `restore ${folder} from a back-up; to go on with what is there, remove ${join(folder, 'skein.lost')}`,
    ),
  )
}

async function examineSchema(folder: string): Promise<Finding> {
  const file = join(folder, 'skein.db')
  try {
    refuseEmptied(folder)
  } catch (thrown) {
    return finding('store', 'fail', toFailure(thrown, 'STORE_FAILED').message)
  }
  if (!existsSync(file)) return finding('store', 'ok', 'there is nothing in it yet; the first host makes it')
  try {
    ;(await openForReading(file)).close()
    return finding('store', 'ok', 'its version is that of this Skein')
  } catch (thrown) {
    const { message, data } = toFailure(thrown, 'STORE_FAILED')
    // An older version: its next host migrates it.
    if (isSkeinError(thrown) && thrown.code === 'BAD_OPTION' && data?.['version'] !== undefined)
      return finding('store', 'warn', message)
    return finding(
      'store',
      'fail',
      message,
      isSkeinError(thrown) ? undefined : `${file} is damaged; restore it from a back-up`,
    )
  }
}

async function examineSpace(path: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(path)
  const free = bavail * bsize
  const says = `${Math.floor(free / mb)} MB are free on its disk`
  if (free >= freeBytes.warn) return finding('space', 'ok', says)
  return finding(
    'space',
    free < freeBytes.fail ? 'fail' : 'warn',
    says,
    'make room, or let retention remove old trees: a full disk stops every thread',
  )
}
