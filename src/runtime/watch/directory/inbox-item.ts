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
}

export function itemsOf({ thread, path, agent, reference, pending = [] }: StoredHead): InboxItem[] {
  return pending.map((item) => ({
    ...item,
    id: `${thread}/${item.call}`,
    thread,
    path,
    agent,
    ...defined({ reference }),
  }))
}

/** The oldest request first. */
export function inboxOf(heads: Iterable<StoredHead>): readonly InboxItem[] {
  return [...heads].flatMap(itemsOf).sort((a, b) => a.requestedAt - b.requestedAt)
}
