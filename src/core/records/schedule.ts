/**
 * Calls that are to be made later. A thread has them in one of its values, a list in the order of their time, so that
 * what a body sees of them is compared at its turn like every other value.
 *
 * - Times are absolute: a restart, a pause and a move to another host change nothing about them.
 * - An id is never used twice in its thread: removing one that is gone changes nothing.
 */
import { isObject } from '../json.js'
import type { Json } from '../json.js'

export type Scheduled = {
  readonly id: string
  readonly tool: string
  readonly args: Json
  /** Not before this instant. */
  readonly at: number
}

export type ScheduleChange = ({ readonly op: 'add' } & Scheduled) | { readonly op: 'remove'; readonly id: string }

/** The key of the value that holds them. */
export const schedulesKey = 'schedules'

/** A hundred years: what is longer is a mistake in the unit. */
export const longestDelayMs = 100 * 365 * 24 * 60 * 60 * 1000

export function schedulesIn(value: Json | undefined): readonly Scheduled[] {
  return Array.isArray(value) ? value.filter(isScheduled) : []
}

/** The earliest. */
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

/** The list after the changes; undefined when none is left. */
export function applySchedules(value: Json | undefined, changes: readonly ScheduleChange[]): Scheduled[] | undefined {
  const list = [...schedulesIn(value)]
  for (const change of changes) {
    const known = list.findIndex(({ id }) => id === change.id)
    if (known >= 0) list.splice(known, 1)
    if (change.op === 'remove') continue
    const { id, tool, args, at } = change
    // Of two for one instant, the one that was asked for first is first.
    const later = list.findIndex((other) => other.at > at)
    list.splice(later < 0 ? list.length : later, 0, { id, tool, args, at })
  }
  return list.length > 0 ? list : undefined
}
