/**
 * Blobs as the body of a call reads them: while the store is out of reach a read waits and tries again, for as long as
 * the call lives. A store that is away is no failure of a tool (N3): the body would take it for one, and its model too.
 */
import type { Blobs } from '../../backend/port.js'
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { isSkeinError } from '../../core/failure.js'
import { pauseBeforeRetry } from './tool-retry.js'

const firstPauseMs = 100
const longestPauseMs = 5_000

export function patientBlobs(blobs: Blobs, clock: Clock, cancel: Cancel): Pick<Blobs, 'get' | 'put'> {
  return {
    put: (bytes) => blobs.put(bytes),
    async *get(hash) {
      let done = 0
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
        try {
          for await (const bytes of after(done, blobs.get(hash))) {
            done += bytes.length
            yield bytes
          }
          return
        } catch (thrown) {
          if (!isTransient(thrown) || cancel.reason) throw thrown
          await pauseBeforeRetry(clock, pauseMs, cancel)
        }
      }
    },
  }
}

function isTransient(thrown: unknown): boolean {
  return isSkeinError(thrown) && thrown.code === 'STORE_FAILED' && thrown.retry
}

/** Without the first so many bytes: whoever reads has them already. */
async function* after(count: number, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let skip = count
  for await (const part of bytes) {
    if (skip < part.length) yield skip > 0 ? part.subarray(skip) : part
    skip = Math.max(0, skip - part.length)
  }
}
