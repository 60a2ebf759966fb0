/**
 * Schedules that a caller sets (P3): each call is checked against the definition of its tool when it is scheduled, so
 * that the caller can correct it. Pure. When its time comes the call is recorded anew (effects/timers.ts), as its tool
 * is defined then.
 */
import type { App } from '../../agent/app.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import type { ScheduleChange } from '../../core/records/schedule.js'
import { checkArgs } from '../../tools/args.js'

type Scheduling = Extract<Command, { kind: 'change' | 'create' }>

/** The command with checked args, or why one of its calls could not be made. */
export function checkSchedules<Checked extends Scheduling>(
  { tools }: Pick<App, 'tools'>,
  command: Checked,
): Checked | { readonly refused: Failure } {
  const { changes } = command
  if (!changes?.schedules) return command
  const schedules: ScheduleChange[] = []
  for (const change of changes.schedules) {
    if (change.op === 'remove') {
      schedules.push(change)
      continue
    }
    const tool = tools.get(change.tool)
    if (!tool)
      return {
        refused: failure(
          'UNKNOWN_TOOL',
          `the app has no tool ${JSON.stringify(change.tool)}; it has: ${[...tools.keys()].join(', ') || 'none'}`,
        ),
      }
    const checked = checkArgs(tool.name, tool.args, change.args)
    if (!checked.ok) return { refused: checked.failure }
    schedules.push({ ...change, args: checked.args })
  }
  return { ...command, changes: { ...changes, schedules } }
}
