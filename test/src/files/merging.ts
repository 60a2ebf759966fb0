/** Trees of files for tests of merges, that are quick to write and to read. */
import { Buffer } from 'node:buffer'
import type { FileChange } from '../../../src/core/records/change.js'
import { applyChanges, emptyTree } from '../../../src/core/tree.js'
import type { DirNode, TreeNode } from '../../../src/core/tree.js'
import { mergeTrees } from '../../../src/files/merge/trees.js'
import type { MergedTrees } from '../../../src/files/merge/trees.js'
import { createStore } from './copies.js'

export type Edit =
  | { readonly write: string; readonly text: string; readonly mode?: number }
  | { readonly link: string; readonly target: string }
  | { readonly dir: string; readonly mode?: number }
  | { readonly mode: number; readonly of: string }
  | { readonly gone: string }

export const store = createStore()

async function changeOf(edit: Edit): Promise<FileChange> {
  if ('write' in edit) {
    // Latin-1: a text may also stand for bytes that are none.
    const content = await store.put(Buffer.from(edit.text, 'latin1'))
    return { op: 'file', path: edit.write, ...content, ...(edit.mode !== undefined && { mode: edit.mode }) }
  }
  if ('link' in edit) return { op: 'link', path: edit.link, target: edit.target }
  if ('dir' in edit) return { op: 'dir', path: edit.dir, ...(edit.mode !== undefined && { mode: edit.mode }) }
  if ('of' in edit) return { op: 'mode', path: edit.of, mode: edit.mode }
  return { op: 'gone', path: edit.gone }
}

let time = 0
export async function edited(tree: DirNode, edits: readonly Edit[]): Promise<DirNode> {
  return applyChanges(tree, await Promise.all(edits.map(changeOf)), ++time)
}

export const bytesOf = (hash: string): Uint8Array => {
  const bytes = store.kept.get(hash)
  if (!bytes) throw new Error(`no content ${hash}`)
  return bytes
}
export const textOf = (hash: string): string => Buffer.from(bytesOf(hash)).toString('latin1')

export function walk(tree: DirNode): Map<string, TreeNode> {
  const found = new Map<string, TreeNode>([['/', tree]])
  for (const [path, node] of found)
    if (node.kind === 'dir')
      for (const [name, child] of node.entries) found.set(path === '/' ? `/${name}` : `${path}/${name}`, child)
  return found
}

/** Of the node alone, times aside. */
export function plain(node: TreeNode | undefined): string {
  if (!node) return 'nothing'
  if (node.kind === 'link') return `-> ${node.target}`
  const mode = node.mode === (node.kind === 'dir' ? 0o755 : 0o644) ? '' : ` ${node.mode.toString(8)}`
  return node.kind === 'dir' ? `dir${mode}` : `${textOf(node.hash)}${mode}`
}

const shown = (tree: DirNode): Record<string, string> =>
  Object.fromEntries(
    [...walk(tree)]
      .map(([path, node]) => [path, plain(node)] as const)
      .filter(([path]) => path !== '/')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
export const plainTree = (tree: DirNode): readonly (readonly [string, string])[] =>
  [...walk(tree)].map(([path, node]) => [path, plain(node)] as const).sort(([a], [b]) => (a < b ? -1 : 1))

export interface Trees {
  readonly base: DirNode
  readonly ours: DirNode
  readonly theirs: DirNode
}

export async function merged(trees: Trees): Promise<MergedTrees & { readonly tree: DirNode }> {
  const outcome = await mergeTrees({
    ...trees,
    read: async (hash) => bytesOf(hash),
    write: (bytes) => store.put(bytes),
  })
  return { ...outcome, tree: applyChanges(trees.ours, outcome.changes, ++time) }
}

export async function mergedEdits(
  base: readonly Edit[],
  ours: readonly Edit[],
  theirs: readonly Edit[],
): Promise<MergedTrees & { readonly files: Record<string, string> }> {
  const start = await edited(emptyTree, base)
  const outcome = await merged({ base: start, ours: await edited(start, ours), theirs: await edited(start, theirs) })
  return { ...outcome, files: shown(outcome.tree) }
}

export const poem = (...lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
