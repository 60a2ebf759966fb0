/**
 * Checks workers at regular intervals while there are calls. It uses the time of the machine, whatever clock the calls
 * use: bodies compute and allocate in real time.
 */
import { systemClock } from '../../core/clock.js'

export interface Watchdog {
  /** A call begins, or waits for a worker. */
  begin(): void
  end(): void
  stop(): void
}

/** Two heartbeats of a worker (workers/thread/heartbeat.ts): one may be late. */
export const checkMs = 100

export function createWatchdog(check: () => void): Watchdog {
  let cancel: (() => void) | undefined
  let calls = 0
  const wake = (): void => {
    cancel = undefined
    if (calls === 0) return
    check()
    arm()
  }
  const arm = (): void => void (cancel ??= systemClock.wakeAt(systemClock.now() + checkMs, wake))
  return {
    begin() {
      calls++
      arm()
    },
    end() {
      calls--
    },
    stop() {
      calls = 0
      cancel?.()
      cancel = undefined
    },
  }
}
