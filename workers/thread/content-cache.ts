/**
 * An LRU cache of contents by hash: a content never changes, so calls in one worker need not fetch it twice.
 *
 * - It holds at most `mostBytes`. Large contents are not cached.
 * - It stores and returns copies.
 */

/** Of one content. */
const largestBytes = 1024 * 1024

export interface ContentCache {
  get(hash: string): Uint8Array | undefined
  keep(hash: string, bytes: Uint8Array): void
}

export function createContentCache(mostBytes: number): ContentCache {
  const contents = new Map<string, Uint8Array>()
  let total = 0
  const drop = (hash: string, bytes: Uint8Array): void => {
    contents.delete(hash)
    total -= bytes.byteLength
  }
  return {
    get(hash) {
      const bytes = contents.get(hash)
      if (!bytes) return undefined
      contents.delete(hash)
      contents.set(hash, bytes)
      return bytes.slice()
    },
    keep(hash, bytes) {
      if (bytes.byteLength > largestBytes || contents.has(hash)) return
      contents.set(hash, bytes.slice())
      total += bytes.byteLength
      for (const [oldest, oldestBytes] of contents) {
        if (total <= mostBytes) return
        drop(oldest, oldestBytes)
      }
    },
  }
}
