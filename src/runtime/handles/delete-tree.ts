/**
 * Deleting a tree from any process: a command to its root, and the wait until the tree is gone; or until one of its
 * threads is parked, since nothing is removed before all have ended.
 */
import { z } from 'zod'
import { checkOptions } from '../../core/options.js'
import { sendCommand } from './send-command.js'
import { threadMissing } from './services.js'
import type { ThreadServices } from './services.js'
import { failParked, waitForSignals } from '../watch/until-settled.js'
import { lazy } from '../../core/schema.js'

const deleteSchema = lazy(() => z.strictObject({ terminate: z.boolean().optional() }))

export async function deleteTree(
  { backend, clock, random, closed }: Pick<ThreadServices, 'backend' | 'clock' | 'random' | 'closed'>,
  root: string,
  options: { readonly terminate?: boolean } = {},
): Promise<void> {
  checkOptions(deleteSchema(), options, 'threads.delete')
  const head = (await backend.heads.get(root)) ?? threadMissing(root)
  // A thread that was created again with the same id is another one. A damaged entry does not know when it was made.
  const { createdAt } = head
  const isThere = async (): Promise<boolean> => (await backend.heads.get(root))?.createdAt === createdAt
  await waitForSignals({ backend, closed, root: head.root }, async (next) => {
    try {
      await sendCommand(backend, clock, {
        thread: root,
        id: random.id(),
        command: {
          kind: 'delete',
          ...(options.terminate && { terminate: true }),
          ...(createdAt > 0 && { createdAt }),
        },
      })
    } catch (thrown) {
      // The answer was lost and the command sent again, after the tree was gone: it is deleted.
      if (await isThere()) throw thrown
    }
    while (await isThere()) failParked(await next(), () => true)
  })
}
