/**
 * What the handles on threads are made with, and the answer that all of them share: that a thread is not there.
 */
import type { Backend } from '../../backend/port.js'
import { activeTrace } from '../../core/trace/active-trace.js'
import type { Clock, Random } from '../../core/clock.js'
import { SkeinError } from '../../core/failure.js'
import { readTrace } from '../../core/trace/trace.js'
import type { Secrets } from '../secrets/secrets.js'
import type { SharedDirectory } from '../watch/directory/directory.js'

export interface ThreadServices {
  readonly backend: Backend
  readonly clock: Clock
  readonly random: Random
  /** Aborted when the skein or the client is closed. */
  readonly closed: AbortSignal
  readonly secrets: Secrets
  readonly directory: SharedDirectory
  /** Told of a message that was refused and that nobody awaits. */
  readonly warn: (what: string, thrown: unknown) => void
  /** Messages carry the trace of the active span. */
  readonly traces?: boolean
}

/** The trace that a message sent now is part of: the active span's, else the one that came in, if that is one. */
export function traceOfSender({ traces }: ThreadServices, incoming?: string | null): string | undefined {
  if (!traces) return undefined
  return activeTrace() ?? (readTrace(incoming)?.parent === undefined ? undefined : (incoming ?? undefined))
}

export function threadMissing(id: string): never {
  throw new SkeinError('UNKNOWN_THREAD', `there is no thread ${JSON.stringify(id)} in this store`, {
    data: { thread: id },
  })
}
