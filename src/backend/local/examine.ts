/**
 * Looking at the folder of a local store: can it be written, who serves it, which version its tables have, is there
 * room. Owns nothing.
 *
 * - What was there before is as it was: it writes an empty folder and takes it away, and has the lock for a moment.
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
const leastFree = { fail: 64 * mb, warn: 1024 * mb }

export async function examineFolder(dir: string): Promise<readonly Finding[]> {
  const folder = resolve(dir)
  const place = nearest(folder)
  const there = place === folder
  const writable = await examineWriting(place, there ? '' : `${folder} is not there yet; `)
  if (writable.level === 'fail' || !there) return [writable, await examineSpace(place)]
  return [
    writable,
    await examineOwner(folder),
    await examineSchema(folder),
    ...examineLosses(folder),
    await examineSpace(folder),
  ]
}

/** The folder, or the one above it that is there. */
function nearest(folder: string): string {
  for (let place = folder; ; place = dirname(place)) if (existsSync(place) || place === dirname(place)) return place
}

async function examineWriting(place: string, before: string): Promise<Finding> {
  try {
    if (!(await stat(place)).isDirectory())
      return finding('folder', 'fail', `${place} is a file`, 'name a folder with --store')
    await rmdir(await mkdtemp(join(place, '.skein-doctor-')))
    return finding('folder', 'ok', `${before}${place} can be written`)
  } catch (thrown) {
    return finding(
      'folder',
      'fail',
      `${before}${place} cannot be written: ${toFailure(thrown, 'STORE_FAILED').message}`,
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

/** What was lost and told to the host that found it. */
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
    // Its next host brings it up to date.
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

async function examineSpace(place: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  const says = `${Math.floor(free / mb)} MB are free on its disk`
  if (free >= leastFree.warn) return finding('space', 'ok', says)
  return finding(
    'space',
    free < leastFree.fail ? 'fail' : 'warn',
    says,
    'make room, or let retention remove old trees: a full disk stops every thread',
  )
}
