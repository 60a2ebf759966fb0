/**
 * Files that go with a message from one thread to another: taken out of the sender's tree, put into the receiver's
 * `/attachments`. Contents are named by hash, so nothing is copied (S8).
 *
 * AH1 A name that is taken gets a number; what is there is never replaced.
 * AH2 What is missing is told before anything is sent.
 */
import type { FileChange } from './change.js'
import { emptyTree, nodeAt } from './tree.js'
import type { DirNode, TreeNode } from './tree.js'

const folder = '/attachments'

/** A directory of what is at these paths, or the first path at which nothing is. */
export function collect(tree: DirNode, paths: readonly string[]): { readonly files: DirNode } | { readonly missing: string } {
  const entries = new Map<string, TreeNode>()
  for (const path of paths) {
    const node = nodeAt(tree, path)
    if (!node || node === tree) return { missing: path }
    entries.set(freeName(path.slice(path.lastIndexOf('/') + 1), (name) => entries.has(name)), node)
  }
  return { files: { ...emptyTree, entries } }
}

/** What puts them into the receiver's tree, and where they are then. */
export function place(tree: DirNode, files: DirNode): { readonly changes: readonly FileChange[]; readonly paths: readonly string[] } {
  const there = nodeAt(tree, folder)
  const taken = new Set(there?.kind === 'dir' ? there.entries.keys() : [])
  const changes: FileChange[] = []
  const paths: string[] = []
  for (const [name, node] of files.entries) {
    const free = freeName(name, (each) => taken.has(each))
    taken.add(free)
    paths.push(`${folder}/${free}`)
    put(changes, `${folder}/${free}`, node)
  }
  return { changes, paths }
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
