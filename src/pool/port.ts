/**
 * The pool port: where tool bodies run. Given a call, it gives an outcome; it never rejects.
 */
import type { Outcome } from '../core/effect.js'
import type { Json } from '../core/json.js'

export interface Job {
  readonly tool: string
  readonly args: Json
  readonly threadId: string
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

export interface Pool {
  run(job: Job): Promise<Outcome>
}
