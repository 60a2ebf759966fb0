/**
 * What the handles on threads are made with, and the answer that all of them share: that a thread is not there.
 */
import type { Backend } from '../../backend/port.js'
import type { Clock, Random } from '../../core/clock.js'
import { SkeinError } from '../../core/failure.js'
import type { Secrets } from '../secrets/secrets.js'
import type { SharedDirectory } from '../watch/directory/directory.js'

export interface ThreadServices {
  readonly backend: Backend
  readonly clock: Clock
  readonly random: Random
  /** Aborted when the skein or the client is closed. */
  readonly closed: AbortSignal
  readonly secrets: Secrets
  readonly directory: SharedDirectory
}

export function threadMissing(id: string): never {
  throw new SkeinError('UNKNOWN_THREAD', `there is no thread ${JSON.stringify(id)} in this store`, {
    data: { thread: id },
  })
}
