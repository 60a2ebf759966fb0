/**
 * A tree in memory and a store of contents as the source of working copies. The host creates one per snapshot: for
 * workers, for tools on the host and for access to a thread's files from outside.
 *
 * - A directory comes with its entries and, breadth first, with those of the directories below it, up to 256 nodes: a
 *   remote reader needs one request for a small tree and never gets a large one.
 */
import { defined } from '../core/defined.js'
import { nodeAt, observe } from '../core/tree.js'
import { treeUsage } from '../core/tree/tree-usage.js'
import type { DirNode } from '../core/tree.js'
import type { FileQuota } from '../core/tree/tree-usage.js'
import type { FileSource, FileNodeInfo } from './port.js'

export interface ContentStore {
  put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ readonly hash: string; readonly size: number }>
  get(hash: string): AsyncIterable<Uint8Array>
}

export interface TreeSourceOptions extends FileQuota {
  readonly tree: DirNode
  /** The time of the step. */
  readonly at: number
  readonly blobs: ContentStore
}

export function createTreeSource({ tree, at, blobs, quotaBytes, quotaNames }: TreeSourceOptions): FileSource {
  return {
    at,
    async node(path) {
      const node = nodeAt(tree, path)
      return node?.kind === 'dir' ? toInfo(node) : node
    },
    deep: async (path) => observe(tree, path, 'deep'),
    usage: async () => ({ ...treeUsage(tree), quotaBytes, ...defined({ quotaNames }) }),
    async bytes(hash) {
      const parts: Uint8Array[] = []
      for await (const part of blobs.get(hash)) parts.push(part)
      return joined(parts)
    },
    stream: (hash) => blobs.get(hash),
    store: (content) => blobs.put(content),
  }
}

/** One copy, and not a Buffer, which would arrive in a worker as a plain Uint8Array. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const mostNodes = 256

function toInfo(dir: DirNode): FileNodeInfo {
  const top = new Map<string, FileNodeInfo>()
  const pending = [{ from: dir, into: top }]
  let room = mostNodes - dir.entries.size
  // Grows during the loop.
  for (const { from, into } of pending) {
    for (const [name, node] of from.entries) {
      if (node.kind !== 'dir') {
        into.set(name, node)
        continue
      }
      const { kind, mode, at, entries } = node
      if (entries.size > room) {
        into.set(name, { kind, mode, at })
        continue
      }
      room -= entries.size
      const below = new Map<string, FileNodeInfo>()
      into.set(name, { kind, mode, at, entries: below })
      pending.push({ from: node, into: below })
    }
  }
  return { kind: 'dir', mode: dir.mode, at: dir.at, entries: top }
}
