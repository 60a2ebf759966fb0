/**
 * A three-way merge of file trees: what a child did to its copy of its parent's files goes into the parent's.
 *
 * - Times do not count as changes. What one side changed is taken; a rename is a removal and an addition. A directory
 *   is removed if one side deleted it and the other has nothing changed or new in it.
 * - No version is lost: where both cannot be kept, that of `ours` stays, the child's goes beside it
 *   (conflict-path.ts), and a conflict is reported. What one deleted and the other changed is kept, with a conflict.
 * - Shared subtrees are not walked: the cost is that of the directories in which something changed. Sharing is
 *   recognised by identity (FT1).
 */
import type { FileChange } from '../../core/records/change.js'
import { nodeAt, sortedEntries } from '../../core/tree.js'
import type { DirNode, FileNode, TreeNode } from '../../core/tree.js'
import { largeBytes } from '../contents.js'
import type { Conflict } from './conflicts.js'
import { conflictPath } from './conflict-path.js'
import { mergeText } from './text.js'
import { join } from '../path.js'

export interface TreeMerge {
  /** As it was at the fork. */
  readonly base: DirNode
  /** The parent's, now. */
  readonly ours: DirNode
  /** The child's, at its end. */
  readonly theirs: DirNode
  read(hash: string): Promise<Uint8Array>
  /** Stores the content of a merged file. */
  write(bytes: Uint8Array): Promise<{ readonly hash: string; readonly size: number }>
}

export interface MergedTrees {
  /** What turns `ours` into the merge. */
  readonly changes: readonly FileChange[]
  readonly conflicts: readonly Conflict[]
}

export async function mergeTrees(merge: TreeMerge): Promise<MergedTrees> {
  const merging = new Merging(merge)
  await merging.node('/', merge)
  return { changes: merging.changes, conflicts: merging.conflicts.sort((a, b) => (a.path < b.path ? -1 : 1)) }
}

interface Versions<Base, Side = Base> {
  readonly base: Base
  readonly ours: Side
  readonly theirs: Side
}

type FileVersions = Versions<FileNode | undefined, FileNode>
type ModeVersions = Versions<number | undefined, number>

/** Larger files are not merged by lines. */
const mostBytes = 4 * largeBytes

class Merging {
  readonly changes: FileChange[] = []
  readonly conflicts: Conflict[] = []
  readonly #merge: TreeMerge
  /** Paths of versions that were put aside. */
  readonly #taken = new Set<string>()

  constructor(merge: TreeMerge) {
    this.#merge = merge
  }

  /** Merges what is at a path. Returns whether something is there afterwards. */
  async node(path: string, versions: Versions<TreeNode | undefined>): Promise<boolean> {
    const { base, ours, theirs } = versions
    if (base === theirs || ours === theirs) return ours !== undefined
    if (ours === base && !theirs) return this.#put(path, theirs)
    const merging = this.#dirs(path, versions)
    if (merging) return merging
    if (same(base, theirs) || same(ours, theirs)) return ours !== undefined
    if (same(base, ours)) return this.#put(path, theirs)
    return this.#bothChanged(path, versions)
  }

  // ── directories ──

