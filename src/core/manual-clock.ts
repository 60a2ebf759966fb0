/**
 * A clock that only moves when it is told to: for tests and simulations. It uses no timers and no promises; the caller
 * decides when code that was woken gets to run.
 *
 * - Wakes fire only inside `advance` and `next`, never inside `wakeAt`, even for a time that has passed.
 * - They fire in the order of their times, equal times in the order of `wakeAt`, and `now()` is the time of the wake
 *   then. A wake that is set by another wake fires in the same `advance` if it is due.
 * - Time never goes back.
 */
import type { Clock } from './clock.js'
import { SkeinError } from './failure.js'

export interface ManualClock extends Clock {
  /** Moves time by `ms` and fires what is due on the way. */
  advance(ms: number): void
  /** Moves to the next wake and fires all that are due then. False when nothing is waiting. */
  next(): boolean
  /** Wakes that are waiting. */
  readonly pending: number
}

interface Wake {
  readonly at: number
  readonly fire: () => void
}

/** The first index whose wake is later than `at`: equal times stay in their order. */
function indexFor(at: number, wakes: readonly Wake[]): number {
  let low = 0
  let high = wakes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const wake = wakes[middle]
    if (wake && wake.at <= at) low = middle + 1
    else high = middle
  }
  return low
}

export function manualClock(startMs = 0): ManualClock {
  let now = startMs
  const wakes: Wake[] = []

  const moveTo = (end: number): void => {
    for (let first = wakes[0]; first && first.at <= end; first = wakes[0]) {
      wakes.shift()
      now = Math.max(now, first.at)
      first.fire()
    }
    // A wake may itself have moved the clock past our end.
    now = Math.max(now, end)
  }

  return {
    now: () => now,
    wakeAt(at, wake) {
      const entry: Wake = { at, fire: wake }
      wakes.splice(indexFor(at, wakes), 0, entry)
      return () => {
        const index = wakes.indexOf(entry)
        if (index >= 0) wakes.splice(index, 1)
      }
    },
    advance(ms) {
      if (!(ms >= 0))
        throw new SkeinError('BAD_OPTION', `advance(${ms}): time cannot go back; give 0 or more milliseconds`)
      moveTo(now + ms)
    },
    next() {
      const first = wakes[0]
      if (!first) return false
      moveTo(Math.max(now, first.at))
      return true
    },
    get pending() {
      return wakes.length
    },
  }
}
