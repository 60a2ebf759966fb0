/**
 * Deleting a tree, from anywhere: a command to its root, and waiting until it is gone; or until one of its threads is
 * parked, since nothing is removed before all have ended.
 */
import type { Backend } from '../../backend/port.js'
import type { Random, Clock } from '../../core/clock.js'
import { SkeinError } from '../../core/failure.js'
import { sendCommand } from './send-command.js'
import { failParked, ringing } from '../watch/until-settled.js'

export interface DeleteServices {
  readonly backend: Backend
  readonly clock: Clock
  readonly random: Random
  readonly closed: AbortSignal
}

export async function deleteTree(
  { backend, clock, random, closed }: DeleteServices,
  root: string,
  options: { readonly terminate?: boolean } = {},
): Promise<void> {
  const head = await backend.heads.get(root)
  if (!head)
    throw new SkeinError('UNKNOWN_THREAD', `there is no thread ${JSON.stringify(root)} in this store`, {
      data: { thread: root },
    })
  // One that was made again with the same id is another one.
  const isThere = async (): Promise<boolean> => (await backend.heads.get(root))?.createdAt === head.createdAt
  await ringing({ backend, closed, root: head.root }, async (next) => {
    try {
      await sendCommand(backend, clock, {
        thread: root,
        id: random.id(),
        command: { kind: 'delete', ...(options.terminate && { terminate: true }) },
      })
    } catch (thrown) {
      // The answer was lost, and whoever was asked again knows no such thread: that is what was wanted.
      if (await isThere()) throw thrown
    }
    while (await isThere()) failParked(await next(), () => true)
  })
}
