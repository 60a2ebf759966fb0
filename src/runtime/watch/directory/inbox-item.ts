/** What a thread waits for a person to decide or to give, as the inbox has it. */
import type { Pending, StoredHead } from '../../../backend/port.js'
import { defined } from '../../../core/defined.js'

export interface InboxItem extends Pending {
  /** `<thread>/<call>`: what `approve`, `reject` and `answer` take. */
  readonly id: string
  readonly thread: string
  /** Ids from the root down to the thread. */
  readonly path: readonly string[]
  readonly agent: string
  /** Of a child: what its parent calls it. */
  readonly reference?: string
  /** Of a fork, and of threads below one: the thread whose past it, or else the fork above it, began with. */
  readonly forkedFrom?: StoredHead['forkedFrom']
}

/** `root`: the entry of the root of its tree. Forks are roots, or copies of what was below the source of one. */
export function itemsOf(head: StoredHead, root: StoredHead | undefined): InboxItem[] {
  const { thread, path, agent, reference, pending = [] } = head
  const forkedFrom = head.forkedFrom ?? root?.forkedFrom
  return pending.map((item) => ({
    ...item,
    id: `${thread}/${item.call}`,
    thread,
    path,
    agent,
    ...defined({ reference, forkedFrom }),
  }))
}

/** The oldest request first. */
export function inboxOf(
  heads: Iterable<StoredHead>,
  rootOf: (root: string) => StoredHead | undefined,
): readonly InboxItem[] {
  return [...heads].flatMap((head) => itemsOf(head, rootOf(head.root))).sort((a, b) => a.requestedAt - b.requestedAt)
}
