/**
 * Timers: effects that wait for an instant. A deadline tells its thread that time is up. A schedule queues a call,
 * which is recorded as its tool is defined then, not as it was when it was scheduled.
 *
 * - A scheduled call whose tool is gone by then, or takes other args, is made all the same: its result is an error
 *   (P3).
 */
import type { DeadlineEffect, ScheduleEffect } from '../../core/effect.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import type { ScheduleChange } from '../../core/records/schedule.js'
import { checkArgs } from '../../tools/args.js'
import { recordCall } from '../resolve/tool-calls.js'
import type { CallDefinitions } from '../resolve/tool-calls.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'

export function awaitDeadline({ clock }: Services, owner: EffectOwner, { at, key }: DeadlineEffect): RunningEffect {
  return { abort: clock.wakeAt(at, () => owner.land({ kind: 'deadline', key })) }
}

export function awaitSchedule(services: Services, owner: EffectOwner, { scheduled }: ScheduleEffect): RunningEffect {
  const { id, tool, args, at } = scheduled
  const queue = async (): Promise<void> => {
    const asker = { threadId: owner.state.id, allowed: new Set(services.app.tools.keys()) }
    const call = await recordCall(services, asker, { tool, args })
    owner.land({ kind: 'scheduled', id, call })
  }
  return { abort: services.clock.wakeAt(at, () => void queue()) }
}

type Changing = Extract<Command, { kind: 'change' | 'create' }>

/** The command with its args checked, or why one of its calls could not be made as things are. */
export function checkSchedules<Given extends Changing>(
  { app }: Pick<CallDefinitions, 'app'>,
  command: Given,
): Given | { readonly refused: Failure } {
  const { changes } = command
  if (!changes?.schedules) return command
  const schedules: ScheduleChange[] = []
  for (const change of changes.schedules) {
    if (change.op === 'remove') {
      schedules.push(change)
      continue
    }
    const tool = app.tools.get(change.tool)
    if (!tool)
      return {
        refused: failure(
          'UNKNOWN_TOOL',
          `the app has no tool ${JSON.stringify(change.tool)}; it has: ${[...app.tools.keys()].join(', ') || 'none'}`,
        ),
      }
    const checked = checkArgs(tool.name, tool.args, change.args)
    if (!checked.ok) return { refused: checked.failure }
    schedules.push({ ...change, args: checked.args })
  }
  return { ...command, changes: { ...changes, schedules } }
}
