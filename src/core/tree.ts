/**
 * A thread's files as an immutable tree: names and nodes, contents only by hash. Pure data; the fold applies changes
 * to it, workers change a copy of the parts they touch.
 *
 * FT1 A tree is never modified: applying changes gives a new tree that shares all unchanged nodes, so a snapshot
 *     and a fork cost nothing. No change gives the same tree.
 * - Paths are absolute, normalised and real: links are followed before a path comes here.
 * - The root is always a directory; removing it empties it. A change never fails: a node in its way is replaced.
 * - The time of a directory is that of the last change of a name in it, or of the kind of node behind a name.
 */
import { createHash } from 'node:crypto'
import type { FileChange, FileRead, Look } from './records/change.js'
import { SkeinError } from './failure.js'
import { LayeredMap } from './tree/layered-map.js'

export interface FileNode {
  readonly kind: 'file'
  /** sha256 of the content, in hex. */
  readonly hash: string
  readonly size: number
  readonly mode: number
  /** When it was last changed: the time of the step. */
  readonly at: number
}

export interface LinkNode {
  readonly kind: 'link'
  readonly target: string
  readonly at: number
}

export interface DirNode {
  readonly kind: 'dir'
  readonly mode: number
  readonly at: number
  /** Map: a name may be anything, also `__proto__`. */
  readonly entries: ReadonlyMap<string, TreeNode>
}

export type TreeNode = FileNode | LinkNode | DirNode

export const emptyTree: DirNode = { kind: 'dir', mode: 0o755, at: 0, entries: new Map() }

export function nodeAt(tree: DirNode, path: string): TreeNode | undefined {
  let node: TreeNode | undefined = tree
  for (const name of namesOf(path)) {
    if (node?.kind !== 'dir') return undefined
    node = node.entries.get(name)
  }
  return node
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '')
}

/** Entries in the order of their names: the same on every machine. */
export function sortedEntries<Node>(entries: ReadonlyMap<string, Node>): (readonly [string, Node])[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
}

// ── changes ──

/** A tree while it is changed: each directory is copied once, however many changes it sees. */
export interface TreeEditor {
  /** The current tree; later changes may show in it. */
  readonly root: DirNode
  apply(change: FileChange): void
  /** The current tree, which no later change touches. */
  seal(): DirNode
}

export function applyChanges(tree: DirNode, changes: readonly FileChange[], at: number): DirNode {
  const editor = editTree(tree, at)
  for (const change of changes) editor.apply(change)
  return editor.seal()
}

interface Draft extends DirNode {
  at: number
  readonly entries: Map<string, TreeNode>
}

/** `onCopy` is called with the entries of each directory that is copied in order to be changed. */
export function editTree(
  tree: DirNode,
  at: number,
  onCopy?: (from: DirNode['entries'], to: Map<string, TreeNode>) => void,
): TreeEditor {
  let root = tree
  /** Copies that only this editor has. */
  const drafts = new Map<DirNode, Draft>()
  function draftOf(dir: DirNode): Draft {
    const known = drafts.get(dir)
    if (known) return known
    const draft: Draft = { ...dir, entries: onCopy ? new Map(dir.entries) : copyOf(dir.entries) }
    onCopy?.(dir.entries, draft.entries)
    drafts.set(draft, draft)
    return draft
  }
  /** The draft of the directory at these names, which is created if missing. */
  function open(names: readonly string[]): Draft {
    let dir = draftOf(root)
    root = dir
    for (const name of names) {
      const child = dir.entries.get(name)
      const next = draftOf(child?.kind === 'dir' ? child : newDir(at))
      dir.entries.set(name, next)
      if (child?.kind !== 'dir') dir.at = at
      dir = next
    }
    return dir
  }
  return {
    get root() {
      return root
    },
    apply(change) {
      const found = nodeAt(root, change.path)
      const next = nextNode(found, change, at)
      if (next === found) return
      const names = namesOf(change.path)
      const name = names.pop()
      if (name === undefined) {
        if (next?.kind === 'dir') root = next
        else if (!next) root = { ...root, at, entries: new Map() }
        return
      }
      const parent = open(names)
      if (next) parent.entries.set(name, next)
      else parent.entries.delete(name)
      if (found?.kind !== next?.kind) parent.at = at
    },
    seal() {
      drafts.clear()
      return root
    },
  }
}

