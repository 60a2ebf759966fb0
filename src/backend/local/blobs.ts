/**
 * Blobs as files `<folder>/blobs/ab/<sha256>`. Owner and clients alike write here: a blob appears by rename,
 * whole and synced, and its name says what it must contain. Owns that folder.
 *
 * BL1 A file under its final name was complete and synced before it got that name.
 * BL2 Reading compares the bytes with the name; a blob that is missing, short or changed is BLOB_MISSING.
 * BL3 Putting a blob that exists refreshes its age, so that no sweep takes it before its record is written.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { systemChance, systemClock } from '../../core/clock.js'
import { isObject } from '../../core/json.js'
import { blobMissing } from '../checks.js'
import type { Blobs } from '../port.js'

export function createBlobs(folder: string, live: () => void): Blobs {
  const home = join(folder, 'blobs')
  const pathOf = (hash: string): string | undefined =>
    /^[0-9a-f]{64}$/.test(hash) ? join(home, hash.slice(0, 2), hash) : undefined

  /** Whether a blob of that size is there; makes it young again (BL3). */
  async function refreshed(path: string, size: number): Promise<boolean> {
    if ((await sizeOf(path)) !== size) return false
    const now = systemClock.now() / 1000
    await utimes(path, now, now)
    return true
  }

  async function put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ hash: string; size: number }> {
    const parts = bytes instanceof Uint8Array ? [bytes] : bytes
    if (bytes instanceof Uint8Array) {
      const hash = createHash('sha256').update(bytes).digest('hex')
      if (await refreshed(join(home, hash.slice(0, 2), hash), bytes.length)) return { hash, size: bytes.length }
    }
    await mkdir(home, { recursive: true, mode: 0o700 })
    const temporary = join(home, `${systemChance.id()}.part`)
    try {
      const { hash, size } = await written(temporary, parts)
      const path = join(home, hash.slice(0, 2), hash)
      if (!(await refreshed(path, size))) {
        await mkdir(join(home, hash.slice(0, 2)), { recursive: true, mode: 0o700 })
        await rename(temporary, path)
      }
      return { hash, size }
    } finally {
      await rm(temporary, { force: true })
    }
  }

  return {
    put: async (bytes) => (live(), put(bytes)),
    async *get(hash) {
      live()
      const path = pathOf(hash)
      if (path === undefined) throw blobMissing(hash, 'has a name that is not a sha256')
      yield* checked(path, hash)
    },
    has: async (hash) => {
      live()
      const path = pathOf(hash)
      return path !== undefined && (await sizeOf(path)) !== undefined
    },
  }
}

async function written(path: string, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<{ hash: string; size: number }> {
  const digest = createHash('sha256')
  let size = 0
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const part of parts) {
      digest.update(part)
      size += part.length
      await file.writeFile(part)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { hash: digest.digest('hex'), size }
}

async function* checked(path: string, hash: string): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256')
  try {
    for await (const part of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      if (!(part instanceof Uint8Array)) continue
      digest.update(part)
      yield part
    }
  } catch (error) {
    if (isMissing(error)) throw blobMissing(hash, `is not at ${path}`)
    throw error
  }
  if (digest.digest('hex') !== hash) throw blobMissing(hash, `is damaged at ${path}: its bytes are not those of its name`)
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return isObject(error) && error['code'] === 'ENOENT'
}
