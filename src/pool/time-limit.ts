/**
 * The time that a call may take. It runs while the call has a thread, and stands still while the call waits for others:
 * nobody is late because a sibling was slow.
 */
import type { Clock } from '../core/clock.js'

export interface TimeLimit {
  pause(): void
  resume(): void
  /** For good. */
  stop(): void
}

/** It begins to run at once. */
export function createTimeLimit(clock: Clock, limitMs: number, late: () => void): TimeLimit {
  let leftMs = limitMs
  let since: number | undefined
  let cancel: (() => void) | undefined
  let over = false
  const pause = (): void => {
    if (since === undefined) return
    leftMs -= clock.now() - since
    since = undefined
    cancel?.()
  }
  const resume = (): void => {
    if (over || since !== undefined) return
    since = clock.now()
    cancel = clock.wakeAt(since + Math.max(leftMs, 0), late)
  }
  resume()
  return {
    pause,
    resume,
    stop() {
      over = true
      cancel?.()
    },
  }
}
