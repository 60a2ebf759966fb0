/** What a host knows at the moment of a decision about one of its threads. */
import type { DecisionContext } from '../../../actors/thread/decide/commands.js'
import { hasSpoken } from '../../../actors/thread/turn/session.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { Services } from '../effects/model-call.js'
import { rulesOf } from '../resolve/agent-setup.js'
import { immediateOf } from '../resolve/immediate-children.js'

export interface DecisionOptions {
  readonly means: Services
  readonly maxParallelTools: number
  readonly maxWallClockMs?: number
  readonly turnLimits?: NonNullable<DecisionContext['limits']>
}

export function decisionContext(
  { means, maxParallelTools, maxWallClockMs, turnLimits }: DecisionOptions,
  state: ThreadState,
  mayBegin: boolean,
): DecisionContext {
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
