/**
 * A call's view of the files: the given tree with the call's own changes in it, loaded as far as it is looked at. Knows
 * for each path whether what stands there is given or the call's own.
 *
 * - Whatever an operation gives follows from the call's own operations and the looks that it took (`saw`) at the
 *   given tree. So a tree on which all looks give the same leads to the same operations and the same results (CS1,
 *   CS2).
 * - A path that the call wrote, removed or made where it had seen nothing is its own, with all below: no look. A
 *   directory that it only asked to be there (`ensure`) is not, for others may have put something into it.
 * - Nothing here is asked for while something is changed (order.ts).
 */
import { defined } from '../core/defined.js'
import type { FileChange, FileRead, Look } from '../core/records/change.js'
import { broken } from '../core/failure.js'
import { editTree, nodeAt, observe, sortedEntries, treeUsage } from '../core/tree.js'
import type { DirNode, FileNode, TreeEditor, TreeNode, TreeUsage } from '../core/tree.js'
import { createChangeLog } from './change-log.js'
import { fileError } from './error.js'
import type { FileOperation } from './error.js'
import { openLazyTree } from './lazy-tree.js'
import type { LazyTree } from './lazy-tree.js'
import { join, namesIn, normalise } from './path.js'
import type { FileSource, FileUsage } from './port.js'
import { createReadSet } from './read-set.js'

/** Where a path leads, links followed, and what stands there, until something is changed. */
export interface ResolvedPath {
  readonly path: string
  readonly node: TreeNode | undefined
  readonly own: boolean
}

export interface PathWalk {
  readonly syscall: string
  /** What to do with a link at the end of the path. */
  readonly last: 'follow' | 'keep'
  /** Directories on the way are made, except by a link that leads to nothing. */
  readonly make?: true
  /** What an error names, where that is more than this path. */
  readonly doing?: FileOperation
}

/** As many as Linux follows. */
const mostLinks = 40
/** Changes of one body below which nobody asks how many names there are. */
const manyNames = 1_000

export async function openOverlay(source: FileSource): Promise<Overlay> {
  return new Overlay(source, await openLazyTree(source))
}

export class Overlay {
  readonly source: FileSource
  readonly #given: LazyTree
  readonly #editor: TreeEditor
  readonly #sight = createReadSet()
  readonly #log = createChangeLog()
  readonly #owned = new Set<string>()
  readonly #ensured = new Set<string>()
  /** Own files whose mode is that of a file which may have been there before. */
  readonly #givenMode = new Set<string>()
  /** All that was ever written. */
  #written = 0
  #usage: Promise<FileUsage> | undefined

  constructor(source: FileSource, given: LazyTree) {
    this.source = source
    this.#given = given
    this.#editor = editTree(given.root, source.at, (from, to) => given.copied(from, to))
  }

  // ── looking ──

  /** Only the last name may be missing. */
  async walk(path: string, how: PathWalk): Promise<ResolvedPath> {
    const asked = normalise(path, how.syscall)
    const doing = how.doing ?? { syscall: how.syscall, path: asked }
    const ahead = namesIn(asked).reverse()
    /** How many names ahead are of the path itself, not of a link's target. */
    let plain = ahead.length
    let links = 0
    let here: ResolvedPath = this.#root()
    const above: ResolvedPath[] = []
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === '..') {
        const up = above.pop() ?? here
        // A change copies the directories above it.
        here = { ...up, node: nodeAt(this.#editor.root, up.path) }
        continue
      }
      const place = await this.child(here, name)
      const isLast = ahead.length === 0
      if (place.node?.kind === 'link' && (!isLast || how.last === 'follow')) {
        this.saw(place, 'kind')
        links += 1
        if (links > mostLinks) throw fileError('ELOOP', doing)
        if (place.node.target.startsWith('/')) {
          here = this.#root()
          above.length = 0
        }
        plain = Math.min(plain, ahead.length)
        ahead.push(...namesIn(place.node.target).reverse())
        continue
      }
      if (isLast) return place
      const made = how.make && ahead.length < plain
      above.push(here)
      here = this.#through(place, made ? 'make' : 'find', doing)
      plain = Math.min(plain, ahead.length)
    }
    return here
  }

  #root(): ResolvedPath {
    return { path: '/', node: this.#editor.root, own: false }
  }

  /** What has this name in a directory, or would have it if there were one. */
  async child(dir: ResolvedPath, name: string): Promise<ResolvedPath> {
    const node = dir.node?.kind === 'dir' ? await this.#given.child(dir.node, dir.path, name) : undefined
    return this.#place(dir, name, node)
  }

  #place(dir: ResolvedPath, name: string, node: TreeNode | undefined): ResolvedPath {
    const path = join(dir.path, name)
    return { path, node, own: dir.own || this.#owned.has(path) }
  }

