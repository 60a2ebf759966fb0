/**
 * The children of the threads that a view shows, as their parents have them: what each is called, and how it stands.
 * Kept from the rows that the changes of a view give.
 */
import { defined } from '../../core/defined.js'
import type { RemoteThreadChange } from '../../client.js'
import type { ChildView, ThreadInfo } from '../../index.js'
import { childName } from './calls.js'
import type { AnyClient } from '../store.js'

export type Children = ReturnType<typeof createChildren>

export function createChildren() {
  /** By parent, by reference. */
  const parents = new Map<string, Map<string, ChildView>>()
  /** By thread. */
  const rows = new Map<string, ChildView>()
  let threads: RemoteThreadChange['threads'] = new Map()
  const of = (parent: string, status: ChildView['status']): readonly ChildView[] =>
    [...(parents.get(parent)?.values() ?? [])].filter((row) => row.status === status)
  /** A child of which nothing has changed since the view began is known by its parent alone. */
  const find = (thread: string, parent: string | undefined): ChildView | undefined => {
    const known = rows.get(thread)
    if (known || parent === undefined) return known
    const found = threads.get(parent)?.children.find((row) => row.thread === thread)
    if (found) rows.set(thread, found)
    return found
  }
  return {
    take(change: RemoteThreadChange): void {
      ;({ threads } = change)
      for (const row of change.children) {
        const own = parents.get(change.thread) ?? new Map<string, ChildView>()
        parents.set(change.thread, own)
        if (row.status === 'not started') own.delete(row.reference)
        else own.set(row.reference, row)
        rows.set(row.thread, row)
      }
    },
    /** What the thread at the end of the path is called; a thread without a parent has its id. */
    label(path: readonly string[]): string {
      const [thread = '', parent] = [path.at(-1), path.at(-2)]
      return childName(find(thread, parent) ?? { reference: thread })
    },
    /** The message that it was last called with. */
    topic: (thread: string): string | undefined => rows.get(thread)?.topic,
    working: (parent: string): readonly ChildView[] => of(parent, 'working'),
    inLine: (parent: string): readonly ChildView[] => of(parent, 'in line'),
    /** All rows that have changed since the view began. */
    all: (): readonly ChildView[] => [...parents.values()].flatMap((own) => [...own.values()]),
  }
}

/** A thread and all below it, as the store lists them: in order of creation. */
export async function subtree(
  { threads }: AnyClient,
  { thread, root }: Pick<ThreadInfo, 'thread' | 'root'>,
): Promise<readonly ThreadInfo[]> {
  const found: ThreadInfo[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await threads.list({ root, limit: 1_000, ...defined({ cursor }) })
    found.push(...page.threads.filter(({ path }) => path.includes(thread)))
    cursor = page.next
  }
  return found
}
