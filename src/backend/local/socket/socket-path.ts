/**
 * The path of a folder's socket. The system limits paths of sockets to about 100 bytes, so a deep folder has its socket
 * in a private folder below the temporary one, named by the hash of the folder's real path. Owns no state.
 */
import { createHash } from 'node:crypto'
import { lstat, mkdir } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { SkeinError } from '../../../core/failure.js'

const longestPath = 100

export async function socketPath(folder: string): Promise<string> {
  const inside = join(folder, 'skein.sock')
  if (Buffer.byteLength(inside) <= longestPath) return inside
  const { uid } = userInfo()
  const shared = join(tmpdir(), `skein-${uid}`)
  await mkdir(shared, { recursive: true, mode: 0o700 })
  // Another user may have made that folder, to listen in our place.
  const found = await lstat(shared)
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    const requirement = `${shared} must be a folder of yours that nobody else can enter`
    throw new SkeinError('BAD_OPTION', `${requirement}; remove it, or use a shorter path than ${folder}`)
  }
  return join(shared, `${createHash('sha256').update(folder).digest('hex').slice(0, 24)}.sock`)
}
