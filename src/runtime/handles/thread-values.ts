/**
 * A thread's values from outside its calls: its key-value store and its scheduled calls. Read as they are now,
 * changed by a command, so that every change is a record among the thread's own.
 *
 * - A change is durable when its promise resolves, and this handle reads it from then on.
 * - A change applies at once, also while a step runs: a call that has read the value and may run again does so (T3).
 */
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { entriesOf, kvSpace } from '../../core/records/change.js'
import type { Changes } from '../../core/records/change.js'
import type { Command } from '../../core/records/command.js'
import type { Json } from '../../core/json.js'
import { scheduledAt, schedulesIn, schedulesKey } from '../../core/records/schedule.js'
import type { ScheduleTime, Scheduled } from '../../core/records/schedule.js'

import { plainJson } from './inbox.js'
import { sendCommand } from './send-command.js'
import type { ThreadServices } from './services.js'
import type { StateWaker } from '../journal/wake.js'

/** A thread's key-value store: what its tools see as `state.kv`. */
export interface ThreadValues {
  get(key: string): Promise<Json | undefined>
  set(key: string, value: unknown): Promise<void>
  delete(key: string): Promise<void>
  /** In order of their keys; all of them, or those that begin with `prefix`. */
  list(prefix?: string): Promise<readonly { readonly key: string; readonly value: Json }[]>
}

export function createThreadValues(services: ThreadServices, thread: string, waker: StateWaker): ThreadValues {
  const write = (key: string, value?: Json): Promise<void> =>
    change(services, { thread, waker }, { values: [{ key: kvSpace + checkKey(key), ...defined({ value }) }] })
  return {
    get: async (key) =>
      waker.look(({ values }) =>
        Object.hasOwn(values, kvSpace + checkKey(key)) ? values[kvSpace + key]?.value : undefined,
      ),
    async set(key, value) {
      if (value === undefined)
        throw new SkeinError(
          'BAD_OPTION',
          `kv.set(${JSON.stringify(key)}) was given no value; use kv.delete to remove one`,
        )
      await write(key, plainJson(value))
    },
    delete: (key) => write(key),
    list: (prefix = '') => waker.look(({ values }) => entriesOf(values, prefix)),
  }
}

export interface ThreadSchedules {
  /** Has a tool called at a later time, once, whatever happens in between; gives the id of the schedule. */
  schedule(name: string, args: unknown, time: ScheduleTime): Promise<string>
  /** What is scheduled, in order of time. */
  schedules(): Promise<readonly Scheduled[]>
  /** False when its call was queued already, or it was taken back before. */
  unschedule(id: string): Promise<boolean>
}

export function createThreadSchedules(services: ThreadServices, thread: string, waker: StateWaker): ThreadSchedules {
  const { clock, random } = services
  return {
    async schedule(name, args, time) {
      const at = scheduledAt(time, clock.now())
      const id = random.id()
      await change(
        services,
        { thread, waker },
        { schedules: [{ op: 'add', id, tool: name, args: plainJson(args ?? {}), at }] },
      )
      return id
    },
    schedules: () => waker.look(({ values }) => schedulesIn(values[schedulesKey]?.value)),
    async unschedule(id) {
      try {
        await change(services, { thread, waker }, { schedules: [{ op: 'remove', id }] })
        return true
      } catch (thrown) {
        if (SkeinError.is(thrown, 'COMMAND_REFUSED')) return false
        throw thrown
      }
    },
  }
}

interface ChangedThread {
  readonly thread: string
  readonly waker: StateWaker
}

type ChangeCommand = Extract<Command, { kind: 'change' }>

async function change(
  { backend, clock, random }: ThreadServices,
  { thread, waker }: ChangedThread,
  changes: Pick<Changes, 'values' | 'schedules'>,
): Promise<void> {
  const command: ChangeCommand = { kind: 'change', changes: JSON.parse(JSON.stringify(changes)) }
  const { seq } = await sendCommand(backend, clock, { thread, id: random.id(), command })
  waker.wrote(seq)
}

function checkKey(key: string): string {
  if (typeof key === 'string' && key !== '' && key.length <= 512) return key
  throw new SkeinError(
    'BAD_OPTION',
    `a key is a text of 1 to 512 characters; this one is ` +
      `${typeof key === 'string' ? `${key.length} long` : typeof key}`,
  )
}
