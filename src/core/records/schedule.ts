/**
 * Scheduled calls. They are a value of the thread, a list in the order of time, so that a read of them is validated
 * like a read of any other value.
 *
 * - Times are absolute: a restart, a pause and a move to another host do not change them.
 * - An id is never reused in its thread: removing a schedule twice changes nothing.
 */
import { SkeinError } from '../failure.js'
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

/** When a scheduled call is made: after a delay, or at a time in milliseconds since 1970. One of both. */
export type ScheduleTime =
  | { readonly delayMs: number; readonly at?: undefined }
  | { readonly at: number; readonly delayMs?: undefined }

/** A hundred years: what is longer is a mistake in the unit. */
const longestDelayMs = 100 * 365 * 24 * 60 * 60 * 1000

/** The instant of a schedule; a time that has passed is at once. */
export function scheduledAt(time: ScheduleTime, now: number): number {
  const options: Partial<Record<'delayMs' | 'at', unknown>> = isObject(time) ? time : {}
  const { delayMs, at, ...others } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined || (delayMs === undefined) === (at === undefined))
    throw new SkeinError(
      'BAD_OPTION',
      `schedule takes { delayMs } or { at }, one of them and nothing else; it was given ` +
        `{ ${Object.keys(options).join(', ')} }`,
    )
  const delay = typeof at === 'number' ? Math.max(0, at - now) : delayMs
  if (typeof delay === 'number' && delay >= 0 && delay <= longestDelayMs) return Math.ceil(now + delay)
  throw new SkeinError(
    'BAD_OPTION',
    `schedule takes a delay in milliseconds from 0 to ${longestDelayMs} (a hundred years), or a time no later than ` +
      `that; it was given ${String(delayMs ?? at)}`,
  )
}

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
