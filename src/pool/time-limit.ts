/**
 * The time limit of a call. It is paused while the call waits for other calls, so that none is late because a sibling
 * was slow.
 */
import type { Clock } from '../core/clock.js'

export interface TimeLimit {
  pause(): void
  resume(): void
  stop(): void
}

/** Starts at once. */
export function createTimeLimit(clock: Clock, limitMs: number, onTimeout: () => void): TimeLimit {
  let remainingMs = limitMs
  let runningSince: number | undefined
  let cancel: (() => void) | undefined
  let stopped = false
  const pause = (): void => {
    if (runningSince === undefined) return
    remainingMs -= clock.now() - runningSince
    runningSince = undefined
    cancel?.()
  }
  const resume = (): void => {
    if (stopped || runningSince !== undefined) return
    runningSince = clock.now()
    cancel = clock.wakeAt(runningSince + Math.max(remainingMs, 0), onTimeout)
  }
  resume()
  return {
    pause,
    resume,
    stop() {
      stopped = true
      cancel?.()
    },
  }
}
