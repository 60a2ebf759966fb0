/**
 * How long an effect took, as its record says it: what it waited for (a rate limit, a worker, its turn) apart from what
 * it did. A fact of the host that ran it; no decision reads it.
 */
export interface Took {
  /** In line, before it ran or between attempts. Absent: less than 1 ms. */
  readonly waitedMs?: number
  readonly ranMs: number
  /** Absent: one. */
  readonly attempts?: number
}

/** Undefined where there is nothing to say: less than 1 ms, and one attempt. */
export function tookOf(elapsedMs: number, waitedMs: number, attempts: number): Took | undefined {
  const waited = Math.max(0, Math.round(waitedMs))
  const ranMs = Math.max(0, Math.round(elapsedMs - waited))
  if (waited === 0 && ranMs === 0 && attempts <= 1) return undefined
  if (waited === 0 && attempts <= 1) return { ranMs }
  return { ...(waited > 0 && { waitedMs: waited }), ranMs, ...(attempts > 1 && { attempts }) }
}

export function totalMs({ waitedMs = 0, ranMs }: Took): number {
  return waitedMs + ranMs
}