const manyNames = 256

/** The names of a large directory are not copied with every change. */
function copyOf(entries: DirNode['entries']): Map<string, TreeNode> {
  if (entries instanceof LayeredMap) return entries.copy()
  return entries.size > manyNames ? new LayeredMap(entries) : new Map(entries)
}

function newDir(at: number, mode = 0o755): DirNode {
  return { kind: 'dir', mode, at, entries: new Map() }
}

function nextNode(found: TreeNode | undefined, change: FileChange, at: number): TreeNode | undefined {
  switch (change.op) {
    case 'file': {
      const mode = change.mode ?? (found?.kind === 'file' ? found.mode : 0o644)
      return { kind: 'file', hash: change.hash, size: change.size, mode, at }
    }
    case 'dir':
      return found?.kind === 'dir' ? found : newDir(at, change.mode)
    case 'link':
      return { kind: 'link', target: change.target, at }
    case 'mode':
      return found === undefined || found.kind === 'link' ? found : { ...found, mode: change.mode, at }
    case 'gone':
      return undefined
  }
}

// ── what a call has read ──

/** For each kind of look the token of a read: equal as long as nothing changed that such a look would notice. */
const tokens: Readonly<Record<Look, (node: TreeNode | undefined) => string>> = {
  kind: (node) => (node?.kind === 'link' ? `link ${node.target}` : kindToken(node)),
  slot: (node) => (node === undefined || node.kind === 'file' ? 'free' : node.kind),
  room: (node) => (node === undefined || node.kind === 'dir' ? 'free' : 'taken'),
  node: nodeToken,
  list: (node) => (node?.kind === 'dir' ? memo(lists, node, listToken) : kindToken(node)),
  deep: deepToken,
}

export function observe(tree: DirNode, path: string, look: Look): string {
  return tokens[look](nodeAt(tree, path))
}

function kindToken(node: TreeNode | undefined): string {
  return node?.kind ?? 'nothing'
}

export function stale(tree: DirNode, reads: readonly FileRead[]): boolean {
  return reads.some(({ path, look, token }) => observe(tree, path, look) !== token)
}

/** Nodes never change, so a value is computed once for each. */
type Memo<Value> = WeakMap<DirNode, Value>
const lists: Memo<string> = new WeakMap()
const deeps: Memo<string> = new WeakMap()

function memo<Value>(known: Memo<Value>, dir: DirNode, make: (dir: DirNode) => Value): Value {
  const value = known.get(dir) ?? make(dir)
  known.set(dir, value)
  return value
}

/** Bottom up, so that `make` finds the values of subdirectories: a tree may be deeper than the stack. */
function memoUp<Value>(known: Memo<Value>, dir: DirNode, make: (dir: DirNode) => Value): Value {
  const value = known.get(dir)
  if (value !== undefined) return value
  const pending = [dir]
  for (const each of pending) {
    for (const child of each.entries.values()) if (child.kind === 'dir' && !known.has(child)) pending.push(child)
  }
  for (const each of pending.toReversed()) known.set(each, make(each))
  return memo(known, dir, make)
}

function nodeToken(node: TreeNode | undefined): string {
  switch (node?.kind) {
    case undefined:
      return 'nothing'
    case 'file':
      return `file ${node.hash} ${node.size} ${node.mode} ${node.at}`
    case 'link':
      return `link ${node.at} ${node.target}`
    case 'dir':
      return `dir ${node.mode} ${node.at}`
  }
}

function listToken(dir: DirNode): string {
  return digest(sortedEntries(dir.entries).map(([name, { kind }]) => [name, kind]))
}

function deepToken(node: TreeNode | undefined): string {
  if (node?.kind !== 'dir') return nodeToken(node)
  return memoUp(deeps, node, (dir) =>
    digest([dir.mode, dir.at, sortedEntries(dir.entries).map(([name, child]) => [name, deepToken(child)])]),
  )
}

/** Hashes JSON: each value has one form, and names cannot run into one another. */
function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

// ── as plain data ──

type FrozenNode =
  | readonly [depth: number, name: string, kind: 'dir', mode: number, at: number]
  | readonly [depth: number, name: string, kind: 'file', hash: string, size: number, mode: number, at: number]
  | readonly [depth: number, name: string, kind: 'link', target: string, at: number]

