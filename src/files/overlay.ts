/**
 * The overlay of a call: the base tree with the call's own changes, loaded as far as it is read. It knows for each path
 * whether its node is of the base or the call's own.
 *
 * - Results depend only on the call's own writes and its recorded reads (`saw`) of the base tree. If every recorded
 *   read returns the same on another tree, running the call there gives the same writes and results.
 * - A path that the call wrote, removed, or created where it had seen nothing is its own, with all below: reading it
 *   is not recorded. A directory that it only ensured is not: others may have put something into it.
 * - Callers never read while something is changed (read-write-order.ts).
 */
import { defined } from '../core/defined.js'
import type { FileChange, FileRead, Look } from '../core/records/change.js'
import { broken } from '../core/failure.js'
import { editTree, nodeAt, observe, sortedEntries } from '../core/tree.js'
import { treeUsage } from '../core/tree/tree-usage.js'
import type { DirNode, FileNode, TreeEditor, TreeNode } from '../core/tree.js'
import type { TreeUsage } from '../core/tree/tree-usage.js'
import { createChangeLog } from './change-log.js'
import { fileError } from './error.js'
import type { FileOperation } from './error.js'
import { openLazyTree } from './lazy-tree.js'
import type { LazyTree } from './lazy-tree.js'
import { join, namesIn, normalise } from './path.js'
import type { FileSource, FileUsage } from './port.js'
import { createReadSet } from './read-set.js'

/** The real path that a path leads to, and the node there. Valid until the next change. */
export interface ResolvedPath {
  readonly path: string
  readonly node: TreeNode | undefined
  readonly own: boolean
}

export interface PathWalk {
  readonly syscall: string
  /** What to do with a link at the end of the path. */
  readonly last: 'follow' | 'keep'
  /** Missing directories on the way are created, except behind a link. */
  readonly make?: true
  /** What an error names, if that is more than this path. */
  readonly operation?: FileOperation
}

/** As in Linux. */
const mostLinks = 40
/** The quota of names is checked only for calls with more changes. */
const manyNames = 1_000

export async function openOverlay(source: FileSource): Promise<Overlay> {
  return new Overlay(source, await openLazyTree(source))
}

export class Overlay {
  readonly source: FileSource
  readonly #base: LazyTree
  readonly #editor: TreeEditor
  readonly #readSet = createReadSet()
  readonly #log = createChangeLog()
  readonly #owned = new Set<string>()
  readonly #ensured = new Set<string>()
  /** Own files whose mode comes from a file that may have been at the path before. */
  readonly #inheritedMode = new Set<string>()
  /** Bytes of all writes so far. */
  #written = 0
  #usage: Promise<FileUsage> | undefined

  constructor(source: FileSource, base: LazyTree) {
    this.source = source
    this.#base = base
    this.#editor = editTree(base.root, source.at, (from, to) => base.copied(from, to))
  }

  // ── reading ──

  /** Only the last name may be missing. */
  async walk(path: string, walk: PathWalk): Promise<ResolvedPath> {
    const normal = normalise(path, walk.syscall)
    const operation = walk.operation ?? { syscall: walk.syscall, path: normal }
    const ahead = namesIn(normal).reverse()
    /** How many of the names ahead are of the path itself, not of a link's target. */
    let plain = ahead.length
    let links = 0
    let here: ResolvedPath = this.#root()
    const above: ResolvedPath[] = []
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === '..') {
        const up = above.pop() ?? here
        // Looked up again: creating a directory copies those above it.
        here = { ...up, node: nodeAt(this.#editor.root, up.path) }
        continue
      }
      const resolved = await this.child(here, name)
      const isLast = ahead.length === 0
      if (resolved.node?.kind === 'link' && (!isLast || walk.last === 'follow')) {
        this.saw(resolved, 'kind')
        links += 1
        if (links > mostLinks) throw fileError('ELOOP', operation)
        if (resolved.node.target.startsWith('/')) {
          here = this.#root()
          above.length = 0
        }
        plain = Math.min(plain, ahead.length)
        ahead.push(...namesIn(resolved.node.target).reverse())
        continue
      }
      if (isLast) return resolved
      const made = walk.make && ahead.length < plain
      above.push(here)
      here = this.#enter(resolved, made ? 'make' : 'find', operation)
      plain = Math.min(plain, ahead.length)
    }
    return here
  }

  #root(): ResolvedPath {
    return { path: '/', node: this.#editor.root, own: false }
  }

  /** The entry of a directory, which need not exist. */
  async child(dir: ResolvedPath, name: string): Promise<ResolvedPath> {
    const node = dir.node?.kind === 'dir' ? await this.#base.child(dir.node, dir.path, name) : undefined
    return this.#resolved(dir, name, node)
  }

  #resolved(dir: ResolvedPath, name: string, node: TreeNode | undefined): ResolvedPath {
    const path = join(dir.path, name)
    return { path, node, own: dir.own || this.#owned.has(path) }
  }

