/**
 * `state.runCode`: runs code of a model or a user in an engine of its own, on another thread than the caller's.
 *
 * - A run never rejects: every failure is a status.
 * - Nothing of a run outlives its result: no timer, no listener, no engine. Its thread stays for the next run, for a
 *   while.
 */
import { textOf } from '../../src/core/json.js'
import type { CodeResult, RunCode } from '../../src/tools/code.js'
import { createRunEnd } from './run-end.js'
import { toJob } from './job.js'
import { GuestSession } from './session.js'
import { linkError, terminatedError } from './verdict.js'
import type { Verdict } from './verdict.js'

export interface RunCodeOptions {
  /** The signal of the call: its abort ends every run. */
  readonly signal?: AbortSignal
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6

export function createRunCode({ signal, now = monotonicMs }: RunCodeOptions = {}): RunCode {
  return (source, options) => {
    const startedAt = now()
    const job = toJob(source, options)
    const runEnd = createRunEnd({ timeoutMs: 'bad' in job ? 0 : job.timeoutMs, now, signal })
    const session =
      'bad' in job ? { logs: [], reports: [], verdict: async () => linkError(job.bad) } : new GuestSession(job, runEnd)
    const result = session
      .verdict()
      .catch(unforeseen)
      .then((verdict): CodeResult => {
        runEnd.close()
        return { ...verdict, logs: session.logs, reports: session.reports, durationMs: now() - startedAt }
      })
    return Object.assign(result, {
      terminate: (reason = 'the run was terminated') => runEnd.end(terminatedError(reason)),
    })
  }
}

function unforeseen(thrown: unknown): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: `the sandbox failed: ${textOf(thrown)}` } }
}
