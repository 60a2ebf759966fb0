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
import { attempted, ModelAttempt } from './attempt.js'
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
  return { name: model.name, call: (request, call) => new RetriedCall(model, gated, { request, call }).attempt() }
}

type Gated = RetryOptions & { readonly gate: RateLimitGate }

/** A class and no async function: thousands may wait for their answers at once, most of them in their first attempt. */
class RetriedCall {
  readonly #model: Model
  readonly #options: Gated
  readonly #request: ModelRequest
  readonly #call: ModelCallOptions
  readonly #ticket: number
  #attempts = 0
  #idleTimeouts = 0

  constructor(
    model: Model,
    options: Gated,
    { request, call }: { readonly request: ModelRequest; readonly call: ModelCallOptions },
  ) {
    this.#model = model
    this.#options = options
    this.#request = request
    this.#call = call
    this.#ticket = options.gate.ticket()
  }

  attempt(): Promise<ModelReply> {
    const { gate } = this.#options
    if (gate.free) return this.#ask(gate.begin())
    const call = this.#call
    const { thread } = this.#request
    return gate
      .enter({ thread, ticket: this.#ticket, signal: call.signal, waiting: (wait) => call.waiting?.(wait) })
      .then((pass) => this.#ask(pass))
  }

  #ask(pass: GatePass | undefined): Promise<ModelReply> {
    const { gate } = this.#options
    if (++this.#attempts > 1) this.#call.restarted?.()
    const own = new ModelAttempt(this.#call, pass && ((): void => gate.letIn(pass)))
    return attempted(this.#model, this.#request, own).then(
      (reply) => {
        gate.letIn(pass)
        gate.end(pass)
        return reply
      },
      (thrown: unknown) => {
        own.end()
        return this.#tryAgain(thrown, pass)
      },
    )
  }

  async #tryAgain(thrown: unknown, pass: GatePass | undefined): Promise<ModelReply> {
    const { gate, clock } = this.#options
    const { signal } = this.#call
    let pauseMs = 0
    try {
      if (signal.aborted) throw signal.reason
      if (!isSkeinError(thrown) || !thrown.retry) throw thrown
      pauseMs = this.#pauseAfter(thrown, pass)
    } finally {
      gate.end(pass)
    }
    if (pauseMs > 0) await abortableSleep(pauseMs, clock, signal)
    return this.attempt()
  }

  /** How long the call itself waits (0: the gate makes it wait); throws when it is given up. */
  #pauseAfter(error: SkeinError, pass: GatePass | undefined): number {
    const { gate, maxRetries = defaultMaxRetries, retrying } = this.#options
    const attempt = this.#attempts
    const timeout = error.data?.['timeout']
    if (timeout === 'total' || (timeout === 'idle' && ++this.#idleTimeouts > 1)) throw givenUp(error, attempt)
    const askedMs = askedWait(error)
    const limited = error.code === 'MODEL_RATE_LIMITED' || askedMs > 0
    const waitMs = limited ? gate.limited(askedMs, pass) : jitter(attempt, this.#options)
    if (attempt > maxRetries || waitMs === undefined || askedMs > longestAskedWaitMs) throw givenUp(error, attempt)
    retrying?.({ model: this.#model.name, thread: this.#request.thread, attempt, error, waitMs })
    return limited ? 0 : waitMs
  }
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
