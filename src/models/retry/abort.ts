/**
 * Waiting that an abort ends, for models that do not watch the signal themselves.
 *
 * - After an abort the wait rejects with the signal's reason at once; the work goes on unobserved and its
 *   outcome, good or bad, is dropped.
 * - No listener stays on the signal after the wait: one signal may serve thousands of calls.
 */
import type { Clock } from '../../core/clock.js'
import type { ModelCallOptions } from '../port.js'

/** What can be aborted: a call of a model, or whatever has a signal. */
export type Abortable = Pick<ModelCallOptions, 'signal' | 'onAbort'>

/** Calls the listener once, immediately if already aborted; creates no signal where it can do without. */
export function onAbort(call: Abortable, listener: (reason: Error) => void): () => void {
  if (call.onAbort) return call.onAbort(listener)
  const { signal } = call
  const aborted = (): void => listener(signal.reason)
  if (signal.aborted) aborted()
  else signal.addEventListener('abort', aborted, { once: true })
  return () => signal.removeEventListener('abort', aborted)
}

export function abortable<T>(work: PromiseLike<T>, call: Abortable): Promise<T> {
  return takeUnlessAborted(work, call, (value) => value)
}

/** The same with what `take` makes of it; after an abort it is not asked. */
export function takeUnlessAborted<T, Taken>(
  work: PromiseLike<T>,
  call: Abortable,
  take: (value: T) => Taken,
): Promise<Taken> {
  return new Promise<Taken>((resolve, reject) => {
    // Once: what has a `then` may call it again.
    let isOver = false
    const stopListening = onAbort(call, (reason) => {
      isOver = true
      reject(reason)
    })
    // Both branches are given even after an abort, so that a late rejection is not an unhandled one.
    work.then(
      (value) => {
        stopListening()
        if (isOver) return
        isOver = true
        try {
          resolve(take(value))
        } catch (thrown) {
          reject(thrown)
        }
      },
      (thrown: unknown) => {
        stopListening()
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
