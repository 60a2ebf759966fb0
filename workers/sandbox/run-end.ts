/**
 * The end of a run before its code ends: by time-out, termination or memory. Owns the timer of the deadline and the
 * listener on the call's signal.
 *
 * - The first reason counts.
 * - `isDue` is cheap and needs no event loop: the engine calls it in the middle of a loop.
 */
import { systemClock } from '../../src/core/clock.js'
import { textOf } from '../../src/core/json.js'
import { terminatedError, timeoutError } from './verdict.js'
import type { Verdict } from './verdict.js'

export interface RunEnd {
  /** Why the run was ended, if it was. */
  readonly verdict: Verdict | undefined
  /** Aborted when the run is over, for whatever reason. */
  readonly signal: AbortSignal
  end(verdict: Verdict): void
  /** Checks the clock and the call's signal, and returns whether the run must end. */
  isDue(): boolean
  remainingMs(): number
  /** The run is over. */
  close(): void
}

interface RunEndOptions {
  readonly timeoutMs: number
  readonly now: () => number
  /** The signal of the call. */
  readonly signal?: AbortSignal | undefined
  /** Whether another thread has stopped the run. */
  readonly isStopped?: (() => boolean) | undefined
}

export function createRunEnd({ timeoutMs, now, signal, isStopped }: RunEndOptions): RunEnd {
  const deadline = now() + timeoutMs
  const over = new AbortController()
  let verdict: Verdict | undefined
  let disarm: () => void

  const close = (): void => {
    disarm()
    signal?.removeEventListener('abort', isDue)
    over.abort()
  }
  const end = (reason: Verdict): void => {
    if (over.signal.aborted) return
    verdict = reason
    close()
  }
  function isDue(): boolean {
    if (verdict) return true
    if (isStopped?.()) end(terminatedError('the run was terminated'))
    else if (signal?.aborted) end(terminatedError(reasonOf(signal.reason)))
    else if (now() >= deadline) end(timeoutError(timeoutMs))
    return verdict !== undefined
  }
  const remainingMs = (): number => Math.max(0, deadline - now())
  const arm = (): void => {
    // The timer uses another clock than the deadline, so it may fire early.
    disarm = systemClock.wakeAt(systemClock.now() + Math.max(1, remainingMs()), () => {
      if (!isDue()) arm()
    })
  }
  arm()
  signal?.addEventListener('abort', isDue)
  return {
    get verdict() {
      return verdict
    },
    signal: over.signal,
    end,
    isDue,
    remainingMs,
    close,
  }
}

function reasonOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : textOf(reason)
}
