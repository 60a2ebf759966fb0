/**
 * What a host knows at the moment of a decision about one of its threads, as data: definitions are asked here, before
 * the thread decides.
 */
import type { DecisionContext } from '../../../actors/thread/decide/decision.js'
import { needsImmediateCalls } from '../../../actors/thread/decide/due.js'
import type { DueContext } from '../../../actors/thread/decide/due.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { rulesOf } from '../resolve/agent-setup.js'
import { immediateCallsOf } from '../resolve/immediate-children.js'
import type { HostSettings, Services } from '../services.js'

interface DecisionOptions {
  readonly services: Services
  readonly settings: HostSettings
}

/** For a command or a landing. */
export function decisionContext({ services, settings }: DecisionOptions, state: ThreadState): DecisionContext {
  const { maxWallClockMs, turnLimits } = settings
  return {
    now: services.clock.now(),
    quota: services.quota,
    ...defined({ maxWallClockMs, limits: turnLimits }),
    ...rulesOf(services.app, state),
    ...(!state.turn && defined({ rules: services.turnRules(state.agent), traced: services.observing?.traced })),
  }
}

/** For what the state itself calls for. Immediate children are resolved only where they are next: values are sealed. */
export function dueContext({ services, settings }: DecisionOptions, state: ThreadState, mayBegin: boolean): DueContext {
  const { maxParallelTools, maxWallClockMs, turnLimits } = settings
  // Asked after every record: one object, and no copy of it.
  const context: DueContext = {
    now: services.clock.now(),
    mayBegin,
    maxBegun: maxParallelTools,
    ...defined({ maxWallClockMs, limits: turnLimits, variables: services.envs.needs(state) }),
    ...rulesOf(services.app, state),
    ...(!state.turn && defined({ rules: services.turnRules(state.agent), traced: services.observing?.traced })),
  }
  if (!needsImmediateCalls(state, context)) return context
  const immediateCalls = immediateCallsOf(services, state)
  return immediateCalls.length > 0 ? { ...context, immediateCalls } : context
}
