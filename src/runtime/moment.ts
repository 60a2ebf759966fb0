/** What a host knows at the moment of a decision about one of its threads. */
import type { Moment } from '../../actors/thread/commands.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Means } from './effects.js'
import { maxStepsOf } from './request.js'

export interface MomentOptions {
  readonly means: Means
  readonly maxParallelTools: number
  readonly maxWallClockMs?: number
  readonly turnLimits?: NonNullable<Moment['limits']>
}

export function momentOf({ means, maxParallelTools, maxWallClockMs, turnLimits }: MomentOptions, state: ThreadState, mayBegin: boolean): Moment {
  const maxSteps = state.queuedCalls.length > 0 ? maxStepsOf(means.app.agents.get(state.agent)) : undefined
  const needs = means.envs.needs(state)
  return { now: means.clock.now(), mayBegin, maxBegun: maxParallelTools, ...(maxWallClockMs !== undefined && { maxWallClockMs }), ...(turnLimits && { limits: turnLimits }), ...(maxSteps !== undefined && { maxSteps }), ...(needs && { needs }) }
}
