/**
 * The tree of a source, of which only the parts that were looked at are here.
 *
 * LT1 A directory that has not been asked for has an empty map of entries, and that very map is filled when it is: whatever
 *     shares the node sees them. Nobody looks into a map that `entries` has not given.
 */
import { broken } from '../core/failure.js'
import { emptyTree } from '../core/tree.js'
import type { DirNode, TreeNode } from '../core/tree.js'
import { join } from './path.js'
import type { FileSource, Shown } from './port.js'

export interface LazyTree {
  readonly root: DirNode
  /** What the directory at this path of the source holds. */
  entries(dir: DirNode, path: string): Promise<ReadonlyMap<string, TreeNode>>
  /** All that is below it. */
  load(dir: DirNode, path: string): Promise<void>
}

export async function openLazyTree(source: FileSource): Promise<LazyTree> {
  const awaited = new Map<ReadonlyMap<string, TreeNode>, { readonly fill: Map<string, TreeNode>; loading?: Promise<void> }>()

  function adopt(shown: Shown): TreeNode {
    return shown.kind === 'dir' ? adoptDir(shown) : shown
  }
  function adoptDir({ mode, at, entries: shown }: Extract<Shown, { kind: 'dir' }>): DirNode {
    const fill = new Map<string, TreeNode>()
    if (shown) for (const [name, node] of shown) fill.set(name, adopt(node))
    else awaited.set(fill, { fill })
    return { kind: 'dir', mode, at, entries: fill }
  }
  async function fetch(fill: Map<string, TreeNode>, path: string): Promise<void> {
    const shown = await source.node(path)
    if (shown?.kind !== 'dir' || !shown.entries) throw broken('LT1', `the source gave ${shown?.kind ?? 'nothing'} for the entries of ${path}`)
    for (const [name, node] of shown.entries) fill.set(name, adopt(node))
    awaited.delete(fill)
  }
  async function entries(dir: DirNode, path: string): Promise<ReadonlyMap<string, TreeNode>> {
    const missing = awaited.get(dir.entries)
    if (missing) {
      missing.loading ??= fetch(missing.fill, path).finally(() => delete missing.loading)
      await missing.loading
    }
    return dir.entries
  }
  async function load(dir: DirNode, path: string): Promise<void> {
    for (const [name, node] of await entries(dir, path)) if (node.kind === 'dir') await load(node, join(path, name))
  }

  const root = await source.node('/')
  return { root: adoptDir(root?.kind === 'dir' ? root : emptyTree), entries, load }
}
