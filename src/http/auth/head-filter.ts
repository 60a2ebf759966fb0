/**
 * Which heads a principal may see, for as long as it watches them. A tree is known by the tags of its root, which come
 * with its head; an id that is used again is another tree.
 */
import type { DirectoryPage, RemovedTree, SkeinClient, ThreadInfo } from '../../index.js'
import type { Principal } from './principal.js'
import { createTreeGuard, isBound } from './principal.js'

export interface SeenPage extends Omit<DirectoryPage, 'removed'> {
  /** Roots of trees. */
  readonly removed: readonly string[]
}

export function createHeadFilter(skein: SkeinClient, principal: Principal): (page: DirectoryPage) => Promise<SeenPage> {
  const known = new Map<string, boolean>()
  const sees = ({ root, tags }: RemovedTree): boolean =>
    (principal.roots?.includes(root) ?? true) && (!principal.tags || tags.some((tag) => principal.tags?.includes(tag)))
  const seesThread = async ({ root }: ThreadInfo): Promise<boolean> => {
    // Asked anew each time: what is kept here is what heads say.
    const seen = known.get(root) ?? (await createTreeGuard(skein, principal).seesRoot(root))
    known.set(root, seen)
    return seen
  }
  return async ({ removed, threads, ...page }) => {
    if (!isBound(principal)) return { ...page, removed: removed.map(({ root }) => root), threads }
    for (const { root } of removed) known.delete(root)
    for (const { thread, root, tags } of threads) if (thread === root) known.set(root, sees({ root, tags }))
    const seen: ThreadInfo[] = []
    for (const thread of threads) if (await seesThread(thread)) seen.push(thread)
    return { ...page, removed: removed.filter(sees).map(({ root }) => root), threads: seen }
  }
}
