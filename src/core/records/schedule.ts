/**
 * Scheduled calls. They are a value of the thread, a list in the order of time, so that a read of them is validated
 * like a read of any other value.
 *
 * - Times are absolute: a restart, a pause and a move to another host do not change them.
 * - An id is never reused in its thread: removing a schedule twice changes nothing.
 */
import { isObject } from '../json.js'
import type { Json } from '../json.js'

export type Scheduled = {
  readonly id: string
  readonly tool: string
  readonly args: Json
  /** The earliest time of the call. */
  readonly at: number
}

export type ScheduleChange = ({ readonly op: 'add' } & Scheduled) | { readonly op: 'remove'; readonly id: string }

/** The key of the value that holds the list. */
export const schedulesKey = 'schedules'

/** A hundred years: a longer delay is a mistake in the unit. */
export const longestDelayMs = 100 * 365 * 24 * 60 * 60 * 1000

export function schedulesIn(value: Json | undefined): readonly Scheduled[] {
  return Array.isArray(value) ? value.filter(isScheduled) : []
}

/** The schedule with the earliest time. */
export function firstSchedule(value: Json | undefined): Scheduled | undefined {
  const first = Array.isArray(value) ? value[0] : undefined
  return first !== undefined && isScheduled(first) ? first : undefined
}

function isScheduled(value: Json): value is Scheduled {
  return (
    isObject(value) &&
    typeof value['id'] === 'string' &&
    typeof value['tool'] === 'string' &&
    typeof value['at'] === 'number' &&
    value['args'] !== undefined
  )
}

/** The list after the changes; undefined if it is empty. */
export function applySchedules(value: Json | undefined, changes: readonly ScheduleChange[]): Scheduled[] | undefined {
  const list = [...schedulesIn(value)]
  for (const change of changes) {
    const known = list.findIndex(({ id }) => id === change.id)
    if (known >= 0) list.splice(known, 1)
    if (change.op === 'remove') continue
    const { id, tool, args, at } = change
    // Equal times stay in the order of their creation.
    const later = list.findIndex((other) => other.at > at)
    list.splice(later < 0 ? list.length : later, 0, { id, tool, args, at })
  }
  return list.length > 0 ? list : undefined
}
