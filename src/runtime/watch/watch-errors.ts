/** Why a watch ends before its time. */
import { SkeinError } from '../../core/failure.js'

export function removed(thread: string): SkeinError {
  return new SkeinError(
    'UNKNOWN_THREAD',
    `there is no thread ${JSON.stringify(thread)} in this store; it was deleted`,
    { data: { thread } },
  )
}

/** What may wait for a reader whose number of events is limited. */
export const mostWaitingBytes = 8 * 2 ** 20

interface Lagging {
  readonly root: string
  readonly thread?: string
  readonly maxBuffered?: number
}

export function lagged({ root, thread = root, maxBuffered }: Lagging): SkeinError {
  return new SkeinError(
    'STREAM_LAGGED',
    `more than ${maxBuffered} events of ${thread}, or ${mostWaitingBytes / 2 ** 20} MB of them, waited to be read; ` +
      `go on from the cursor of the last one that was read`,
    { retry: true, data: { thread, maxBuffered } },
  )
}

export function skeinClosed(): SkeinError {
  return new SkeinError('STORE_CLOSED', 'the skein was closed; what was waited for goes on when it is opened again', {
    retry: true,
  })
}
