/**
 * The threads below a thread: its children as it knows them, and the tree as the index has it.
 */
import { childrenOf } from '../../../actors/thread/children/list.js'
import type { ChildEntry } from '../../../actors/thread/children/list.js'
import type { Backend, StoredHead } from '../../backend/port.js'
import { eachHead } from '../journal/heads.js'
import { wake } from '../journal/wake.js'
import { toThreadInfo } from '../watch/directory/thread-info.js'
import type { ThreadInfo } from '../watch/directory/thread-info.js'

export type { ChildEntry } from '../../../actors/thread/children/list.js'

/** A thread and those below it, in order of creation. */
export interface Tree extends ThreadInfo {
  readonly children: readonly Tree[]
}

export async function readChildren(backend: Backend, id: string): Promise<readonly ChildEntry[]> {
  return childrenOf((await wake(backend, id)).state)
}

export async function readTree(backend: Backend, top: StoredHead): Promise<Tree> {
  const byParent = new Map<string, StoredHead[]>()
  const add = (parent: string, head: StoredHead): void => {
    const siblings = byParent.get(parent)
    if (siblings) siblings.push(head)
    else byParent.set(parent, [head])
  }
  for await (const head of eachHead(backend, { root: top.root }))
    if (head.parent !== undefined && head.path.includes(top.thread)) add(head.parent, head)
  const below = (head: StoredHead): Tree => ({
    ...toThreadInfo(head),
    children: (byParent.get(head.thread) ?? []).map(below),
  })
  return below(top)
}
