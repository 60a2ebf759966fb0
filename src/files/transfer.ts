/**
 * Moving and copying in a view. Contents are named by hash, so nothing is read or written but names.
 *
 * - Everything is checked before anything is changed: a transfer that fails has done nothing.
 * - A directory as a source is one look at all below it.
 */
import { sortedEntries } from '../core/tree.js'
import type { DirNode, TreeNode } from '../core/tree.js'
import { fileError } from './error.js'
import type { FileOperation, FileErrorCode } from './error.js'
import { checkLength, isWithin, join, normalise } from './path.js'
import type { ResolvedPath, Overlay } from './overlay.js'

/** As `rename`: what is at the end of a path is not followed. */
export async function move(view: Overlay, from: string, to: string): Promise<void> {
  const doing = { syscall: 'rename', path: normalise(from, 'rename'), dest: normalise(to, 'rename') }
  const source = await view.walk(from, { syscall: 'rename', last: 'keep', doing })
  const dest = await view.walk(to, { syscall: 'rename', last: 'keep', doing })
  const refuse = createRefusal(view, doing)
  if (source.path === '/' || dest.path === '/') throw fileError('EBUSY', doing)
  if (!source.node) throw refuse('ENOENT', source)
  if (source.path === dest.path) return view.saw(source, 'kind')
  if (isWithin(dest.path, source.path)) throw refuse('EINVAL', source)
  if (isWithin(source.path, dest.path)) throw refuse('ENOTEMPTY', source)
  if (source.node.kind === 'dir') return moveDir(view, { source, dest, doing })
  if (dest.node?.kind === 'dir') throw refuse('EISDIR', source, dest)
  if (source.node.kind === 'file') {
    view.sawNode(source)
    view.putFile(dest, source.node)
  } else {
    view.saw(source, 'kind')
    view.putLink(dest, source.node.target)
  }
  view.remove(source)
}

interface Transfer {
  readonly source: ResolvedPath
  readonly dest: ResolvedPath
  readonly doing: FileOperation
}

async function moveDir(view: Overlay, { source, dest, doing }: Transfer): Promise<void> {
  const refuse = createRefusal(view, doing)
  if (dest.node && dest.node.kind !== 'dir') throw refuse('ENOTDIR', source, dest)
  if (dest.node && (await view.list(dest)).length > 0) throw refuse('ENOTEMPTY', source)
  view.saw(dest, 'kind')
  const tree = await view.whole(source)
  const items = itemsIn(tree, dest.path)
  for (const { path } of items) checkLength(path, doing)
  if (dest.node) view.remove(dest)
  view.makeDir(dest, tree.mode)
  for (const { path, node } of items) {
    const place = { path, node: undefined, own: true }
    if (node.kind === 'dir') view.makeDir(place, node.mode)
    else if (node.kind === 'file') view.putFile(place, node)
    else view.putLink(place, node.target)
  }
  view.remove(source)
}

interface Item {
  readonly path: string
  readonly node: TreeNode
}

/** All below a directory, as it would be called elsewhere; a directory before what it holds. */
function itemsIn(tree: DirNode, path: string): readonly Item[] {
  const items: Item[] = [{ path, node: tree }]
  // Grows while it is gone through: a tree may be deeper than the stack.
  for (const { path: above, node } of items) {
    if (node.kind === 'dir')
      for (const [name, child] of sortedEntries(node.entries)) items.push({ path: join(above, name), node: child })
  }
  return items.slice(1)
}

export async function copy(view: Overlay, from: string, to: string): Promise<void> {
  const doing = { syscall: 'copyfile', path: normalise(from, 'copyfile'), dest: normalise(to, 'copyfile') }
  const source = await view.walk(from, { syscall: 'copyfile', last: 'follow', doing })
  // Before the other path is looked at, which may lead nowhere.
  view.saw(source, 'kind')
  if (!source.node) throw fileError('ENOENT', doing)
  const dest = await view.walk(to, { syscall: 'copyfile', last: 'follow', doing })
  const refuse = createRefusal(view, doing)
  if (source.path === dest.path) return
  if (source.node.kind === 'dir') return copyDir(view, { source, dest, doing })
  if (dest.node?.kind === 'dir') throw refuse('EISDIR', dest)
  view.sawNode(source)
  view.saw(dest, 'slot')
  // A link is followed, so this is a file.
  if (source.node.kind !== 'file') return
  await view.admit(source.node.size, sizeAt(dest), doing)
  view.putFile(dest, source.node)
}

async function copyDir(view: Overlay, { source, dest, doing }: Transfer): Promise<void> {
  const refuse = createRefusal(view, doing)
  if (isWithin(dest.path, source.path)) throw refuse('EINVAL', dest)
  if (dest.node && dest.node.kind !== 'dir') throw refuse('ENOTDIR', dest)
  view.saw(dest, 'room')
  const tree = await view.whole(source)
  const steps = await planMerge(view, { tree, dest, doing })
  const files = steps.filter(({ node }) => node.kind === 'file')
  const grown = files.reduce((sum, { node }) => sum + (node.kind === 'file' ? node.size : 0), 0)
  await view.admit(
    grown,
    files.reduce((sum, { place }) => sum + sizeAt(place), 0),
    doing,
  )
  await view.admitNames(steps.length, doing)
  view.ensure(dest, tree.mode)
  for (const { place, node } of steps) {
    if (node.kind === 'dir') view.ensure(place, node.mode)
    else if (node.kind === 'file') view.putFile(place, node)
    else view.putLink(place, node.target)
  }
}

interface Step {
  readonly place: ResolvedPath
  readonly node: TreeNode
}

/** What goes where; throws where a directory would meet something else. */
async function planMerge(
  view: Overlay,
  { tree, dest, doing }: { tree: DirNode; dest: ResolvedPath; doing: FileOperation },
): Promise<readonly Step[]> {
  const refuse = createRefusal(view, doing)
  const steps: Step[] = []
  for (const [name, node] of sortedEntries(tree.entries)) {
    const place = await view.child(dest, name)
    checkLength(place.path, doing)
    if (node.kind !== 'dir' && place.node?.kind === 'dir') throw refuse('EISDIR', place)
    if (node.kind === 'dir' && place.node && place.node.kind !== 'dir') throw refuse('ENOTDIR', place)
    view.saw(place, node.kind === 'dir' ? 'room' : 'slot')
    steps.push({ place, node })
    if (node.kind === 'dir') steps.push(...(await planMerge(view, { tree: node, dest: place, doing })))
  }
  return steps
}

function sizeAt({ node }: ResolvedPath): number {
  return node?.kind === 'file' ? node.size : 0
}

/** An error that follows from what stands at these places. */
function createRefusal(
  view: Overlay,
  doing: FileOperation,
): (code: FileErrorCode, ...because: readonly ResolvedPath[]) => Error {
  return (code, ...because) => {
    for (const place of because) view.saw(place, 'kind')
    return fileError(code, doing)
  }
}
