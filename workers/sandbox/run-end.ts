/**
 * Why a run ends before its code does: time, a reason from outside, or memory. Owns the deadline's timer and the ear on
 * the call's signal.
 *
 * - The first reason stays.
 * - `due` is cheap and needs no event loop: the engine asks it in the middle of a loop.
 */
import { systemClock } from '../../src/core/clock.js'
import { textOf } from '../../src/core/json.js'
import { terminatedError, timeoutError } from './verdict.js'
import type { Verdict } from './verdict.js'

export interface RunEnd {
  readonly verdict: Verdict | undefined
  /** Aborted when the run is over, for whatever reason. */
  readonly signal: AbortSignal
  end(why: Verdict): void
  /** Looks at the clock and the call's signal, and says whether the run must end. */
  isDue(): boolean
  remainingMs(): number
  /** The code has ended by itself. */
  close(): void
}

interface EndingOptions {
  readonly timeoutMs: number
  readonly now: () => number
  /** Of the call. */
  readonly signal?: AbortSignal | undefined
  /** Whether another thread has said so. */
  readonly told?: (() => boolean) | undefined
}

export function createRunEnd({ timeoutMs, now, signal, told }: EndingOptions): RunEnd {
  const deadline = now() + timeoutMs
  const over = new AbortController()
  let why: Verdict | undefined
  let disarm: () => void

  const close = (): void => {
    disarm()
    signal?.removeEventListener('abort', due)
    over.abort()
  }
  const end = (reason: Verdict): void => {
    if (over.signal.aborted) return
    why = reason
    close()
  }
  function due(): boolean {
    if (why) return true
    if (told?.()) end(terminatedError('the run was terminated'))
    else if (signal?.aborted) end(terminatedError(reasonOf(signal.reason)))
    else if (now() >= deadline) end(timeoutError(timeoutMs))
    return why !== undefined
  }
  const remainingMs = (): number => Math.max(0, deadline - now())
  const arm = (): void => {
    // The clock of the timer is not the one that counts.
    disarm = systemClock.wakeAt(systemClock.now() + Math.max(1, remainingMs()), () => {
      if (!due()) arm()
    })
  }
  arm()
  signal?.addEventListener('abort', due)
  return {
    get verdict() {
      return why
    },
    signal: over.signal,
    end,
    isDue: due,
    remainingMs,
    close,
  }
}

function reasonOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : textOf(reason)
}
