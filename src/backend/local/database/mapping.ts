/**
 * The part of a store's file that is mapped into memory: it halves the time of a cold read of a thread whose rows are
 * scattered. Owns its size.
 */
import type { Database } from './driver.js'

const mappedBytes = 256 * 2 ** 20

export function map(database: Database): void {
  database.pragma(`mmap_size = ${mappedBytes}`)
}

/**
 * Takes what reads have touched of the file out of the process' memory; the next read maps it again. A look at all
 * threads, as when a store is opened or followed, would else stay there until the process ends.
 */
export function mapAnew(database: Database): void {
  database.pragma('mmap_size = 0')
  map(database)
}