  #through(place: ResolvedPath, how: 'make' | 'find', doing: FileOperation): ResolvedPath {
    const { node } = place
    if (how === 'make' && (node === undefined || node.kind === 'dir')) return this.ensure(place)
    this.saw(place, 'kind')
    if (node?.kind === 'dir') return place
    throw fileError(node ? 'ENOTDIR' : 'ENOENT', doing)
  }

  /** Notes that what is done next depends on this. */
  saw({ path, node, own }: ResolvedPath, look: Look): void {
    if (own) return
    // The root is a directory for ever, and so is, for this call, what it asked to be one.
    if (look === 'kind' && node?.kind === 'dir' && (path === '/' || this.#ensured.has(path))) return
    this.#sight.add(path, look)
  }

  /** All of the node itself. */
  sawNode(place: ResolvedPath): void {
    this.saw(this.#givenMode.has(place.path) ? { ...place, own: false } : place, 'node')
  }

  /** What a directory holds, by name. */
  async list(dir: ResolvedPath): Promise<readonly ResolvedPath[]> {
    this.saw(dir, 'list')
    const entries =
      dir.node?.kind === 'dir' ? await this.#given.entries(dir.node, dir.path) : new Map<string, TreeNode>()
    return sortedEntries(entries).map(([name, node]) => this.#place(dir, name, node))
  }

  /** The directory with everything below, taken as one look. */
  async whole(dir: ResolvedPath): Promise<DirNode> {
    this.saw(dir, 'deep')
    if (dir.node?.kind !== 'dir') throw broken('FV1', `${dir.path} is taken for a directory`)
    await this.#given.load(dir.node, dir.path)
    return dir.node
  }

  // ── changing ──

  /** Has a directory where there is nothing or one. */
  ensure(place: ResolvedPath, mode?: number): ResolvedPath {
    const { path, own } = place
    if (own ? place.node : this.#ensured.has(path) || path === '/') return place
    this.saw(place, 'room')
    this.#change({ op: 'dir', path, ...defined({ mode }) })
    if (!own) this.#ensured.add(path)
    return place.node ? place : { path, own, node: nodeAt(this.#editor.root, path) }
  }

  /** Makes a directory where nothing was seen. */
  makeDir(place: ResolvedPath, mode?: number): void {
    this.#change({ op: 'dir', path: place.path, ...defined({ mode }) })
    this.#own(place)
  }

  /** Puts a file where nothing, a file or a link is. */
  putFile(place: ResolvedPath, file: Pick<FileNode, 'hash' | 'size'> & { readonly mode?: number | undefined }): void {
    this.saw(place, 'slot')
    const { hash, size, mode } = file
    this.#change({ op: 'file', path: place.path, hash, size, ...defined({ mode }) })
    if (mode === undefined && !place.own) this.#givenMode.add(place.path)
    else if (mode !== undefined || place.node?.kind !== 'file') this.#givenMode.delete(place.path)
    this.#own(place)
  }

  /** Puts a link where nothing, a file or a link is. */
  putLink(place: ResolvedPath, target: string): void {
    this.saw(place, 'slot')
    this.#change({ op: 'link', path: place.path, target })
    this.#own(place)
  }

  setMode(place: ResolvedPath, mode: number): void {
    this.#change({ op: 'mode', path: place.path, mode })
    if (place.node?.kind === 'file') this.#givenMode.delete(place.path)
  }

  /** With all below; whatever is there or not. */
  remove(place: ResolvedPath): void {
    this.#change({ op: 'gone', path: place.path }, place.node?.kind === 'dir')
    this.#givenMode.delete(place.path)
    this.#own(place)
  }

  #own({ path, own }: ResolvedPath): void {
    if (!own) this.#owned.add(path)
  }

  #change(change: FileChange, below = false): void {
    if (change.op === 'file') this.#written += change.size
    this.#log.add(change, below)
    this.#editor.apply(change)
  }

  // ── counting ──

  /** Throws where files would grow past the quota. That itself is a look at everything. */
  async admit(bytes: number, instead: number, doing: FileOperation): Promise<void> {
    this.#usage ??= this.source.usage()
    const given = await this.#usage
    if (bytes <= instead || given.bytes + this.#written + bytes <= given.quotaBytes) return
    const used = (await this.#count()).bytes - instead
    if (used + bytes <= given.quotaBytes) return
    this.saw(this.#root(), 'deep')
    throw fileError(
      'EDQUOT',
      doing,
      `the files of this thread may take ${given.quotaBytes} bytes, others take ${used}, and this one would take ` +
        `${bytes}. Remove what is not needed`,
    )
  }

  /**
   * The same for new names. What a call ends up with is looked at when it is settled; here only whoever makes very
   * many is stopped.
   */
  async admitNames(count: number, doing: FileOperation): Promise<void> {
    if (this.#log.size + count < manyNames) return
    this.#usage ??= this.source.usage()
    const { names, quotaNames = Infinity } = await this.#usage
    if (names + this.#log.size + count <= quotaNames) return
    const used = (await this.#count()).names
    if (used + count <= quotaNames) return
    this.saw(this.#root(), 'deep')
    throw fileError(
      'EDQUOT',
      doing,
      `this thread may have ${quotaNames} files, links and directories, and has ${used}. Remove what is not needed`,
    )
  }

  async usage(): Promise<FileUsage> {
    this.saw(this.#root(), 'deep')
    this.#usage ??= this.source.usage()
    const given = await this.#usage
    return this.#log.size === 0 ? given : { ...given, ...(await this.#count()) }
  }

  async #count(): Promise<TreeUsage> {
    await this.#given.load(this.#editor.root, '/')
    return treeUsage(this.#editor.seal())
  }

  // ── the outcome ──

  changes(): readonly FileChange[] {
    return this.#log.changes()
  }

  reads(): Promise<readonly FileRead[]> {
    return this.#sight.reads(({ path, look }) =>
      look === 'deep' ? this.source.deep(path) : observe(this.#given.root, path, look),
    )
  }
}
