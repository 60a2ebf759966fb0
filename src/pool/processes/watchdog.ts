/**
 * Looks after worker threads at even intervals, and only while there are calls. By the machine's time, whatever clock
 * the calls live by: that is what bodies take and what memory grows by.
 */
import { systemClock } from '../../core/clock.js'

export interface Watchdog {
  /** A call begins, also one that waits for a thread. */
  begin(): void
  end(): void
  stop(): void
}

/** Twice the time between two beats of a thread: one may be late. */
export const lookMs = 100

export function createWatchdog(look: () => void): Watchdog {
  let cancel: (() => void) | undefined
  let calls = 0
  const looks = (): void => {
    cancel = undefined
    if (calls === 0) return
    look()
    wake()
  }
  const wake = (): void => void (cancel ??= systemClock.wakeAt(systemClock.now() + lookMs, looks))
  return {
    begin() {
      calls++
      wake()
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
