/**
 * Moving and copying in an overlay. Contents are known by hash, so that only names are read and written.
 *
 * - Everything is checked before anything is changed: a transfer that fails has done nothing.
 * - A directory as a source is recorded as one read of everything below it.
 */
import { sortedEntries } from '../core/tree.js'
import type { DirNode, TreeNode } from '../core/tree.js'
import { fileError } from './error.js'
import type { FileOperation, FileErrorCode } from './error.js'
import { checkLength, isWithin, join, normalise } from './path.js'
import type { ResolvedPath, Overlay } from './overlay.js'

/** As `rename`: a link at the end of either path is not followed. */
export async function move(overlay: Overlay, from: string, to: string): Promise<void> {
  const operation = { syscall: 'rename', path: normalise(from, 'rename'), dest: normalise(to, 'rename') }
  const source = await overlay.walk(from, { syscall: 'rename', last: 'keep', operation })
  const dest = await overlay.walk(to, { syscall: 'rename', last: 'keep', operation })
  const refuse = createRefusal(overlay, operation)
  if (source.path === '/' || dest.path === '/') throw fileError('EBUSY', operation)
  if (!source.node) throw refuse('ENOENT', source)
  if (source.path === dest.path) return overlay.saw(source, 'kind')
  if (isWithin(dest.path, source.path)) throw refuse('EINVAL', source)
  if (isWithin(source.path, dest.path)) throw refuse('ENOTEMPTY', source)
  if (source.node.kind === 'dir') return moveDir(overlay, { source, dest, operation })
  if (dest.node?.kind === 'dir') throw refuse('EISDIR', source, dest)
  if (source.node.kind === 'file') {
    overlay.sawNode(source)
    overlay.putFile(dest, source.node)
  } else {
    overlay.saw(source, 'kind')
    overlay.putLink(dest, source.node.target)
  }
  overlay.remove(source)
}

interface Transfer {
  readonly source: ResolvedPath
  readonly dest: ResolvedPath
  readonly operation: FileOperation
}

async function moveDir(overlay: Overlay, { source, dest, operation }: Transfer): Promise<void> {
  const refuse = createRefusal(overlay, operation)
  if (dest.node && dest.node.kind !== 'dir') throw refuse('ENOTDIR', source, dest)
  if (dest.node && (await overlay.list(dest)).length > 0) throw refuse('ENOTEMPTY', source)
  overlay.saw(dest, 'kind')
  const tree = await overlay.whole(source)
  const items = itemsIn(tree, dest.path)
  for (const { path } of items) checkLength(path, operation)
  if (dest.node) overlay.remove(dest)
  overlay.makeDir(dest, tree.mode)
  for (const { path, node } of items) {
    const resolved = { path, node: undefined, own: true }
    if (node.kind === 'dir') overlay.makeDir(resolved, node.mode)
    else if (node.kind === 'file') overlay.putFile(resolved, node)
    else overlay.putLink(resolved, node.target)
  }
  overlay.remove(source)
}

interface Item {
  readonly path: string
  readonly node: TreeNode
}

/** Everything below a directory, with its paths below another; a directory before its entries. */
function itemsIn(tree: DirNode, path: string): readonly Item[] {
  const items: Item[] = [{ path, node: tree }]
  // Grows during the loop, instead of a recursion: a tree may be deeper than the stack.
  for (const { path: above, node } of items) {
    if (node.kind === 'dir')
      for (const [name, child] of sortedEntries(node.entries)) items.push({ path: join(above, name), node: child })
  }
  return items.slice(1)
}

export async function copy(overlay: Overlay, from: string, to: string): Promise<void> {
  const operation = { syscall: 'copyfile', path: normalise(from, 'copyfile'), dest: normalise(to, 'copyfile') }
  const source = await overlay.walk(from, { syscall: 'copyfile', last: 'follow', operation })
  // Before the walk to the destination, which may throw.
  overlay.saw(source, 'kind')
  if (!source.node) throw fileError('ENOENT', operation)
  const dest = await overlay.walk(to, { syscall: 'copyfile', last: 'follow', operation })
  const refuse = createRefusal(overlay, operation)
  if (source.path === dest.path) return
  if (source.node.kind === 'dir') return copyDir(overlay, { source, dest, operation })
  if (dest.node?.kind === 'dir') throw refuse('EISDIR', dest)
  overlay.sawNode(source)
  overlay.saw(dest, 'slot')
  // A link is followed, so this is a file.
  if (source.node.kind !== 'file') return
  await overlay.admit(source.node.size, sizeAt(dest), operation)
  overlay.putFile(dest, source.node)
}

async function copyDir(overlay: Overlay, { source, dest, operation }: Transfer): Promise<void> {
  const refuse = createRefusal(overlay, operation)
  if (isWithin(dest.path, source.path)) throw refuse('EINVAL', dest)
  if (dest.node && dest.node.kind !== 'dir') throw refuse('ENOTDIR', dest)
  overlay.saw(dest, 'room')
  const tree = await overlay.whole(source)
  const steps = await planMerge(overlay, { tree, dest, operation })
  const files = steps.filter(({ node }) => node.kind === 'file')
  const grown = files.reduce((sum, { node }) => sum + (node.kind === 'file' ? node.size : 0), 0)
  await overlay.admit(
    grown,
    files.reduce((sum, { resolved }) => sum + sizeAt(resolved), 0),
    operation,
  )
  await overlay.admitNames(steps.length, operation)
  overlay.ensure(dest, tree.mode)
  for (const { resolved, node } of steps) {
    if (node.kind === 'dir') overlay.ensure(resolved, node.mode)
    else if (node.kind === 'file') overlay.putFile(resolved, node)
    else overlay.putLink(resolved, node.target)
  }
}

interface Step {
  readonly resolved: ResolvedPath
  readonly node: TreeNode
}

/** The steps of a copy into an existing directory; throws if a directory meets something else. */
async function planMerge(
  overlay: Overlay,
  { tree, dest, operation }: { tree: DirNode; dest: ResolvedPath; operation: FileOperation },
): Promise<readonly Step[]> {
  const refuse = createRefusal(overlay, operation)
  const steps: Step[] = []
  for (const [name, node] of sortedEntries(tree.entries)) {
    const resolved = await overlay.child(dest, name)
    checkLength(resolved.path, operation)
    if (node.kind !== 'dir' && resolved.node?.kind === 'dir') throw refuse('EISDIR', resolved)
    if (node.kind === 'dir' && resolved.node && resolved.node.kind !== 'dir') throw refuse('ENOTDIR', resolved)
    overlay.saw(resolved, node.kind === 'dir' ? 'room' : 'slot')
    steps.push({ resolved, node })
    if (node.kind === 'dir') steps.push(...(await planMerge(overlay, { tree: node, dest: resolved, operation })))
  }
  return steps
}

function sizeAt({ node }: ResolvedPath): number {
  return node?.kind === 'file' ? node.size : 0
}

/** Makes an error and records the nodes that it depends on. */
function createRefusal(
  overlay: Overlay,
  operation: FileOperation,
): (code: FileErrorCode, ...because: readonly ResolvedPath[]) => Error {
  return (code, ...because) => {
    for (const reason of because) overlay.saw(reason, 'kind')
    return fileError(code, operation)
  }
}
