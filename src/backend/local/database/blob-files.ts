/**
 * Blobs as files `<folder>/blobs/ab/<sha256>`: the large ones, and all that a client puts. Both the owner and clients
 * write here: a blob appears by rename, whole and synced. Owns that folder and its `.part` files.
 *
 * - A file under its final name was complete and synced before it got that name.
 * - A `.part` file that was not written to for an hour is left from a killed process; the next host removes it. Every
 *   write renews its age, so that a client at work keeps its own.
 * - A sweep renames a file and looks at its age again: one that was renewed meanwhile gets its name back.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { nextTurn } from '../../../core/async/next-turn.js'
import { systemRandom, systemClock } from '../../../core/clock.js'
import { isObject } from '../../../core/json.js'
import { blobMissing } from '../../checks.js'

export interface PutBlob {
  readonly hash: string
  readonly size: number
}

const abandonedMs = 60 * 60 * 1000

const homeOf = (folder: string): string => join(folder, 'blobs')

export class BlobFiles {
  private readonly home: string

  constructor(folder: string) {
    this.home = homeOf(folder)
  }

  async put(bytes: Uint8Array): Promise<PutBlob> {
    const hash = await hashOf(bytes)
    if (await this.refresh(hash, bytes.length)) return { hash, size: bytes.length }
    const part = await this.begin()
    try {
      for (const slice of slicesOf(bytes)) await part.write(slice)
      return await part.keep()
    } finally {
      await part.drop()
    }
  }

  /** For a blob whose bytes come in parts. The caller drops it in the end, whether it was kept or not. */
  async begin(): Promise<PartFile> {
    await mkdir(this.home, { recursive: true, mode: 0o700 })
    const path = join(this.home, `${systemRandom.id()}.part`)
    return new PartFile(path, await open(path, 'wx', 0o600), this)
  }

  /** Hashes while it reads: a blob whose bytes do not have its hash fails at the end. */
  async *read(hash: string): AsyncGenerator<Uint8Array> {
    const path = this.pathOf(hash)
    const digest = createHash('sha256')
    try {
      for await (const part of createReadStream(path, { highWaterMark: 256 * 1024 })) {
        if (!(part instanceof Uint8Array)) continue
        digest.update(part)
        yield part
      }
    } catch (error) {
      if (isMissing(error)) throw blobMissing(hash, `is neither in the database nor at ${path}`)
      throw error
    }
    if (digest.digest('hex') !== hash)
      throw blobMissing(hash, `is damaged at ${path}: its bytes are not those of its name`)
  }

  async has(hash: string): Promise<boolean> {
    return (await statIfPresent(this.pathOf(hash))) !== undefined
  }

  /** Gives a whole and synced file its name, unless the blob exists. */
  async adopt(temporary: string, { hash, size }: PutBlob): Promise<void> {
    if (await this.refresh(hash, size)) return
    await mkdir(join(this.home, hash.slice(0, 2)), { recursive: true, mode: 0o700 })
    await rename(temporary, this.pathOf(hash))
  }

  /** Renews the age of a blob; false when there is none of that size. */
  private async refresh(hash: string, size: number): Promise<boolean> {
    const path = this.pathOf(hash)
    if ((await statIfPresent(path))?.size !== size) return false
    const now = systemClock.now() / 1000
    try {
      await utimes(path, now, now)
    } catch (error) {
      if (isMissing(error)) return false // swept in between
      throw error
    }
    return true
  }

  private pathOf(hash: string): string {
    return join(this.home, hash.slice(0, 2), hash)
  }
}

class PartFile {
  private readonly digest = createHash('sha256')
  private size = 0
  private readonly path: string
  private readonly file: FileHandle
  private readonly files: BlobFiles

  constructor(path: string, file: FileHandle, files: BlobFiles) {
    this.path = path
    this.file = file
    this.files = files
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.digest.update(bytes)
    this.size += bytes.length
    await this.file.writeFile(bytes)
  }

  async keep(): Promise<PutBlob> {
    await this.file.sync()
    await this.file.close()
    const blob = { hash: this.digest.digest('hex'), size: this.size }
    await this.files.adopt(this.path, blob)
    return blob
  }

  async drop(): Promise<void> {
    await this.file.close()
    await rm(this.path, { force: true })
  }
}

export type { PartFile }

/** Hashing more at once would hold up everything else in the process. */
const sliceBytes = 512 * 1024

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += sliceBytes) yield bytes.subarray(from, from + sliceBytes)
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const digest = createHash('sha256')
  for (const slice of slicesOf(bytes)) {
    digest.update(slice)
    if (bytes.length > sliceBytes) await nextTurn()
  }
  return digest.digest('hex')
}

/** Removes `.part` files of killed processes. */
export async function sweepParts(folder: string, now: number): Promise<void> {
  const home = homeOf(folder)
  if (!existsSync(home)) return
  for (const name of await namesIn(home)) {
    if (!name.endsWith('.part')) continue
    const path = join(home, name)
    const part = await statIfPresent(path)
    if (part && part.mtimeMs < now - abandonedMs) await rm(path, { force: true })
  }
}

export interface SweepRule {
  readonly before: number
  isNamed(hash: string): boolean
}

/** Sweeps one folder of blobs; true when one that nobody names was too young. */
export async function sweepFolder(folder: string, name: string, { before, isNamed }: SweepRule): Promise<boolean> {
  const home = join(homeOf(folder), name)
  let young = false
  for (const hash of await namesIn(home)) {
    const path = join(home, hash)
    const file = isHash(hash) && !isNamed(hash) ? await statIfPresent(path) : undefined
    if (!file) continue
    if (file.mtimeMs >= before) young = true
    else await discard(path, join(homeOf(folder), `${hash}.part`), before)
  }
  return young
}

async function discard(path: string, aside: string, before: number): Promise<void> {
  await rename(path, aside)
  const file = await statIfPresent(aside)
  if (file && file.mtimeMs >= before) await rename(aside, path)
  else await rm(aside, { force: true })
}

function isHash(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name)
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function statIfPresent(path: string): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return isObject(error) && error['code'] === 'ENOENT'
}
