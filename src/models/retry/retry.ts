/**
 * A model with retries. They are independent of the retries of a tool (T6) and are not recorded in the journal.
 *
 * - Only a failure with `retry: true` is retried, at most `maxRetries` times; an idle time-out once, a total time-out
 *   never: the caller has waited long enough.
 * - The wait is drawn from [0, base × 2ⁿ), capped, so that many threads do not come back together; the wait that the
 *   provider asked for is added and never shortened. A call whose provider asks for more than five minutes is given up
 *   at once.
 * - `restarted` is called before each further attempt; deltas of an ended attempt are dropped.
 * - A rate limit, or a wait that the provider asks for, concerns all calls: it closes the gate of the model
 *   (rate-limit/gate.ts), and the call waits there with all others. Waiting does not count as an attempt.
 */
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { isSkeinError, SkeinError } from '../../core/failure.js'
import { abortableSleep } from './abort.js'
import { ModelAttempt } from './attempt.js'
import { defaultMaxRetries, RateLimitGate, longestAskedWaitMs } from '../rate-limit/gate.js'
import type { GatePass } from '../rate-limit/gate.js'
import type { Model, ModelCallOptions, ModelReply, ModelRequest } from '../port.js'

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
  readonly random: Random
  readonly maxRetries?: number
  readonly baseMs?: number
  readonly capMs?: number
  /** Shared by all calls of the model. Default: one of its own. */
  readonly gate?: RateLimitGate
  /** Called before each wait. */
  readonly retrying?: (info: RetryInfo) => void
}

export function withRetries(model: Model, options: RetryOptions): Model {
  const gated: Gated = { ...options, gate: options.gate ?? new RateLimitGate(model.name, options) }
  return { name: model.name, call: (request, call) => attemptAll(model, gated, { request, call }) }
}

type Gated = RetryOptions & { readonly gate: RateLimitGate }

interface RetriedCall {
  readonly request: ModelRequest
  readonly call: ModelCallOptions
}

async function attemptAll(model: Model, options: Gated, { request, call }: RetriedCall): Promise<ModelReply> {
  const { gate, clock } = options
  const ticket = gate.ticket()
  let idleTimeouts = 0
  for (let attempt = 1; ; attempt++) {
    const pass = gate.free
      ? gate.begin()
      : await gate.enter({
          thread: request.thread,
          ticket,
          signal: call.signal,
          waiting: (wait) => call.waiting?.(wait),
        })
    if (attempt > 1) call.restarted?.()
    const own = new ModelAttempt(call, pass && ((): void => gate.letIn(pass)))
    let pauseMs = 0
    try {
      const reply = await model.call(request, own)
      gate.letIn(pass)
      return reply
    } catch (thrown) {
      own.end()
      if (call.signal.aborted) throw call.signal.reason
      if (!isSkeinError(thrown) || !thrown.retry) throw thrown
      const timeout = thrown.data?.['timeout']
      if (timeout === 'total' || (timeout === 'idle' && ++idleTimeouts > 1)) throw givenUp(thrown, attempt)
      pauseMs = afterFailure(options, { model: model.name, thread: request.thread, attempt, error: thrown }, pass)
    } finally {
      gate.end(pass)
    }
    if (pauseMs > 0) await abortableSleep(pauseMs, clock, call.signal)
  }
}

/** How long the call itself waits (0: the gate makes it wait); throws when it is given up. */
function afterFailure(options: Gated, failed: Omit<RetryInfo, 'waitMs'>, pass: GatePass | undefined): number {
  const { gate, maxRetries = defaultMaxRetries, retrying } = options
  const { attempt, error } = failed
  const askedMs = askedWait(error)
  const limited = error.code === 'MODEL_RATE_LIMITED' || askedMs > 0
  const waitMs = limited ? gate.limited(askedMs, pass) : jitter(attempt, options)
  if (attempt > maxRetries || waitMs === undefined || askedMs > longestAskedWaitMs) throw givenUp(error, attempt)
  retrying?.({ ...failed, waitMs })
  return limited ? 0 : waitMs
}

function jitter(attempt: number, { baseMs = 500, capMs = 30_000, random }: RetryOptions): number {
  return Math.floor(random.fraction() * Math.min(capMs, baseMs * 2 ** (attempt - 1)))
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
    ...defined({ cause: error.cause }),
  })
}
