/**
 * A tree in memory and a store of contents, as the source of working copies. Hosts make one per snapshot: for workers,
 * for tools on the host and for a thread's files from outside.
 *
 * - An answer holds the entries of the directory that was asked for, and of those below it, the nearest first, as
 *   far as 256 nodes go: a reader far away asks once for a small tree and never gets a large one.
 */
import { defined } from '../core/defined.js'
import { nodeAt, observe, treeUsage } from '../core/tree.js'
import type { DirNode, FileQuota } from '../core/tree.js'
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
      return node?.kind === 'dir' ? show(node) : node
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

/** One copy, and not a Buffer: that would come out of a worker's port as something else. */
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

function show(dir: DirNode): FileNodeInfo {
  const top = new Map<string, FileNodeInfo>()
  const ahead = [{ from: dir, into: top }]
  let left = mostNodes - dir.entries.size
  // Grows while it is gone through.
  for (const { from, into } of ahead) {
    for (const [name, node] of from.entries) {
      if (node.kind !== 'dir') {
        into.set(name, node)
        continue
      }
      const { kind, mode, at, entries } = node
      if (entries.size > left) {
        into.set(name, { kind, mode, at })
        continue
      }
      left -= entries.size
      const below = new Map<string, FileNodeInfo>()
      into.set(name, { kind, mode, at, entries: below })
      ahead.push({ from: node, into: below })
    }
  }
  return { kind: 'dir', mode: dir.mode, at: dir.at, entries: top }
}
