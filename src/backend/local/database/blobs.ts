/**
 * The blobs of a local store: which are rows of the database and which are files. A blob of up to 64 KB that the owner
 * puts is a row: it shares the transaction of the commits and takes 35 µs instead of a millisecond. Larger ones, and
 * all that a client puts, are files (blob-files.ts). Owns that choice, and checks rows against their hashes.
 *
 * - A put resolves when the blob is durable; a row is durable before every commit that is handed over after it.
 * - Reading compares the bytes with the hash; a blob that is missing, short or changed is BLOB_MISSING.
 * - Putting a blob that exists renews its age, so that no sweep takes it before its record is written. A blob may be
 *   both a row and a file, each with its age: either is enough.
 */
import { createHash } from 'node:crypto'
import { blobMissing } from '../../checks.js'
import type { Blobs } from '../../port.js'
import { BlobFiles } from './blob-files.js'
import type { PartFile, PutBlob } from './blob-files.js'

/** A larger one would delay the commits that share its transaction. */
const largestRow = 64 * 1024

export interface BlobRows {
  find(hash: string): Uint8Array | undefined
  has(hash: string): boolean
  /** Only the owner of the folder writes rows. The bytes must not change any more. */
  readonly put?: (hash: string, bytes: Uint8Array) => Promise<void>
}

export function createBlobs(folder: string, rows: BlobRows, assertOpen: () => void): Blobs {
  const files = new BlobFiles(folder)

  async function putWhole(bytes: Uint8Array): Promise<PutBlob> {
    if (!rows.put || bytes.length > largestRow) return files.put(bytes)
    // Copied before it is hashed: the caller may change its bytes while the row waits for its transaction.
    const copy = Buffer.from(bytes)
    const hash = hashOf(copy)
    await rows.put(hash, copy)
    return { hash, size: copy.length }
  }

  async function putStream(parts: AsyncIterable<Uint8Array>): Promise<PutBlob> {
    const start: Uint8Array[] = []
    let size = 0
    let file: PartFile | undefined
    try {
      for await (const part of parts) {
        size += part.length
        if (size <= largestRow) {
          // Copied, because a source may fill the same buffer again.
          start.push(Uint8Array.from(part))
          continue
        }
        if (!file) {
          file = await files.begin()
          await file.write(Buffer.concat(start))
        }
        await file.write(part)
      }
      return await (file ? file.keep() : putWhole(Buffer.concat(start)))
    } finally {
      await file?.drop()
    }
  }

  return {
    async put(bytes) {
      assertOpen()
      return bytes instanceof Uint8Array ? putWhole(bytes) : putStream(bytes)
    },
    async *get(hash) {
      assertOpen()
      if (!isHash(hash)) throw blobMissing(hash, 'has a name that is not a sha256')
      const row = rows.find(hash)
      if (row && hashOf(row) === hash) {
        if (row.length > 0) yield row
        return
      }
      if (row && !(await files.has(hash)))
        throw blobMissing(hash, 'is damaged in skein.db: its bytes are not those of its name')
      yield* files.read(hash)
    },
    async has(hash) {
      assertOpen()
      return isHash(hash) && (rows.has(hash) || files.has(hash))
    },
  }
}

function isHash(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name)
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
