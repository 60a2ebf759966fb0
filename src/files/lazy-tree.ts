/**
 * The tree of a source, of which only the parts that were looked at are here.
 *
 * - A directory that has not been asked for has an empty map of entries, and that very map is filled when it is:
 *   whatever shares the node sees them. Nobody looks into a map except through `child` and `entries`.
 * - Of a large directory single names are asked for, as long as they are few. What was asked for is known, also
 *   that there is nothing; what comes later never touches a known name, so that a copy may have changed it.
 */
import { broken } from '../core/failure.js'
import { emptyTree } from '../core/tree.js'
import type { DirNode, TreeNode } from '../core/tree.js'
import { join } from './path.js'
import type { FileSource, FileNodeInfo } from './port.js'

type Entries = Map<string, TreeNode>

/** A directory of which not all is here. */
interface Missing {
  /** Its own entries and those of its copies. */
  readonly maps: Entries[]
  readonly known: Map<string, Promise<void>>
  loading?: Promise<void>
}

/** After so many, all names are asked for at once. */
const mostSingles = 8

export async function openLazyTree(source: FileSource): Promise<LazyTree> {
  const root = await source.node('/')
  return new LazyTree(source, root?.kind === 'dir' ? root : emptyTree)
}

export class LazyTree {
  readonly root: DirNode
  readonly #source: FileSource
  readonly #missing = new Map<DirNode['entries'], Missing>()

  constructor(source: FileSource, root: Extract<FileNodeInfo, { kind: 'dir' }>) {
    this.#source = source
    this.root = this.#adoptDir(root)
  }

  /** What has this name in the directory at this path of the source. */
  async child(dir: DirNode, path: string, name: string): Promise<TreeNode | undefined> {
    const missing = this.#missing.get(dir.entries)
    if (missing && !missing.known.has(name) && (missing.loading || missing.known.size >= mostSingles))
      await this.entries(dir, path)
    else if (missing) {
      const asking = missing.known.get(name) ?? this.#fetchOne(missing, join(path, name), name)
      missing.known.set(name, asking)
      asking.catch(() => missing.known.delete(name)) // it may be asked for again; whoever waits hears of it
      await asking
    }
    return dir.entries.get(name)
  }

  /** What the directory at this path of the source holds. */
  async entries(dir: DirNode, path: string): Promise<ReadonlyMap<string, TreeNode>> {
    const missing = this.#missing.get(dir.entries)
    if (missing) {
      missing.loading ??= this.#fetch(missing, path).finally(() => delete missing.loading)
      await missing.loading
    }
    return dir.entries
  }

  /** All that is below it. */
  async load(dir: DirNode, path: string): Promise<void> {
    for (const [name, node] of await this.entries(dir, path))
      if (node.kind === 'dir') await this.load(node, join(path, name))
  }

  /** To be told of a directory that was copied, by its entries. */
  copied(from: DirNode['entries'], to: Entries): void {
    const missing = this.#missing.get(from)
    if (!missing) return
    missing.maps.push(to)
    this.#missing.set(to, missing)
  }

  #adopt(shown: FileNodeInfo): TreeNode {
    return shown.kind === 'dir' ? this.#adoptDir(shown) : shown
  }

  #adoptDir({ mode, at, entries: shown }: Extract<FileNodeInfo, { kind: 'dir' }>): DirNode {
    const entries: Entries = new Map()
    if (shown) for (const [name, node] of shown) entries.set(name, this.#adopt(node))
    else this.#missing.set(entries, { maps: [entries], known: new Map() })
    return { kind: 'dir', mode, at, entries }
  }

  #add({ maps }: Missing, name: string, shown: FileNodeInfo): void {
    const node = this.#adopt(shown)
    for (const entries of maps) entries.set(name, node)
  }

  async #fetch(missing: Missing, path: string): Promise<void> {
    const shown = await this.#source.node(path)
    if (shown?.kind !== 'dir' || !shown.entries)
      throw broken('LT1', `the source gave ${shown?.kind ?? 'nothing'} for the entries of ${path}`)
    await Promise.all(missing.known.values())
    for (const [name, node] of shown.entries) if (!missing.known.has(name)) this.#add(missing, name, node)
    for (const entries of missing.maps) this.#missing.delete(entries)
  }

  async #fetchOne(missing: Missing, path: string, name: string): Promise<void> {
    const shown = await this.#source.node(path)
    if (shown) this.#add(missing, name, shown)
  }
}
