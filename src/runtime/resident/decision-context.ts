/**
 * What a host knows at the moment of a decision about one of its threads, as data: definitions are asked here, before
 * the thread decides.
 */
import type { DecisionContext } from '../../../actors/thread/decide/decision.js'
import { needsImmediateCalls } from '../../../actors/thread/decide/due.js'
import type { DueContext } from '../../../actors/thread/decide/due.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { Services } from '../effects/model-call.js'
import { immediateCallsOf } from '../resolve/immediate-children.js'
import { rulesOf } from '../resolve/model-request.js'

export interface DecisionOptions {
  readonly means: Services
  readonly maxParallelTools: number
  readonly maxWallClockMs?: number
  readonly turnLimits?: NonNullable<DecisionContext['limits']>
}

/** For a command or a landing. */
export function decisionContext(
  { means, maxWallClockMs, turnLimits }: DecisionOptions,
  state: ThreadState,
): DecisionContext {
  return {
    now: means.clock.now(),
    quota: means.quota,
    ...defined({ maxWallClockMs, limits: turnLimits }),
    ...rulesOf(means.app, state),
  }
}

/** For what the state itself calls for. Immediate children are resolved only where they are next: values are sealed. */
export function dueContext(options: DecisionOptions, state: ThreadState, mayBegin: boolean): DueContext {
  const { means, maxParallelTools, maxWallClockMs, turnLimits } = options
  // Asked after every record: one object, and no copy of it.
  const context: DueContext = {
    now: means.clock.now(),
    mayBegin,
    maxBegun: maxParallelTools,
    ...defined({ maxWallClockMs, limits: turnLimits, variables: means.envs.needs(state) }),
    ...rulesOf(means.app, state),
  }
  return needsImmediateCalls(state, context) ? { ...context, immediateCalls: immediateCallsOf(means, state) } : context
}
