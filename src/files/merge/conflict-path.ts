/**
 * The path for a version that cannot have its own: beside it, as `<name>.theirs`, `<name>.theirs.2` and so on.
 *
 * - The path is free and short enough to be opened: a long name is cut, and if the directory leaves no room for one,
 *   a directory further up is taken.
 */
import { Buffer } from 'node:buffer'
import type { TreeNode } from '../../core/tree.js'
import { join, parentOf } from '../path.js'

const longestName = 255
const longestPath = 4096
/** For the suffix, a number and some of the name. */
const leastRoom = 32

export function conflictPath(path: string, node: TreeNode, isFree: (path: string) => boolean): string {
  const below = longestBelow(node)
  const roomIn = (dir: string): number => Math.min(longestName, longestPath - below - Buffer.byteLength(join(dir, '')))
  let dir = parentOf(path)
  while (roomIn(dir) < leastRoom && dir !== '/') dir = parentOf(dir)
  const room = Math.max(roomIn(dir), leastRoom)
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '.theirs' : `.theirs.${count}`
    const candidate = join(dir, cut(name, room - suffix.length) + suffix)
    if (isFree(candidate)) return candidate
  }
}

/** Cuts between characters, never within one. */
function cut(name: string, bytes: number): string {
  const letters = [...name]
  while (Buffer.byteLength(letters.join('')) > bytes) letters.pop()
  return letters.join('')
}

/** Bytes of the longest path from a directory to something below it, 0 for anything else. */
function longestBelow(node: TreeNode): number {
  let longest = 0
  const pending = [{ node, bytes: 0 }]
  for (const { node: next, bytes } of pending) {
    longest = Math.max(longest, bytes)
    if (next.kind !== 'dir') continue
    for (const [name, child] of next.entries) pending.push({ node: child, bytes: bytes + 1 + Buffer.byteLength(name) })
  }
  return longest
}
