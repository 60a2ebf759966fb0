/**
 * Variables of a thread in its fold.
 *
 * VE1 The calls of one step see the same values: a change counts from the next step on.
 */
import { changedEnv } from '../../src/core/env.js'
import type { Env } from '../../src/core/env.js'
import type { EnvChanged } from '../../src/core/record.js'
import type { ThreadState } from './state.js'

export function changeEnv(state: ThreadState, record: EnvChanged): boolean {
  if (state.slots.open > 0) state.envOfStep ??= state.env
  state.env = changedEnv(state.env, record)
  return true
}

/** VE1: what a call of the step sees. */
export function envOfStep({ env, envOfStep: before }: ThreadState): Env {
  return before ?? env
}
