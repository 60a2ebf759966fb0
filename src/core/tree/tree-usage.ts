/**
 * How much a tree of files holds, and whether that is too much. Directories never change, so each is counted once; of
 * a large one that was copied in order to be changed, only what was changed.
 */
import { LayeredMap } from './layered-map.js'
import type { DirNode, TreeNode } from '../tree.js'

export interface TreeUsage {
  readonly bytes: number
  readonly files: number
  /** Files, links and directories. */
  readonly names: number
}

/** Limits of a thread's files. Records of an earlier Skein have no `quotaNames`: names are unlimited then. */
export interface FileQuota {
  readonly quotaBytes: number
  readonly quotaNames?: number
}

/** Which quota a change exceeds, in words; a tree that does not grow is always allowed. */
export function overQuota(
  { quotaBytes, quotaNames = Infinity }: FileQuota,
  before: TreeUsage,
  after: TreeUsage,
): string | undefined {
  if (after.bytes > quotaBytes && after.bytes > before.bytes)
    return `${after.bytes} bytes, and ${quotaBytes} are allowed`
  if (after.names > quotaNames && after.names > before.names)
    return `${after.names} files, links and directories, and ${quotaNames} are allowed`
  return undefined
}

type Entries = DirNode['entries']

const usages = new WeakMap<Entries, TreeUsage>()

/** The size of all files, each name counted. */
export function treeUsage({ entries }: DirNode): TreeUsage {
  const known = usages.get(entries)
  if (known) return known
  // Bottom up: a tree may be deeper than the stack.
  const pending = [entries]
  for (const each of pending) for (const below of partsOf(each)) if (!usages.has(below)) pending.push(below)
  for (const each of pending.toReversed()) usages.set(each, usageOf(each))
  return usageOf(entries)
}

/** What must be known before the usage of these entries is. */
function* partsOf(entries: Entries): Generator<Entries> {
  if (entries instanceof LayeredMap) yield entries.base
  const nodes = entries instanceof LayeredMap ? entries.changes : entries
  for (const node of nodes.values()) if (node?.kind === 'dir') yield node.entries
}

function usageOf(entries: Entries): TreeUsage {
  if (!(entries instanceof LayeredMap)) return sumOf(entries.values(), none)
  const { base, changes } = entries
  let sum = usages.get(base) ?? none
  for (const [name, node] of changes) {
    const before = base.get(name)
    if (before) sum = plus(sum, before, -1)
    if (node) sum = plus(sum, node, 1)
  }
  return sum
}

const none: TreeUsage = { bytes: 0, files: 0, names: 0 }

function sumOf(nodes: Iterable<TreeNode>, from: TreeUsage): TreeUsage {
  let sum = from
  for (const node of nodes) sum = plus(sum, node, 1)
  return sum
}

function plus({ bytes, files, names }: TreeUsage, node: TreeNode, times: 1 | -1): TreeUsage {
  if (node.kind === 'link') return { bytes, files, names: names + times }
  if (node.kind === 'file') return { bytes: bytes + times * node.size, files: files + times, names: names + times }
  const below = usages.get(node.entries) ?? treeUsage(node)
  return {
    bytes: bytes + times * below.bytes,
    files: files + times * below.files,
    names: names + times * (below.names + 1),
  }
}
