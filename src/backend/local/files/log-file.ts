/**
 * The write-ahead log of SQLite as a file: how many commits its frames hold. To be read only while this process has not
 * opened the database. Owns no state.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

const headerBytes = 32
const frameHeaderBytes = 24

/** The commits of the current log; older frames, which SQLite leaves behind, have another salt. */
export function countCommits(path: string): { readonly commits: number } {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size < headerBytes) return { commits: 0 }
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(headerBytes)
    readSync(file, header, 0, headerBytes, 0)
    const frameBytes = frameHeaderBytes + header.readUInt32BE(8)
    const salt = header.subarray(16, 24)
    const frame = Buffer.alloc(frameHeaderBytes)
    let commits = 0
    for (let at = headerBytes; at + frameBytes <= size; at += frameBytes) {
      readSync(file, frame, 0, frameHeaderBytes, at)
      // A frame that ends a transaction has the size of the database after it.
      if (frame.subarray(8, 16).equals(salt) && frame.readUInt32BE(4) > 0) commits++
    }
    return { commits }
  } finally {
    closeSync(file)
  }
}
