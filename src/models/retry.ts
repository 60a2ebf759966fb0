/**
 * A model that tries again. Provider retries are their own thing (T6): they do not touch a tool's retries
 * and are not seen by the thread's journal.
 *
 * RY1 Only a failure that says `retry: true` is tried again, at most `maxRetries` times.
 * RY2 The wait is drawn from [0, base × 2ⁿ), capped, so that many threads do not come back together; what
 *     the provider asked for comes on top, and is never shortened. A provider that asks for more than five
 *     minutes is given up at once: the turn should fail while someone still waits for it.
 * RY3 Before each new attempt `restarted` is called; deltas of an attempt that is over are dropped.
 * RY4 An abort ends a wait at once and leaves no wake-up behind.
 */
import type { Chance, Clock } from '../core/clock.js'
import { isSkeinError, SkeinError } from '../core/failure.js'
import { pause } from './abortable.js'
import { attemptOptions } from './attempt.js'
import type { Model, ModelCallOptions, ModelReply, ModelRequest } from './port.js'

export interface RetryInfo {
  readonly model: string
  readonly thread: string
  /** The attempt that failed, from 1. */
  readonly attempt: number
  readonly waitMs: number
  readonly error: SkeinError
}

export interface RetryOptions {
  readonly clock: Clock
  readonly chance: Chance
  readonly maxRetries?: number
  readonly baseMs?: number
  readonly capMs?: number
  /** Told just before each wait. */
  readonly retrying?: (info: RetryInfo) => void
}

const longestAskedWaitMs = 5 * 60_000

export function withRetries(model: Model, options: RetryOptions): Model {
  return { name: model.name, call: (request, call) => attemptAll(model, options, { request, call }) }
}

interface Asked {
  readonly request: ModelRequest
  readonly call: ModelCallOptions
}

async function attemptAll(model: Model, options: RetryOptions, { request, call }: Asked): Promise<ModelReply> {
  const { maxRetries = 4, clock, retrying } = options
  for (let attempt = 1; ; attempt++) {
    const { options: own, end } = attemptOptions(call)
    try {
      return await model.call(request, own)
    } catch (thrown) {
      end()
      if (call.signal.aborted) throw call.signal.reason
      if (!isSkeinError(thrown) || !thrown.retry) throw thrown
      const askedMs = askedWait(thrown)
      if (attempt > maxRetries || askedMs > longestAskedWaitMs) throw givenUp(thrown, attempt)
      const waitMs = askedMs + jitter(attempt, options)
      retrying?.({ model: model.name, thread: request.thread, attempt, waitMs, error: thrown })
      if (waitMs > 0) await pause(waitMs, clock, call.signal)
      call.restarted?.()
    }
  }
}

function jitter(attempt: number, { baseMs = 500, capMs = 30_000, chance }: RetryOptions): number {
  return Math.floor(chance.fraction() * Math.min(capMs, baseMs * 2 ** (attempt - 1)))
}

function askedWait(error: SkeinError): number {
  const askedMs = error.data?.['retryAfterMs']
  return typeof askedMs === 'number' && askedMs > 0 ? askedMs : 0
}

function givenUp(error: SkeinError, attempts: number): SkeinError {
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  return new SkeinError(error.code, `${error.message}; gave up after ${tries}`, {
    retry: error.retry,
    data: { ...error.data, attempts },
    ...(error.cause !== undefined && { cause: error.cause }),
  })
}
