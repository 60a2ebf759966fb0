/**
 * Files that go with a message from one thread to another: taken out of the sender's tree, put into the receiver's
 * `/attachments`. Contents are named by hash, so nothing is copied (S8).
 *
 * AH1 A name that is taken gets a number; what is there is never replaced.
 * AH2 What is missing is told before anything is sent.
 * - What arrives can be read there: a link is what it shows (links.ts), because what it names is not with the
 *   receiver.
 */
import type { FileChange } from './records/change.js'
import { resolveLink, withoutLinks } from './links.js'
import type { BrokenLink } from './links.js'
import { emptyTree, freezeTree, nodeAt, sortedEntries } from './tree.js'
import type { DirNode, FrozenTree, TreeNode } from './tree.js'

const folder = '/attachments'
const mostTold = 10

export interface CollectedAttachments {
  /** A directory of them, in the order in which they were named. */
  readonly files: FrozenTree
  /** The paths of those that are in it. */
  readonly there: readonly string[]
  /** What is not in it. */
  readonly broken: readonly BrokenLink[]
}

/** What is at these paths. */
export function collectAttachments(tree: DirNode, paths: readonly string[]): CollectedAttachments {
  const entries = new Map<string, TreeNode>()
  const there: string[] = []
  const broken: BrokenLink[] = []
  for (const path of paths) {
    const shown = resolveLink(tree, path)
    if (!shown || shown.path === '/') {
      const node = nodeAt(tree, path)
      broken.push({
        path,
        ...(node?.kind === 'link' && { why: `it is a link to ${node.target}, and nothing is there` }),
      })
      continue
    }
    entries.set(nameIn(entries, path), withoutLinks(tree, shown, broken))
    there.push(path)
  }
  return { files: freezeTree({ ...emptyTree, entries }, 'given'), there, broken }
}

/** What a model reads of what is missing. */
export function brokenText(broken: readonly BrokenLink[]): string {
  const told = broken
    .slice(0, mostTold)
    .map(({ path, why }) =>
      why === undefined ? `there is no file ${JSON.stringify(path)}` : `${JSON.stringify(path)}: ${why}`,
    )
  return [...told, ...(broken.length > mostTold ? [`and ${broken.length - mostTold} more`] : [])].join('; ')
}

function nameIn(taken: ReadonlyMap<string, unknown>, path: string): string {
  return freeName(path.slice(path.lastIndexOf('/') + 1), (name) => taken.has(name))
}

/** The names that `collect` gives what is at these paths, in their order. */
export function namesOf(paths: readonly string[]): readonly string[] {
  const names = new Map<string, true>()
  return paths.map((path) => {
    const name = nameIn(names, path)
    names.set(name, true)
    return name
  })
}

/** What puts them into the receiver's tree, and where each is then, by its name. */
export function placeAttachments(
  tree: DirNode,
  files: DirNode,
): { readonly changes: readonly FileChange[]; readonly paths: ReadonlyMap<string, string> } {
  const there = nodeAt(tree, folder)
  const taken = new Set(there?.kind === 'dir' ? there.entries.keys() : [])
  const changes: FileChange[] = []
  const paths = new Map<string, string>()
  for (const [name, node] of files.entries) {
    const free = freeName(name, (each) => taken.has(each))
    taken.add(free)
    paths.set(name, `${folder}/${free}`)
    put(changes, `${folder}/${free}`, node)
  }
  return { changes, paths }
}

interface Copy {
  readonly base: DirNode
  readonly theirs: DirNode
  /** What its folder is called. */
  readonly name: string
}

/** What was done to a copy of a tree, put into a folder of its own instead of being merged. */
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

/** `a.txt`, `a-2.txt`, `a-3.txt`. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  let free = name
  for (let number = 2; isTaken(free); number++) free = `${stem}-${number}${ending}`
  return free
}

function put(changes: FileChange[], path: string, node: TreeNode): void {
  if (node.kind === 'file') changes.push({ op: 'file', path, hash: node.hash, size: node.size, mode: node.mode })
  else if (node.kind === 'link') changes.push({ op: 'link', path, target: node.target })
  else {
    changes.push({ op: 'dir', path, mode: node.mode })
    for (const [name, child] of node.entries) put(changes, `${path}/${name}`, child)
  }
}

/** What the model reads below a text that files came with. */
export function attachedText(paths: readonly string[]): string {
  return `[attached: ${paths.join(', ')}]`
}
