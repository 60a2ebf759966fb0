/**
 * Scheduled calls: their time is awaited like any deadline, and when it comes the call is recorded as its tool is
 * defined then, not as it was when it was scheduled.
 *
 * - A call whose tool is gone by then, or takes other args, is made all the same: what it reads is its error (P3).
 */
import type { ScheduleEffect } from '../../core/effect.js'
import { recordCall } from '../resolve/tool-calls.js'
import type { Services, EffectOwner } from './model-call.js'
import type { RunningEffect } from '../resident/reconcile.js'

export function awaitSchedule(means: Services, wanting: EffectOwner, { scheduled }: ScheduleEffect): RunningEffect {
  const { id, tool, args, at } = scheduled
  const queue = async (): Promise<void> => {
    const call = await recordCall(
      means,
      { threadId: wanting.state.id, allowed: new Set(means.app.tools.keys()) },
      { tool, args },
    )
    wanting.land({ kind: 'scheduled', id, call })
  }
  return { abort: means.clock.wakeAt(at, () => void queue()) }
}
