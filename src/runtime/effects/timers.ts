/**
 * Timers: effects that wait for an instant. A deadline tells its thread that time is up. A schedule queues a call,
 * which is recorded as its tool is defined then, not as it was when it was scheduled.
 *
 * - A scheduled call whose tool is gone by then, or takes other args, is made all the same: its result is an error
 *   (P3).
 */
import type { DeadlineEffect, ScheduleEffect } from '../../core/effect.js'
import { recordOutsideCall } from '../resolve/hooked-calls.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'

export function awaitDeadline({ clock }: Services, owner: EffectOwner, { at, key }: DeadlineEffect): RunningEffect {
  return { abort: clock.wakeAt(at, () => owner.land({ kind: 'deadline', key })) }
}

export function awaitSchedule(
  services: Services,
  owner: EffectOwner,
  { scheduled, key }: ScheduleEffect,
): RunningEffect {
  const { id, tool, args, at } = scheduled
  const queue = async (): Promise<void> => {
    const { state } = owner
    const allowed = new Set(services.app.tools.keys())
    const call = await recordOutsideCall(services, { state, key, by: 'schedule', allowed }, { tool, args })
    owner.land({ kind: 'scheduled', id, call })
  }
  return { abort: services.clock.wakeAt(at, () => void queue()) }
}
