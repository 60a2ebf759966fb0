/**
 * Calls that a body schedules, as one call sees and changes them. They count when the call does.
 *
 * - Ids are made of the call's idempotency key: a call that runs again schedules the same, once.
 */
import type { Clock } from '../../src/core/clock.js'
import type { Json } from '../../src/core/json.js'
import { applySchedules, scheduledAt, schedulesKey } from '../../src/core/records/schedule.js'
import type { ScheduleChange, ScheduleTime, Scheduled } from '../../src/core/records/schedule.js'
import type { Values } from './values.js'

export interface Schedules {
  add(tool: string, args: Json, time: ScheduleTime): string
  list(): Promise<readonly Scheduled[]>
  remove(id: string): Promise<boolean>
  done(): readonly ScheduleChange[]
}

export function createSchedules(values: Values, clock: Clock, idempotencyKey: string): Schedules {
  const changes: ScheduleChange[] = []
  let added = 0
  const list = async (): Promise<readonly Scheduled[]> => applySchedules(await values.read(schedulesKey), changes) ?? []
  return {
    add(tool, args, time) {
      const at = scheduledAt(time, clock.now())
      const id = `${idempotencyKey.slice(0, 20)}.${added++}`
      changes.push({ op: 'add', id, tool, args, at })
      return id
    },
    list,
    async remove(id) {
      if (!(await list()).some((known) => known.id === id)) return false
      changes.push({ op: 'remove', id })
      return true
    },
    done: () => changes,
  }
}
