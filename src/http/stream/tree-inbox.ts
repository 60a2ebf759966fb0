/**
 * The inbox of one tree over time, for who may see that tree.
 *
 * - It ends with its tree: where another one has the id later, perhaps of another tenant, nothing of it is given.
 */
import { SkeinError } from '../../index.js'
import type { InboxItem } from '../../index.js'
import { createTreeGuard } from '../auth/principal.js'
import type { RouteScene } from '../route.js'

type Scene = Pick<RouteScene, 'skein' | 'principal'>

/** Lists until it is left. */
export type TreeInbox = (signal: AbortSignal) => AsyncIterable<readonly InboxItem[]>

/** Throws as for a thread that is not there. */
export async function openTreeInbox(scene: Scene, root: string): Promise<TreeInbox> {
  const { skein, principal } = scene
  const bornAt = async (): Promise<number> => (await (await skein.threads.get(root)).info()).createdAt
  // A guard keeps what it saw, so each look has its own.
  const check = (): Promise<void> => createTreeGuard(skein, principal).checkThread(root)
  await check()
  const born = await bornAt()
  const isThis = async (): Promise<boolean> => {
    const now = await bornAt()
    return (
      now === born &&
      (await check().then(
        () => true,
        () => false,
      ))
    )
  }
  return async function* lists(signal) {
    for await (const items of skein.inbox.watch({ root, signal })) {
      // After the list was read: what it has is of the tree that was there before this.
      if (!(await isThis())) throw removed(root)
      yield items
    }
  }
}

function removed(thread: string): SkeinError {
  const message = `there is no thread ${JSON.stringify(thread)} in this store; it was deleted`
  return new SkeinError('UNKNOWN_THREAD', message, { data: { thread } })
}
