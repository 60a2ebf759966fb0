/**
 * The pool port: where tool bodies run. Given a call, it gives an outcome; it never rejects.
 */
import type { Cancel } from '../core/cancel.js'
import type { Outcome } from '../core/effect.js'
import type { Json } from '../core/json.js'

export interface Job {
  readonly tool: string
  readonly args: Json
  readonly threadId: string
  readonly idempotencyKey: string
  readonly cancel: Cancel
  /** Run the tool's `probe` instead of its body. */
  readonly probe?: true
}

export interface Pool {
  run(job: Job): Promise<Outcome>
  close(): Promise<void>
}