/** Plain JSON: a directory, then its entries, by depth. Flat, because deep JSON is cut off; equal for equal trees. */
export type FrozenTree = readonly FrozenNode[]

/** `given`: the entries of the root keep their order. */
export function freezeTree(tree: DirNode, order: 'names' | 'given' = 'names'): FrozenTree {
  const rows: FrozenNode[] = []
  const pending: { readonly name: string; readonly node: TreeNode; readonly depth: number }[] = [
    { name: '', node: tree, depth: 0 },
  ]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { name, node, depth } = next
    if (node.kind === 'file') rows.push([depth, name, 'file', node.hash, node.size, node.mode, node.at])
    else if (node.kind === 'link') rows.push([depth, name, 'link', node.target, node.at])
    else {
      rows.push([depth, name, 'dir', node.mode, node.at])
      const entries = depth === 0 && order === 'given' ? [...node.entries] : sortedEntries(node.entries)
      for (const [below, child] of entries.reverse()) pending.push({ name: below, node: child, depth: depth + 1 })
    }
  }
  return rows
}

export function thawTree(rows: FrozenTree): DirNode {
  const [first, ...rest] = rows
  if (first?.[2] !== 'dir' || first[0] !== 0) throw unreadable(0, first)
  const root = { kind: 'dir' as const, mode: first[3], at: first[4], entries: new Map<string, TreeNode>() }
  const open = [root.entries]
  rest.forEach((row, index) => {
    const [depth, name] = row
    const entries = open[depth - 1]
    if (!entries || entries.has(name)) throw unreadable(index + 1, row)
    open.length = depth
    if (row[2] === 'file') entries.set(name, { kind: 'file', hash: row[3], size: row[4], mode: row[5], at: row[6] })
    else if (row[2] === 'link') entries.set(name, { kind: 'link', target: row[3], at: row[4] })
    else if (row[2] === 'dir') {
      open[depth] = new Map()
      entries.set(name, { kind: 'dir', mode: row[3], at: row[4], entries: open[depth] })
    } else throw unreadable(index + 1, row)
  })
  return root
}

/** Whether it can be a name in a tree. Checks data from outside the process. */
function isPlainName(name: unknown): boolean {
  return (
    typeof name === 'string' &&
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    !/[/\0]|\p{Surrogate}/u.test(name) &&
    name.length <= 255
  )
}

/** Absolute and normalised. */
export function isPlainPath(path: string): boolean {
  return path === '/' || (path.length <= 4096 && path.startsWith('/') && path.slice(1).split('/').every(isPlainName))
}

const whole = Number.isSafeInteger

/** Whether these are rows that `freezeTree` may have made. Checks data from outside the process. */
export function isFrozenTree(rows: unknown): rows is FrozenTree {
  if (!Array.isArray(rows)) return false
  let depth = -1
  return rows.every((row: unknown, index) => {
    if (!Array.isArray(row) || !whole(row[0]) || row[0] > depth + 1 || (index === 0) !== (row[0] === 0)) return false
    const [rowDepth, name, kind, ...fields]: readonly unknown[] = row
    depth = kind === 'dir' ? Number(rowDepth) : Number(rowDepth) - 1
    const isNamed = index === 0 ? name === '' && kind === 'dir' : isPlainName(name)
    return isNamed && areFieldsOf(kind, fields)
  })
}

/** Whether these are the fields of a row after its depth, name and kind. */
function areFieldsOf(kind: unknown, fields: readonly unknown[]): boolean {
  const [first, ...rest] = fields
  switch (kind) {
    case 'dir':
      return fields.length === 2 && fields.every(whole)
    case 'link':
      return fields.length === 2 && typeof first === 'string' && rest.every(whole)
    case 'file':
      return fields.length === 4 && isHash(first) && rest.every(whole) && Number(rest[0]) >= 0
    default:
      return false
  }
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}

function unreadable(index: number, row: unknown): SkeinError {
  return new SkeinError(
    'JOURNAL_CORRUPT',
    `row ${index} of a stored file tree does not fit the rows before it: ${JSON.stringify(row)}. Restore the ` +
      `store from a backup.`,
  )
}