  #enter(resolved: ResolvedPath, missing: 'make' | 'find', operation: FileOperation): ResolvedPath {
    const { node } = resolved
    if (missing === 'make' && (node === undefined || node.kind === 'dir')) return this.ensure(resolved)
    this.saw(resolved, 'kind')
    if (node?.kind === 'dir') return resolved
    throw fileError(node ? 'ENOTDIR' : 'ENOENT', operation)
  }

  /** Records that the result depends on this. */
  saw({ path, node, own }: ResolvedPath, look: Look): void {
    if (own) return
    // The root is always a directory, and for this call so is what it ensured.
    if (look === 'kind' && node?.kind === 'dir' && (path === '/' || this.#ensured.has(path))) return
    this.#readSet.add(path, look)
  }

  /** Records a read of the whole node, with its mode. */
  sawNode(resolved: ResolvedPath): void {
    this.saw(this.#inheritedMode.has(resolved.path) ? { ...resolved, own: false } : resolved, 'node')
  }

  /** The entries of a directory, sorted by name. */
  async list(dir: ResolvedPath): Promise<readonly ResolvedPath[]> {
    this.saw(dir, 'list')
    const entries =
      dir.node?.kind === 'dir' ? await this.#base.entries(dir.node, dir.path) : new Map<string, TreeNode>()
    return sortedEntries(entries).map(([name, node]) => this.#resolved(dir, name, node))
  }

  /** The directory with everything below, recorded as one read. */
  async whole(dir: ResolvedPath): Promise<DirNode> {
    this.saw(dir, 'deep')
    if (dir.node?.kind !== 'dir') throw broken('FV1', `${dir.path} is taken for a directory`)
    await this.#base.load(dir.node, dir.path)
    return dir.node
  }

  // ── changing ──

  /** Creates a directory where there is nothing; one that exists stays. */
  ensure(resolved: ResolvedPath, mode?: number): ResolvedPath {
    const { path, own } = resolved
    if (own ? resolved.node : this.#ensured.has(path) || path === '/') return resolved
    this.saw(resolved, 'room')
    this.#change({ op: 'dir', path, ...defined({ mode }) })
    if (!own) this.#ensured.add(path)
    return resolved.node ? resolved : { path, own, node: nodeAt(this.#editor.root, path) }
  }

  /** Creates a directory where the call has seen nothing. */
  makeDir(resolved: ResolvedPath, mode?: number): void {
    this.#change({ op: 'dir', path: resolved.path, ...defined({ mode }) })
    this.#own(resolved)
  }

  /** Puts a file where nothing, a file or a link is. */
  putFile(
    resolved: ResolvedPath,
    file: Pick<FileNode, 'hash' | 'size'> & { readonly mode?: number | undefined },
  ): void {
    this.saw(resolved, 'slot')
    const { hash, size, mode } = file
    this.#change({ op: 'file', path: resolved.path, hash, size, ...defined({ mode }) })
    if (mode === undefined && !resolved.own) this.#inheritedMode.add(resolved.path)
    else if (mode !== undefined || resolved.node?.kind !== 'file') this.#inheritedMode.delete(resolved.path)
    this.#own(resolved)
  }

  /** Puts a link where nothing, a file or a link is. */
  putLink(resolved: ResolvedPath, target: string): void {
    this.saw(resolved, 'slot')
    this.#change({ op: 'link', path: resolved.path, target })
    this.#own(resolved)
  }

  setMode(resolved: ResolvedPath, mode: number): void {
    this.#change({ op: 'mode', path: resolved.path, mode })
    if (resolved.node?.kind === 'file') this.#inheritedMode.delete(resolved.path)
  }

  /** Removes whatever is there, with all below. */
  remove(resolved: ResolvedPath): void {
    this.#change({ op: 'gone', path: resolved.path }, resolved.node?.kind === 'dir')
    this.#inheritedMode.delete(resolved.path)
    this.#own(resolved)
  }

  #own({ path, own }: ResolvedPath): void {
    if (!own) this.#owned.add(path)
  }

  #change(change: FileChange, recursive = false): void {
    if (change.op === 'file') this.#written += change.size
    this.#log.add(change, recursive)
    this.#editor.apply(change)
  }

  // ── quota ──

  /** Throws if the files would exceed the quota; that depends on everything, and is recorded so. */
  async admit(bytes: number, replaced: number, operation: FileOperation): Promise<void> {
    this.#usage ??= this.source.usage()
    const base = await this.#usage
    if (bytes <= replaced || base.bytes + this.#written + bytes <= base.quotaBytes) return
    const used = (await this.#count()).bytes - replaced
    if (used + bytes <= base.quotaBytes) return
    this.saw(this.#root(), 'deep')
    throw fileError(
      'EDQUOT',
      operation,
      `the files of this thread may take ${base.quotaBytes} bytes, others take ${used}, and this one would take ` +
        `${bytes}. Remove what is not needed`,
    )
  }

  /**
   * The same for new names. The result of a call is checked when it is settled; here only a call that creates very
   * many is stopped.
   */
  async admitNames(count: number, operation: FileOperation): Promise<void> {
    if (this.#log.size + count < manyNames) return
    this.#usage ??= this.source.usage()
    const { names, quotaNames = Infinity } = await this.#usage
    if (names + this.#log.size + count <= quotaNames) return
    const used = (await this.#count()).names
    if (used + count <= quotaNames) return
    this.saw(this.#root(), 'deep')
    throw fileError(
      'EDQUOT',
      operation,
      `this thread may have ${quotaNames} files, links and directories, and has ${used}. Remove what is not needed`,
    )
  }

  async usage(): Promise<FileUsage> {
    this.saw(this.#root(), 'deep')
    this.#usage ??= this.source.usage()
    const base = await this.#usage
    return this.#log.size === 0 ? base : { ...base, ...(await this.#count()) }
  }

  async #count(): Promise<TreeUsage> {
    await this.#base.load(this.#editor.root, '/')
    return treeUsage(this.#editor.seal())
  }

  // ── the outcome ──

  changes(): readonly FileChange[] {
    return this.#log.changes()
  }

  reads(): Promise<readonly FileRead[]> {
    return this.#readSet.reads(({ path, look }) =>
      look === 'deep' ? this.source.deep(path) : observe(this.#base.root, path, look),
    )
  }
}
