/**
 * With SKEIN_DEBUG=1 the operator is told what a body threw, and where. Its thread has that in its log
 * (workers/body/call-recorder.ts); this is for whoever watches the host.
 *
 * - Told is what every try threw, also one that was followed by a better one, without the secrets of the thread.
 */
import { fromThrown, maskThrown } from '../core/thrown.js'
import type { Pool } from '../pool/port.js'
import { CallJob } from './effects/tool-job.js'
import type { Environments } from './secrets/environment.js'

interface Debugging {
  readonly envs: Environments
  readonly warn: (what: string, thrown: unknown) => void
}

function isDebugging(): boolean {
  return process.env['SKEIN_DEBUG'] === '1'
}

/** The pool itself, unless somebody looks for the place. */
export function debugged(pool: Pool, { envs, warn }: Debugging): Pool {
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

/** Where nobody listens. */
export function warnProcess(what: string, thrown: unknown): void {
  const words = thrown instanceof Error ? (isDebugging() && thrown.stack) || thrown.message : undefined
  process.emitWarning(words === undefined ? what : `${what}: ${words}`, 'SkeinWarning')
}
