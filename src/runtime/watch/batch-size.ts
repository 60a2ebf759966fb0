/**
 * How many entries of the past are read at once: few at first, then as many as fit into some megabytes. A commit may be
 * large, and whoever reads it may never take it.
 */
import type { StoredEntry } from '../../backend/port.js'

export const firstBatch = 16
const largestBatch = 1_000
const batchBytes = 2 * 1024 * 1024

/** At least two: the first entry of a batch was given already. */
export function nextBatch(entries: readonly StoredEntry[], limit: number): number {
  if (entries.length === 0) return limit
  const bytes = entries.reduce((sum, { body }) => sum + body.length, 0)
  return Math.min(largestBatch, Math.max(2, Math.floor((batchBytes * entries.length) / Math.max(1, bytes))))
}
