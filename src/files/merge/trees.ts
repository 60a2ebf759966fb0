/**
 * A three-way merge of file trees: what a child did to its copy of its parent's files goes into the parent's.
 *
 * - Times are no change. What one side changed is taken, what both changed alike is left; a rename is a removal and
 *   an addition. A directory goes when one side deleted it and the other left nothing changed or new in it.
 * - No version is lost: where both cannot be had, that of `ours` stays as it is, the child's goes beside it
 *   (merge-place.ts), and a conflict says so. What one deleted and the other changed is kept, with a conflict.
 * - What all share is not walked: the cost is that of the directories in which something changed. Sharing is told by
 *   identity (FT1): a token of all below would have to walk it first.
 */
import type { FileChange } from '../../core/records/change.js'
import { nodeAt, sortedEntries } from '../../core/tree.js'
import type { DirNode, FileNode, TreeNode } from '../../core/tree.js'
import { largeBytes } from '../contents.js'
import type { Conflict } from './conflicts.js'
import { placeBeside } from './paths.js'
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
  /** What makes `ours` the merge. */
  readonly changes: readonly FileChange[]
  readonly conflicts: readonly Conflict[]
}

export async function mergeTrees(merge: TreeMerge): Promise<MergedTrees> {
  const merging = new Merging(merge)
  await merging.node('/', merge)
  return { changes: merging.changes, conflicts: merging.conflicts.sort((a, b) => (a.path < b.path ? -1 : 1)) }
}

interface Versions<Version> {
  readonly base: Version
  readonly ours: Version
  readonly theirs: Version
}

/** Larger files are not merged by lines. */
const mostBytes = 4 * largeBytes

class Merging {
  readonly changes: FileChange[] = []
  readonly conflicts: Conflict[] = []
  readonly #merge: TreeMerge
  readonly #placed = new Set<string>()

  constructor(merge: TreeMerge) {
    this.#merge = merge
  }

  /** Merges what stands at a path, and says whether something stands there then. */
  async node(path: string, versions: Versions<TreeNode | undefined>): Promise<boolean> {
    const { base, ours, theirs } = versions
    if (base === theirs || ours === theirs) return ours !== undefined
    if (ours === base && !theirs) return this.#put(path, theirs)
    const dirs = { base: dirOf(base), ours: dirOf(ours), theirs: dirOf(theirs) }
    const merged = dirs.ours && dirs.theirs
    const emptied = dirs.base && ((dirs.ours && !theirs) || (!ours && dirs.theirs))
    if (merged || emptied) return this.#dirs(path, dirs)
    if (same(base, theirs) || same(ours, theirs)) return ours !== undefined
    if (same(base, ours)) return this.#put(path, theirs)
    return this.#both(path, versions)
  }

  // ── directories ──

