/**
 * Retries a tool after a failure, as its definition says (T6). Only the last outcome reaches the thread; waits end with
 * the call.
 */
import type { RetryPolicy } from '../../agent/define.js'
import { createCancel } from '../../core/async/cancel.js'
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { fromFailure, toFailure } from '../../core/failure.js'
import type { Failure, FailureCode } from '../../core/failure.js'
import { fromThrown } from '../../core/thrown.js'
import type { Thrown } from '../../core/thrown.js'
import type { Pool, Returned } from '../../pool/port.js'
import { retriesOf } from '../resolve/tool-calls.js'
import type { CallJob } from './tool-job.js'

/** Failures that a retry cannot mend, or must not. */
const final: ReadonlySet<FailureCode> = new Set([
  'CANCELLED',
  'UNKNOWN_TOOL',
  'TOOL_INPUT_INVALID',
  'TOOL_NOT_ALLOWED',
  'ENV_MISSING',
])
const noCodes: ReadonlySet<FailureCode> = new Set()

interface RetryServices {
  readonly pool: Pool
  readonly clock: Clock
}

/** `never`: failures that are not retried, besides those that are final for any call. */
export function withToolRetries(services: RetryServices, job: CallJob, never = noCodes): Promise<Returned> {
  const policy = job.definition?.retry
  return policy && retriesOf(policy) > 0 ? tryAgain(services, job, { policy, never }) : services.pool.run(job)
}

async function tryAgain(
  services: RetryServices,
  job: CallJob,
  { policy, never }: { readonly policy: RetryPolicy; readonly never: ReadonlySet<FailureCode> },
): Promise<Returned> {
  let delayMs = policy.backoffMs ?? 0
  for (let retries = 0; ; retries++) {
    job.meter.tries = retries + 1
    const returned = await tryOnce(services, job)
    const { outcome } = returned
    if (
      outcome.ok ||
      retries >= retriesOf(policy) ||
      job.cancel.reason ||
      never.has(outcome.failure.code) ||
      !isRetried(policy, outcome.failure, returned.thrown)
    )
      return returned
    if (delayMs > 0) await job.meter.waitFor(pauseBeforeRetry(services.clock, delayMs, job.cancel))
    if (job.cancel.reason) return { outcome: { ok: false, failure: toFailure(job.cancel.reason, 'CANCELLED') } }
    delayMs *= 2
  }
}

/** With a cancel of its own: a time-out ends the try, not the call. */
async function tryOnce({ pool }: RetryServices, job: CallJob): Promise<Returned> {
  const cancel = createCancel()
  const unsubscribe = job.cancel.onAbort((reason) => cancel.abort(reason))
  try {
    return await pool.run(job.trying(cancel))
  } finally {
    unsubscribe()
  }
}

function isRetried({ shouldRetry }: RetryPolicy, failed: Failure, thrown: Thrown | undefined): boolean {
  if (final.has(failed.code)) return false
  try {
    return shouldRetry?.(thrown ? fromThrown(thrown) : fromFailure(failed)) ?? true
  } catch {
    return false // `shouldRetry` itself is broken: the failure of the tool is the result
  }
}

/** Resolves after `delayMs`, or when the call is cancelled. */
export function pauseBeforeRetry(clock: Clock, delayMs: number, cancel: Cancel): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop()
      unsubscribe()
      resolve()
    }
    let unsubscribe: () => void = () => undefined
    const stop = clock.wakeAt(clock.now() + delayMs, end)
    unsubscribe = cancel.onAbort(end)
  })
}
