/**
 * With SKEIN_DEBUG=1 the operator is warned with what a body threw, and where. The thread has the same in its log
 * (workers/body/call-recorder.ts).
 *
 * - Every attempt is reported, also one that a retry mended, without the secrets of the thread.
 */
import { fromThrown, maskThrown } from '../core/thrown.js'
import type { Pool } from '../pool/port.js'
import { CallJob } from './effects/tool-job.js'
import type { Environments } from './secrets/environment.js'
import { isDebugging } from './handles/warn-process.js'

interface DebugServices {
  readonly envs: Environments
  readonly warn: (what: string, thrown: unknown) => void
}

/** The pool itself, unless SKEIN_DEBUG is set. */
export function debugged(pool: Pool, { envs, warn }: DebugServices): Pool {
  if (!isDebugging()) return pool
  return {
    ...pool,
    async run(job) {
      const returned = await pool.run(job)
      const { thrown } = returned
      if (!thrown) return returned
      const redactor = job instanceof CallJob ? envs.redactor(job.state) : undefined
      warn(`${job.tool} threw in thread ${job.threadId}`, fromThrown(redactor ? maskThrown(thrown, redactor) : thrown))
      return returned
    },
  }
}