  /** Those that are directories on both sides, or were one and are on one side. */
  async #dirs(path: string, dirs: Versions<DirNode | undefined>): Promise<boolean> {
    const { base, ours, theirs } = dirs
    const start = this.changes.length
    // A tree may be deeper than the stack: what is below starts on a new one.
    await Promise.resolve()
    let stands = false
    for (const name of ours?.entries.keys() ?? []) stands ||= !base?.entries.has(name)
    for (const name of changedNames(base, theirs)) {
      const below = { base: base?.entries.get(name), ours: ours?.entries.get(name), theirs: theirs?.entries.get(name) }
      if (await this.node(join(path, name), below)) stands = true
    }
    if (ours && theirs) {
      const mode = this.#mode(path, { base: base?.mode, ours: ours.mode, theirs: theirs.mode })
      if (mode !== ours.mode) this.changes.push({ op: 'mode', path, mode })
      return true
    }
    if (ours) {
      if (ours.mode !== base?.mode) this.conflicts.push({ path, kind: 'deleted', kept: 'ours' })
      else if (!stands) {
        this.changes.length = start
        return this.#put(path, undefined)
      }
      return true
    }
    if (theirs && theirs.mode !== base?.mode)
      this.conflicts.push({ path, kind: 'deleted', kept: 'theirs', theirs: path })
    else if (!stands) return false
    this.changes.splice(start, 0, { op: 'dir', path, ...(theirs && { mode: theirs.mode }) })
    return true
  }

  /** The mode that is taken. */
  #mode(
    path: string,
    { base, ours, theirs }: { readonly base: number | undefined; readonly ours: number; readonly theirs: number },
  ): number {
    if (ours === base) return theirs
    if (theirs !== base && theirs !== ours) this.conflicts.push({ path, kind: 'mode', kept: 'ours', mode: theirs })
    return ours
  }

  // ── what both changed ──

  async #both(path: string, { base, ours, theirs }: Versions<TreeNode | undefined>): Promise<boolean> {
    if (!theirs) this.conflicts.push({ path, kind: 'deleted', kept: 'ours' })
    else if (!ours) {
      this.#put(path, theirs)
      this.conflicts.push({ path, kind: 'deleted', kept: 'theirs', theirs: path })
    } else if (ours.kind === 'file' && theirs.kind === 'file') {
      await this.#files(path, { base: base?.kind === 'file' ? base : undefined, ours, theirs })
    } else this.#aside(path, theirs, ours.kind === theirs.kind ? 'content' : 'kind')
    return true
  }

  async #files(
    path: string,
    files: { readonly base: FileNode | undefined; readonly ours: FileNode; readonly theirs: FileNode },
  ): Promise<void> {
    const { base, ours, theirs } = files
    const content = await this.#content(files)
    if (typeof content === 'string') return this.#aside(path, theirs, content)
    const mode = this.#mode(path, { base: base?.mode, ours: ours.mode, theirs: theirs.mode })
    if (content.hash !== ours.hash)
      this.changes.push({ op: 'file', path, hash: content.hash, size: content.size, mode })
    else if (mode !== ours.mode) this.changes.push({ op: 'mode', path, mode })
  }

  async #content({
    base,
    ours,
    theirs,
  }: {
    readonly base: FileNode | undefined
    readonly ours: FileNode
    readonly theirs: FileNode
  }): Promise<{ readonly hash: string; readonly size: number } | 'content' | 'binary'> {
    if (theirs.hash === base?.hash || theirs.hash === ours.hash) return ours
    if (ours.hash === base?.hash) return theirs
    if (Math.max(base?.size ?? 0, ours.size, theirs.size) > mostBytes) return 'content'
    const read = (file: FileNode): Promise<Uint8Array> => this.#merge.read(file.hash)
    const [before, mine, its] = await Promise.all([base && read(base), read(ours), read(theirs)])
    const merged = await mergeText({ base: before, ours: mine, theirs: its })
    return typeof merged === 'string' ? merged : this.#merge.write(merged)
  }

  // ── the outcome ──

  #aside(path: string, theirs: TreeNode, kind: Conflict['kind']): void {
    const { base, ours, theirs: child } = this.#merge
    const place = placeBeside(
      path,
      theirs,
      (at) => !this.#placed.has(at) && [base, ours, child].every((tree) => !nodeAt(tree, at)),
    )
    this.#placed.add(place)
    this.#put(place, theirs)
    this.conflicts.push({ path, kind, kept: 'ours', theirs: place })
  }

  /** Has this at a path where no directory is, or nothing. */
  #put(path: string, node: TreeNode | undefined): boolean {
    if (!node) this.changes.push({ op: 'gone', path })
    const ahead = node ? [{ path, node }] : []
    for (const each of ahead) {
      this.changes.push(putting(each.path, each.node))
      if (each.node.kind !== 'dir') continue
      for (const [name, child] of sortedEntries(each.node.entries))
        ahead.push({ path: join(each.path, name), node: child })
    }
    return node !== undefined
  }
}

function putting(path: string, node: TreeNode): FileChange {
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

/** Names whose nodes are not shared, in order. */
function changedNames(base: DirNode | undefined, theirs: DirNode | undefined): readonly string[] {
  const names = new Set([...(base?.entries.keys() ?? []), ...(theirs?.entries.keys() ?? [])])
  return [...names].filter((name) => base?.entries.get(name) !== theirs?.entries.get(name)).sort()
}

/** Times aside. */
function same(left: TreeNode | undefined, right: TreeNode | undefined): boolean {
  const ahead = [[left, right] as const]
  for (const [a, b] of ahead) {
    if (a === b) continue
    if (a?.kind === 'dir' && b?.kind === 'dir') {
      if (a.mode !== b.mode || a.entries.size !== b.entries.size) return false
      for (const [name, child] of a.entries) ahead.push([child, b.entries.get(name)])
    } else if (a?.kind === 'file' && b?.kind === 'file') {
      if (a.hash !== b.hash || a.mode !== b.mode) return false
    } else if (a?.kind !== 'link' || b?.kind !== 'link' || a.target !== b.target) return false
  }
  return true
}
