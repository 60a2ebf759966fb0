/**
 * Contents that a thread has read lately, by hash: a content never changes, so calls on one thread need not fetch it
 * twice.
 *
 * - It holds at most `mostBytes`; what was used longest ago goes first. Large contents are not kept.
 * - What it holds is its own: it is given and gives copies.
 */

const largestBytes = 1024 * 1024

export interface ContentCache {
  get(hash: string): Uint8Array | undefined
  keep(hash: string, bytes: Uint8Array): void
}

export function createContentCache(mostBytes: number): ContentCache {
  const kept = new Map<string, Uint8Array>()
  let total = 0
  const drop = (hash: string, bytes: Uint8Array): void => {
    kept.delete(hash)
    total -= bytes.byteLength
  }
  return {
    get(hash) {
      const bytes = kept.get(hash)
      if (!bytes) return undefined
      kept.delete(hash)
      kept.set(hash, bytes)
      return bytes.slice()
    },
    keep(hash, bytes) {
      if (bytes.byteLength > largestBytes || kept.has(hash)) return
      kept.set(hash, bytes.slice())
      total += bytes.byteLength
      for (const [oldest, itsBytes] of kept) {
        if (total <= mostBytes) return
        drop(oldest, itsBytes)
      }
    },
  }
}
