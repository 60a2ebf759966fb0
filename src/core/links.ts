/**
 * What links show: a path followed to what it stands for, and a directory in which nothing is a link any more. A
 * thread's files end at its root, so no link leads anywhere else.
 *
 * - A path is followed through at most 40 links, as on a disk; what leads in a circle shows nothing.
 * - A copy without links is bounded: what links bring into it is counted, and a directory that shows itself is
 *   left out.
 */
import type { DirNode, TreeNode } from './tree.js'

const longestChain = 40
/** Files and directories that links may bring into one copy. */
const mostShown = 10_000
const deepest = 500

/** A file or a directory, and the path at which it really is. */
export interface LinkTarget {
  readonly node: Exclude<TreeNode, { readonly kind: 'link' }>
  readonly path: string
}

/** LNK1. Undefined where nothing is. */
export function resolveLink(tree: DirNode, path: string): LinkTarget | undefined {
  const ahead = path.split('/').reverse()
  const dirs: { readonly name: string; readonly dir: DirNode }[] = []
  const here = (): DirNode => dirs.at(-1)?.dir ?? tree
  for (let links = 0, name = ahead.pop(); name !== undefined; name = ahead.pop()) {
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
      ahead.push(...node.target.split('/').reverse())
    } else if (node.kind === 'dir') dirs.push({ name, dir: node })
    else return ahead.some((each) => each !== '' && each !== '.') ? undefined : { node, path: pathOf(dirs, name) }
  }
  return { node: here(), path: pathOf(dirs) }
}

function pathOf(dirs: readonly { readonly name: string }[], file?: string): string {
  return `/${[...dirs.map(({ name }) => name), ...(file === undefined ? [] : [file])].join('/')}`
}

/** What was left out of a copy, and why. */
export interface BrokenLink {
  readonly path: string
  /** Without: nothing is there. */
  readonly why?: string
}

/** The same without links; a directory in which there are none is itself. */
export function withoutLinks(tree: DirNode, shown: LinkTarget, broken: BrokenLink[]): LinkTarget['node'] {
  let left = mostShown
  /** `open`: the directories above it in the copy. `linked`: it is there because of a link. */
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
      else if (counted && (left-- <= 0 || within.length > deepest)) {
        const why = `there is more behind links than ${mostShown} files, or it is deeper than ${deepest}`
        if (left >= -1) broken.push({ path: at, why })
      } else entries.set(name, copy(found, within, counted))
      changed ||= entries.get(name) !== child
    }
    return changed ? { ...node, entries } : node
  }
  return copy(shown, [], false)
}

interface Link {
  readonly at: string
  readonly target: string
  /** Directories that are being copied. */
  readonly within: readonly string[]
}

function followed(tree: DirNode, { at, target, within }: Link): LinkTarget | BrokenLink {
  const shown = resolveLink(tree, at)
  if (!shown) return { path: at, why: `it is a link to ${target}, and nothing is there` }
  return within.includes(shown.path) ? { path: at, why: `it is a link to ${target}, which holds it` } : shown
}
