/**
 * Where a version goes that cannot stand at its own path: beside it, as `<name>.theirs`, or `.theirs.2` and so on.
 *
 * - The name is free, and short enough to be opened: a long one is cut, and where a path has no room left the
 *   place is in a directory further up.
 */
import { Buffer } from 'node:buffer'
import type { TreeNode } from '../../core/tree.js'
import { join, parentOf } from '../path.js'

const longestName = 255
const longestPath = 4096
/** For the suffix, a number and some of the name. */
const leastRoom = 32

export function placeBeside(path: string, node: TreeNode, isFree: (path: string) => boolean): string {
  const below = longestBelow(node)
  const roomIn = (dir: string): number => Math.min(longestName, longestPath - below - Buffer.byteLength(join(dir, '')))
  let dir = parentOf(path)
  while (roomIn(dir) < leastRoom && dir !== '/') dir = parentOf(dir)
  const room = Math.max(roomIn(dir), leastRoom)
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '.theirs' : `.theirs.${count}`
    const place = join(dir, cut(name, room - suffix.length) + suffix)
    if (isFree(place)) return place
  }
}

/** By characters, so that none is halved. */
function cut(name: string, bytes: number): string {
  const letters = [...name]
  while (Buffer.byteLength(letters.join('')) > bytes) letters.pop()
  return letters.join('')
}

/** Bytes of the longest path from a directory to something below it, 0 for anything else. */
function longestBelow(node: TreeNode): number {
  let longest = 0
  const ahead = [{ node, bytes: 0 }]
  for (const each of ahead) {
    longest = Math.max(longest, each.bytes)
    if (each.node.kind !== 'dir') continue
    for (const [name, child] of each.node.entries)
      ahead.push({ node: child, bytes: each.bytes + 1 + Buffer.byteLength(name) })
  }
  return longest
}
