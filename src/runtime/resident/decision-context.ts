/** What a host knows at the moment of a decision about one of its threads. */
import type { DecisionContext } from '../../../actors/thread/decide/commands.js'
import { hasSpoken } from '../../../actors/thread/turn/session.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { immediateOf } from '../resolve/immediate-children.js'
import { rulesOf } from '../resolve/agent-setup.js'
import type { Services, HostSettings } from '../services.js'

export function decisionContext(
  { services, settings }: { readonly services: Services; readonly settings: HostSettings },
  state: ThreadState,
  mayBegin: boolean,
): DecisionContext {
  const needs = services.envs.needs(state)
  const immediate = state.turn && !hasSpoken(state) ? immediateOf(services, state) : undefined
  return {
    now: services.clock.now(),
    mayBegin,
    maxBegun: settings.maxParallelTools,
    ...defined({ maxWallClockMs: settings.maxWallClockMs, limits: settings.turnLimits }),
    ...rulesOf(services.app, state),
    ...defined({ needs, immediate }),
  }
}
