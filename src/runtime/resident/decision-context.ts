/** What a host knows at the moment of a decision about one of its threads. */
import type { Moment } from '../../../actors/thread/decide/commands.js'
import { hasSpoken } from '../../../actors/thread/turn/session.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { Means } from '../effects/model-call.js'
import { immediateOf } from '../resolve/immediate-children.js'
import { rulesOf } from '../resolve/model-request.js'

export interface MomentOptions {
  readonly means: Means
  readonly maxParallelTools: number
  readonly maxWallClockMs?: number
  readonly turnLimits?: NonNullable<Moment['limits']>
}

export function momentOf(
  { means, maxParallelTools, maxWallClockMs, turnLimits }: MomentOptions,
  state: ThreadState,
  mayBegin: boolean,
): Moment {
  const needs = means.envs.needs(state)
  const immediate = state.turn && !hasSpoken(state) ? immediateOf(means, state) : undefined
  return {
    now: means.clock.now(),
    mayBegin,
    maxBegun: maxParallelTools,
    ...defined({ maxWallClockMs, limits: turnLimits }),
    ...rulesOf(means.app, state),
    ...defined({ needs, immediate }),
  }
}
