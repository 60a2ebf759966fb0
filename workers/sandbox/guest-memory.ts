/**
 * Counts the memory of the engines that this thread has started: they run on other threads, and V8 counts it there.
 */
import { counter } from './wire.js'

const pageBytes = 65_536
const tracked = new Set<Int32Array>()

/** Returns what stops tracking. */
export function trackGuestMemory(counters: Int32Array): () => void {
  tracked.add(counters)
  return () => void tracked.delete(counters)
}

export function guestBytes(): number {
  let pages = 0
  for (const counters of tracked) pages += Atomics.load(counters, counter.pages)
  return pages * pageBytes
}
