/**
 * The threads below a thread: its children as it knows them, and the tree as the index has it.
 */
import { childrenOf } from '../../../actors/thread/children/list.js'
import type { ChildEntry } from '../../../actors/thread/children/list.js'
import type { Backend, StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { wake } from '../journal/wake.js'
import { toThreadInfo } from './thread-info.js'
import type { ThreadInfo } from './thread-info.js'

export type { ChildEntry } from '../../../actors/thread/children/list.js'

/** A thread and those below it, in order of creation. */
export interface Tree extends ThreadInfo {
  readonly children: readonly Tree[]
}

export async function readChildren(backend: Backend, id: string): Promise<readonly ChildEntry[]> {
  return childrenOf((await wake(backend, id)).state)
}

export async function readTree({ heads }: Backend, top: StoredHead): Promise<Tree> {
  const byParent = new Map<string, StoredHead[]>()
  const add = (parent: string, head: StoredHead): void => {
    const siblings = byParent.get(parent)
    if (siblings) siblings.push(head)
    else byParent.set(parent, [head])
  }
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await heads.list({ root: top.root, ...defined({ cursor }) })
    for (const head of page.heads)
      if (head.parent !== undefined && head.path.includes(top.thread)) add(head.parent, head)
    cursor = page.next
  }
  const below = (head: StoredHead): Tree => ({
    ...toThreadInfo(head),
    children: (byParent.get(head.thread) ?? []).map(below),
  })
  return below(top)
}
