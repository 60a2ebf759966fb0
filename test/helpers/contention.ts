/**
 * How busy the machine is, for the few clauses that are about time: their limits hold for a quiet machine, and are
 * longer by as much as others take of it.
 */
import { createHash } from 'node:crypto'

const sampleMs = 30
const block = Buffer.alloc(64 * 1024)

/** How much longer than on a quiet machine something takes that needs the processor: 1 or more. */
function contention(): number {
  const began = performance.now()
  const before = process.cpuUsage()
  for (;;) {
    createHash('sha256').update(block).digest()
    const { user, system } = process.cpuUsage(before)
    const usedMs = (user + system) / 1_000
    if (usedMs >= sampleMs) return Math.max(1, (performance.now() - began) / usedMs)
  }
}

/** Samples now; the limit that it gives later is for the busier of both moments. */
export function limitOf(quietMs: number): () => number {
  const before = contention()
  return () => quietMs * Math.max(before, contention())
}
