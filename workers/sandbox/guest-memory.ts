/**
 * How much memory the engines have that this thread has asked for: they run on other threads, and V8 counts it there.
 */
import { counter } from './wire.js'

const pageBytes = 65_536
const counted = new Set<Int32Array>()

/** Gives what ends it. */
export function trackGuestMemory(cells: Int32Array): () => void {
  counted.add(cells)
  return () => void counted.delete(cells)
}

export function guestBytes(): number {
  let pages = 0
  for (const cells of counted) pages += Atomics.load(cells, counter.pages)
  return pages * pageBytes
}
