/** Timers of the NATS backend, on the monotonic clock: they run whatever clock the threads have. */
import { steadyClock } from '../../../core/clock.js'

/** Returns what cancels it. */
export function after(ms: number, then: () => void): () => void {
  return steadyClock.wakeAt(steadyClock.now() + ms, then)
}

/** Returns what stops it. */
export function every(ms: number, then: () => void): () => void {
  let cancel = after(ms, function again() {
    cancel = after(ms, again)
    then()
  })
  return () => cancel()
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void after(ms, resolve))
}
