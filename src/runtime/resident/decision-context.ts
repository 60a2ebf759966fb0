/**
 * What a host knows at the moment of a decision about one of its threads, as data: definitions are asked here, before
 * the thread decides.
 */
import type { DecisionContext } from '../../../actors/thread/decide/decision.js'
import { needsImmediateCalls } from '../../../actors/thread/decide/due.js'
import type { DueContext } from '../../../actors/thread/decide/due.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { maxStepsNow, sessionRulesOf } from '../resolve/agent-setup.js'
import { immediateCallsOf } from '../resolve/immediate-children.js'
import type { HostSettings, Services } from '../services.js'

interface DecisionOptions {
  readonly services: Services
  readonly settings: HostSettings
}

/** For a command or a landing. */
export function decisionContext({ services, settings }: DecisionOptions, state: ThreadState): DecisionContext {
  return {
    now: services.clock.now(),
    quota: services.quota,
    ...(!state.turn && rulesOfTurn({ services, settings }, state)),
  }
}

/** What a turn that begins now is held to. */
function rulesOfTurn({ services, settings }: DecisionOptions, { agent }: ThreadState): Partial<DecisionContext> {
  const { maxWallClockMs, turnLimits } = settings
  const session = sessionRulesOf(services.app, agent)
  const rules = services.turnRules(agent)
  const traced = services.observing?.traced
  return defined({ maxWallClockMs, limits: turnLimits, session, rules, traced })
}

/** For what the state itself calls for. Immediate children are resolved only where they are next: values are sealed. */
export function dueContext({ services, settings }: DecisionOptions, state: ThreadState, mayBegin: boolean): DueContext {
  const variables = services.envs.needs(state)
  // Asked after every record: one object, with what this state may need and nothing else.
  const context: DueContext = {
    now: services.clock.now(),
    mayBegin,
    maxBegun: settings.maxParallelTools,
    ...(variables && { variables }),
    ...(state.queuedCalls.length > 0 && { maxSteps: maxStepsNow(services.app, state) }),
    ...(!state.turn && rulesOfTurn({ services, settings }, state)),
  }
  if (!needsImmediateCalls(state, context)) return context
  const immediateCalls = immediateCallsOf(services, state)
  return immediateCalls.length > 0 ? { ...context, immediateCalls } : context
}
