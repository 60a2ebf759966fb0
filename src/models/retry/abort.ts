/**
 * Waiting that an abort ends, for models that do not watch the signal themselves.
 *
 * - After an abort the wait rejects with the signal's reason at once; the work goes on unobserved and its
 *   outcome, good or bad, is dropped.
 * - No listener stays on the signal after the wait: one signal may serve thousands of calls.
 */
import type { Clock } from '../../core/clock.js'

export function abortable<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    // Both branches are given even after an abort, so that a late rejection is not an unhandled one.
    work.then(
      (value) => {
        signal.removeEventListener('abort', abort)
        resolve(value)
      },
      (thrown: unknown) => {
        signal.removeEventListener('abort', abort)
        reject(thrown)
      },
    )
  })
}

/** Resolves once `waitMs` have passed on the clock. */
export function abortableSleep(waitMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const abort = (): void => {
      cancel()
      reject(signal.reason)
    }
    const cancel = clock.wakeAt(clock.now() + waitMs, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}
