/**
 * The tree of a source, loaded as far as it is read.
 *
 * - A directory that is not loaded has an empty map of entries, which is filled when it is loaded, so that everything
 *   that shares the node sees them. Callers read entries only through `child` and `entries`.
 * - Of a directory without entries, the first few names are fetched one by one. A fetched name is known, even if it
 *   does not exist; loading the rest never overwrites a known name, which a copy may have changed meanwhile.
 */
import { broken } from '../core/failure.js'
import { emptyTree } from '../core/tree.js'
import type { DirNode, TreeNode } from '../core/tree.js'
import { join } from './path.js'
import type { FileSource, FileNodeInfo } from './port.js'

type Entries = Map<string, TreeNode>

/** A directory that is not loaded. */
interface Unloaded {
  /** The maps of the directory and of its copies. */
  readonly maps: Entries[]
  readonly known: Map<string, Promise<void>>
  loading?: Promise<void>
}

/** After so many single names, the whole directory is fetched. */
const mostSingles = 8

export async function openLazyTree(source: FileSource): Promise<LazyTree> {
  const root = await source.node('/')
  return new LazyTree(source, root?.kind === 'dir' ? root : emptyTree)
}

export class LazyTree {
  readonly root: DirNode
  readonly #source: FileSource
  readonly #unloaded = new Map<DirNode['entries'], Unloaded>()

  constructor(source: FileSource, root: Extract<FileNodeInfo, { kind: 'dir' }>) {
    this.#source = source
    this.root = this.#adoptDir(root)
  }

  /** An entry of the directory that has this path in the source. */
  async child(dir: DirNode, path: string, name: string): Promise<TreeNode | undefined> {
    const unloaded = this.#unloaded.get(dir.entries)
    if (unloaded && !unloaded.known.has(name) && (unloaded.loading || unloaded.known.size >= mostSingles))
      await this.entries(dir, path)
    else if (unloaded) {
      const fetching = unloaded.known.get(name) ?? this.#fetchOne(unloaded, join(path, name), name)
      unloaded.known.set(name, fetching)
      // Forgotten, so that it can be fetched again; the error is thrown below.
      fetching.catch(() => unloaded.known.delete(name))
      await fetching
    }
    return dir.entries.get(name)
  }

  /** The entries of the directory that has this path in the source. */
  async entries(dir: DirNode, path: string): Promise<ReadonlyMap<string, TreeNode>> {
    const unloaded = this.#unloaded.get(dir.entries)
    if (unloaded) {
      unloaded.loading ??= this.#fetch(unloaded, path).finally(() => delete unloaded.loading)
      await unloaded.loading
    }
    return dir.entries
  }

  /** Loads everything below it. */
  async load(dir: DirNode, path: string): Promise<void> {
    for (const [name, node] of await this.entries(dir, path))
      if (node.kind === 'dir') await this.load(node, join(path, name))
  }

  /** To be called when a directory was copied, with the maps of its entries. */
  copied(from: DirNode['entries'], to: Entries): void {
    const unloaded = this.#unloaded.get(from)
    if (!unloaded) return
    unloaded.maps.push(to)
    this.#unloaded.set(to, unloaded)
  }

  #adopt(info: FileNodeInfo): TreeNode {
    return info.kind === 'dir' ? this.#adoptDir(info) : info
  }

  #adoptDir({ mode, at, entries: known }: Extract<FileNodeInfo, { kind: 'dir' }>): DirNode {
    const entries: Entries = new Map()
    if (known) for (const [name, node] of known) entries.set(name, this.#adopt(node))
    else this.#unloaded.set(entries, { maps: [entries], known: new Map() })
    return { kind: 'dir', mode, at, entries }
  }

  #add({ maps }: Unloaded, name: string, info: FileNodeInfo): void {
    const node = this.#adopt(info)
    for (const entries of maps) entries.set(name, node)
  }

  async #fetch(unloaded: Unloaded, path: string): Promise<void> {
    const info = await this.#source.node(path)
    if (info?.kind !== 'dir' || !info.entries)
      throw broken('LT1', `the source gave ${info?.kind ?? 'nothing'} for the entries of ${path}`)
    await Promise.all(unloaded.known.values())
    for (const [name, node] of info.entries) if (!unloaded.known.has(name)) this.#add(unloaded, name, node)
    for (const entries of unloaded.maps) this.#unloaded.delete(entries)
  }

  async #fetchOne(unloaded: Unloaded, path: string, name: string): Promise<void> {
    const info = await this.#source.node(path)
    if (info) this.#add(unloaded, name, info)
  }
}
