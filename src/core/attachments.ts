/**
 * Files that are sent with a message from one thread to another: collected from the tree of the sender, placed into
 * `/attachments` of the receiver. Contents are named by hash, so no bytes are copied (S8).
 *
 * AH1 A name that is taken gets a number; an existing file is never replaced.
 * AH2 Missing files are reported before anything is sent.
 * - Links are resolved (links.ts), because their targets are not in the tree of the receiver.
 */
import { defined } from './defined.js'
import type { FileChange } from './records/change.js'
import { resolveLink, withoutLinks } from './links.js'
import type { BrokenLink } from './links.js'
import { applyChanges, emptyTree, freezeTree, nodeAt, sortedEntries } from './tree.js'
import type { DirNode, FrozenTree, TreeNode } from './tree.js'

const folder = '/attachments'
const mostListed = 10

export interface CollectedAttachments {
  /** A directory with the files, in the order of the paths. */
  readonly files: FrozenTree
  /** The paths that were found. */
  readonly there: readonly string[]
  /** The paths that were not, also within directories. */
  readonly broken: readonly BrokenLink[]
}

export function collectAttachments(tree: DirNode, paths: readonly string[]): CollectedAttachments {
  const entries = new Map<string, TreeNode>()
  const there: string[] = []
  const broken: BrokenLink[] = []
  for (const path of paths) {
    const found = resolveLink(tree, path)
    if (!found || found.path === '/') {
      const node = nodeAt(tree, path)
      const why = node?.kind === 'link' ? `it is a link to ${node.target}, and nothing is there` : undefined
      broken.push({ path, ...defined({ why }) })
      continue
    }
    entries.set(nameIn(entries, path), withoutLinks(tree, found, broken))
    there.push(path)
  }
  return { files: freezeTree({ ...emptyTree, entries }, 'given'), there, broken }
}

/** The text about missing files that a model reads. */
export function brokenText(broken: readonly BrokenLink[]): string {
  const listed = broken
    .slice(0, mostListed)
    .map(({ path, why }) =>
      why === undefined ? `there is no file ${JSON.stringify(path)}` : `${JSON.stringify(path)}: ${why}`,
    )
  return [...listed, ...(broken.length > mostListed ? [`and ${broken.length - mostListed} more`] : [])].join('; ')
}

function nameIn(taken: ReadonlyMap<string, unknown>, path: string): string {
  return freeName(path.slice(path.lastIndexOf('/') + 1), (name) => taken.has(name))
}

/** The names that `collectAttachments` gives to these paths, in their order. */
export function namesOf(paths: readonly string[]): readonly string[] {
  const names = new Map<string, true>()
  return paths.map((path) => {
    const name = nameIn(names, path)
    names.set(name, true)
    return name
  })
}

/** Which number each name that was taken gets next: all lower ones are taken. */
type NextNumbers = Map<string, number>

/**
 * Of directories as they were made by placing attachments. They belong to one directory each: whoever goes on from
 * another one tries all numbers again.
 */
const numbersOf = new WeakMap<DirNode['entries'], NextNumbers>()

/** Places the files in the receiver's tree. Gives the new tree, and the path of each file there, by its name. */
export function placeAttachments(
  tree: DirNode,
  files: DirNode,
  at: number,
): { readonly tree: DirNode; readonly paths: ReadonlyMap<string, string> } {
  const known = entriesIn(tree)
  const numbers: NextNumbers = numbersOf.get(known) ?? new Map()
  numbersOf.delete(known)
  const added = new Set<string>()
  const changes: FileChange[] = []
  const paths = new Map<string, string>()
  for (const [name, node] of files.entries) {
    const free = freeName(name, (each) => known.has(each) || added.has(each), numbers)
    added.add(free)
    paths.set(name, `${folder}/${free}`)
    put(changes, `${folder}/${free}`, node)
  }
  const placed = applyChanges(tree, changes, at)
  numbersOf.set(entriesIn(placed), numbers)
  return { tree: placed, paths }
}

function entriesIn(tree: DirNode): DirNode['entries'] {
  const there = nodeAt(tree, folder)
  return there?.kind === 'dir' ? there.entries : emptyTree.entries
}

interface Copy {
  readonly base: DirNode
  readonly theirs: DirNode
  /** The name of its folder. */
  readonly name: string
}

/** The changes of a forked tree, placed into a folder of their own instead of being merged. */
export function unusedName(
  tree: DirNode,
  { base, theirs, name }: Copy,
): {
  readonly changes: readonly FileChange[]
  readonly folder: string
  readonly made: readonly string[]
  readonly gone: readonly string[]
} {
  const there = nodeAt(tree, folder)
  const own = `${folder}/${freeName(name, (each) => there?.kind === 'dir' && there.entries.has(each))}`
  const changes: FileChange[] = []
  const made: string[] = []
  const gone: string[] = []
  const compare = (path: string, before: DirNode, after: DirNode): void => {
    for (const [each, node] of sortedEntries(after.entries)) {
      const old = before.entries.get(each)
      const at = `${path}/${each}`
      if (node.kind === 'dir') {
        if (old?.kind !== 'dir' && node.entries.size === 0) put(changes, `${own}${at}`, node)
        compare(at, old?.kind === 'dir' ? old : emptyTree, node)
      } else if (!same(old, node)) {
        made.push(at)
        put(changes, `${own}${at}`, node)
      }
    }
    for (const each of before.entries.keys()) if (!after.entries.has(each)) gone.push(`${path}/${each}`)
  }
  compare('', base, theirs)
  return { changes, folder: own, made, gone }
}

function same(a: TreeNode | undefined, b: TreeNode): boolean {
  if (a?.kind === 'file' && b.kind === 'file') return a.hash === b.hash && a.mode === b.mode
  return a?.kind === 'link' && b.kind === 'link' && a.target === b.target
}

/** `a.txt`, `a-2.txt`, `a-3.txt`. `numbers`: where to begin, and where the next one will. */
function freeName(name: string, isTaken: (name: string) => boolean, numbers?: NextNumbers): string {
  if (!isTaken(name)) return name
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  let number = numbers?.get(name) ?? 2
  while (isTaken(`${stem}-${number}${ending}`)) number++
  numbers?.set(name, number + 1)
  return `${stem}-${number}${ending}`
}

function put(changes: FileChange[], path: string, node: TreeNode): void {
  if (node.kind === 'file') changes.push({ op: 'file', path, hash: node.hash, size: node.size, mode: node.mode })
  else if (node.kind === 'link') changes.push({ op: 'link', path, target: node.target })
  else {
    changes.push({ op: 'dir', path, mode: node.mode })
    for (const [name, child] of node.entries) put(changes, `${path}/${name}`, child)
  }
}

/** The line that a model reads below a text with attachments. */
export function attachedText(paths: readonly string[]): string {
  return `[attached: ${paths.join(', ')}]`
}