  /** Directories on both sides, or on one side and deleted on the other; undefined for anything else. */
  #dirs(path: string, versions: Versions<TreeNode | undefined>): Promise<boolean> | undefined {
    const [base, ours, theirs] = [dirOf(versions.base), dirOf(versions.ours), dirOf(versions.theirs)]
    if (ours && theirs) return this.#bothDirs(path, { base, ours, theirs })
    if (base && ours && !versions.theirs) return this.#deletedByThem(path, { base, ours })
    if (base && theirs && !versions.ours) return this.#deletedByUs(path, { base, theirs })
    return undefined
  }

  async #bothDirs(path: string, dirs: Versions<DirNode | undefined, DirNode>): Promise<true> {
    const { base, ours, theirs } = dirs
    await this.#entries(path, dirs)
    const mode = this.#mode(path, { base: base?.mode, ours: ours.mode, theirs: theirs.mode })
    if (mode !== ours.mode) this.changes.push({ op: 'mode', path, mode })
    return true
  }

  async #deletedByThem(path: string, { base, ours }: Pick<Versions<DirNode>, 'base' | 'ours'>): Promise<boolean> {
    const start = this.changes.length
    const remains = await this.#entries(path, { base, ours, theirs: undefined })
    if (ours.mode !== base.mode) this.conflicts.push({ path, kind: 'deleted', kept: 'ours' })
    else if (!remains) {
      // One removal instead of one for each entry.
      this.changes.length = start
      return this.#put(path, undefined)
    }
    return true
  }

  async #deletedByUs(path: string, { base, theirs }: Pick<Versions<DirNode>, 'base' | 'theirs'>): Promise<boolean> {
    const start = this.changes.length
    const remains = await this.#entries(path, { base, ours: undefined, theirs })
    if (theirs.mode !== base.mode) this.conflicts.push({ path, kind: 'deleted', kept: 'theirs', theirs: path })
    else if (!remains) return false
    this.changes.splice(start, 0, { op: 'dir', path, mode: theirs.mode })
    return true
  }

  /** Merges the entries of a directory. Returns whether any is there afterwards that the base did not share. */
  async #entries(path: string, { base, ours, theirs }: Versions<DirNode | undefined>): Promise<boolean> {
    // A tree may be deeper than the stack: each directory starts on a new one.
    await Promise.resolve()
    let remains = false
    for (const name of ours?.entries.keys() ?? []) remains ||= !base?.entries.has(name)
    for (const name of changedNames(base, theirs)) {
      const entry = { base: base?.entries.get(name), ours: ours?.entries.get(name), theirs: theirs?.entries.get(name) }
      if (await this.node(join(path, name), entry)) remains = true
    }
    return remains
  }

  /** The merged mode. */
  #mode(path: string, { base, ours, theirs }: ModeVersions): number {
    if (ours === base) return theirs
    if (theirs !== base && theirs !== ours) this.conflicts.push({ path, kind: 'mode', kept: 'ours', mode: theirs })
    return ours
  }

  // ── what both changed ──

  async #bothChanged(path: string, { base, ours, theirs }: Versions<TreeNode | undefined>): Promise<true> {
    if (!theirs) this.conflicts.push({ path, kind: 'deleted', kept: 'ours' })
    else if (!ours) {
      this.#put(path, theirs)
      this.conflicts.push({ path, kind: 'deleted', kept: 'theirs', theirs: path })
    } else if (ours.kind === 'file' && theirs.kind === 'file') {
      await this.#bothFiles(path, { base: base?.kind === 'file' ? base : undefined, ours, theirs })
    } else this.#putAside(path, theirs, ours.kind === theirs.kind ? 'content' : 'kind')
    return true
  }

  async #bothFiles(path: string, files: FileVersions): Promise<void> {
    const { base, ours, theirs } = files
    const content = await this.#content(files)
    if (typeof content === 'string') return this.#putAside(path, theirs, content)
    const mode = this.#mode(path, { base: base?.mode, ours: ours.mode, theirs: theirs.mode })
    if (content.hash !== ours.hash)
      this.changes.push({ op: 'file', path, hash: content.hash, size: content.size, mode })
    else if (mode !== ours.mode) this.changes.push({ op: 'mode', path, mode })
  }

  async #content({
    base,
    ours,
    theirs,
  }: FileVersions): Promise<{ readonly hash: string; readonly size: number } | 'content' | 'binary'> {
    if (theirs.hash === base?.hash || theirs.hash === ours.hash) return ours
    if (ours.hash === base?.hash) return theirs
    if (Math.max(base?.size ?? 0, ours.size, theirs.size) > mostBytes) return 'content'
    const read = (file: FileNode): Promise<Uint8Array> => this.#merge.read(file.hash)
    const [baseBytes, ourBytes, theirBytes] = await Promise.all([base && read(base), read(ours), read(theirs)])
    const merged = await mergeText({ base: baseBytes, ours: ourBytes, theirs: theirBytes })
    return typeof merged === 'string' ? merged : this.#merge.write(merged)
  }

  // ── the outcome ──

  #putAside(path: string, theirs: TreeNode, kind: Conflict['kind']): void {
    const trees = [this.#merge.base, this.#merge.ours, this.#merge.theirs]
    const isFree = (at: string): boolean => !this.#taken.has(at) && trees.every((tree) => !nodeAt(tree, at))
    const aside = conflictPath(path, theirs, isFree)
    this.#taken.add(aside)
    this.#put(aside, theirs)
    this.conflicts.push({ path, kind, kept: 'ours', theirs: aside })
  }

  /** Puts a node, with all below, at a path where no directory is; or removes what is there. Whether it put one. */
  #put(path: string, node: TreeNode | undefined): boolean {
    if (!node) this.changes.push({ op: 'gone', path })
    const pending = node ? [{ path, node }] : []
    for (const next of pending) {
      this.changes.push(changeFor(next.path, next.node))
      if (next.node.kind !== 'dir') continue
      for (const [name, child] of sortedEntries(next.node.entries))
        pending.push({ path: join(next.path, name), node: child })
    }
    return node !== undefined
  }
}

function changeFor(path: string, node: TreeNode): FileChange {
  switch (node.kind) {
    case 'file':
      return { op: 'file', path, hash: node.hash, size: node.size, mode: node.mode }
    case 'link':
      return { op: 'link', path, target: node.target }
    case 'dir':
      return { op: 'dir', path, mode: node.mode }
  }
}

function dirOf(node: TreeNode | undefined): DirNode | undefined {
  return node?.kind === 'dir' ? node : undefined
}

/** Names whose nodes base and theirs do not share, in order. */
function changedNames(base: DirNode | undefined, theirs: DirNode | undefined): readonly string[] {
  const names = new Set([...(base?.entries.keys() ?? []), ...(theirs?.entries.keys() ?? [])])
  return [...names].filter((name) => base?.entries.get(name) !== theirs?.entries.get(name)).sort()
}

/** Whether two nodes are equal, with all below and apart from their times. */
function same(left: TreeNode | undefined, right: TreeNode | undefined): boolean {
  const pending: (readonly [TreeNode | undefined, TreeNode | undefined])[] = [[left, right]]
  for (const [a, b] of pending) {
    if (a === b) continue
    if (!a || !b || !equalThemselves(a, b)) return false
    if (a.kind !== 'dir' || b.kind !== 'dir') continue
    for (const [name, child] of a.entries) pending.push([child, b.entries.get(name)])
  }
  return true
}

function equalThemselves(a: TreeNode, b: TreeNode): boolean {
  if (a.kind === 'dir') return b.kind === 'dir' && a.mode === b.mode && a.entries.size === b.entries.size
  if (a.kind === 'file') return b.kind === 'file' && a.hash === b.hash && a.mode === b.mode
  return b.kind === 'link' && a.target === b.target
}
