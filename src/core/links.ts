/**
 * Symbolic links in a thread's files: following a path, and copying a directory with its links resolved. No link leads
 * out of the root of the thread.
 *
 * - A path is followed through at most 40 links, as on a disk; a circle of links leads to nothing.
 * - A copy is bounded: nodes that are reached through links are counted, and a link to a directory that contains it is
 *   left out.
 */
import type { DirNode, TreeNode } from './tree.js'

const longestChain = 40
/** Files and directories that one copy may reach through links. */
const mostLinked = 10_000
const maxDepth = 500

/** A file or directory, and its real path. */
export interface LinkTarget {
  readonly node: Exclude<TreeNode, { readonly kind: 'link' }>
  readonly path: string
}

/** Undefined if the path leads to nothing. */
export function resolveLink(tree: DirNode, path: string): LinkTarget | undefined {
  const remaining = path.split('/').reverse()
  const dirs: { readonly name: string; readonly dir: DirNode }[] = []
  const here = (): DirNode => dirs.at(-1)?.dir ?? tree
  for (let links = 0, name = remaining.pop(); name !== undefined; name = remaining.pop()) {
    if (name === '' || name === '.') continue
    if (name === '..') {
      dirs.pop()
      continue
    }
    const node = here().entries.get(name)
    if (!node) return undefined
    if (node.kind === 'link') {
      if (++links > longestChain) return undefined
      if (node.target.startsWith('/')) dirs.length = 0
      remaining.push(...node.target.split('/').reverse())
    } else if (node.kind === 'dir') dirs.push({ name, dir: node })
    else return remaining.some((each) => each !== '' && each !== '.') ? undefined : { node, path: pathOf(dirs, name) }
  }
  return { node: here(), path: pathOf(dirs) }
}

function pathOf(dirs: readonly { readonly name: string }[], file?: string): string {
  return `/${[...dirs.map(({ name }) => name), ...(file === undefined ? [] : [file])].join('/')}`
}

/** A path that was left out of a copy, and why. */
export interface BrokenLink {
  readonly path: string
  /** Absent: there is no file. */
  readonly why?: string
}

/** A copy with all links resolved; a directory without links is returned as it is. */
export function withoutLinks(tree: DirNode, target: LinkTarget, broken: BrokenLink[]): LinkTarget['node'] {
  let room = mostLinked
  /** `open`: the directories above it in the copy. `linked`: it was reached through a link. */
  const copy = ({ node, path }: LinkTarget, open: readonly string[], linked: boolean): LinkTarget['node'] => {
    if (node.kind === 'file') return node
    const within = [...open, path]
    const entries = new Map<string, TreeNode>()
    let changed = false
    for (const [name, child] of node.entries) {
      const at = `${path === '/' ? '' : path}/${name}`
      const found =
        child.kind === 'link' ? followed(tree, { at, target: child.target, within }) : { node: child, path: at }
      const counted = linked || child.kind === 'link'
      if (!('node' in found)) broken.push(found)
      else if (counted && (room-- <= 0 || within.length > maxDepth)) {
        const why = `there is more behind links than ${mostLinked} files, or it is deeper than ${maxDepth}`
        if (room >= -1) broken.push({ path: at, why })
      } else entries.set(name, copy(found, within, counted))
      changed ||= entries.get(name) !== child
    }
    return changed ? { ...node, entries } : node
  }
  return copy(target, [], false)
}

interface Link {
  readonly at: string
  readonly target: string
  /** The directories that contain it. */
  readonly within: readonly string[]
}

function followed(tree: DirNode, { at, target, within }: Link): LinkTarget | BrokenLink {
  const resolved = resolveLink(tree, at)
  if (!resolved) return { path: at, why: `it is a link to ${target}, and nothing is there` }
  return within.includes(resolved.path) ? { path: at, why: `it is a link to ${target}, which holds it` } : resolved
}
