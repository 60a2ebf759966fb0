/**
 * Scheduled calls: their time is awaited like any deadline, and when it comes the call is recorded as its tool is
 * defined then, not as it was when it was scheduled.
 *
 * - A call whose tool is gone by then, or takes other args, is made all the same: what it reads is its error (P3).
 */
import type { ScheduleEffect } from '../../core/effect.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import type { ScheduleChange } from '../../core/records/schedule.js'
import { checkArgs } from '../../tools/args.js'
import { recordCall } from '../resolve/tool-calls.js'
import type { CallDefinitions } from '../resolve/tool-calls.js'
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
