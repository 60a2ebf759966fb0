/**
 * `skein effects`: lists calls of which nobody knows whether they changed the world; records what someone found out.
 */
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { Json, SideEffect } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { dateTime, preview, table } from '../../format.js'
import { markUnanswered, tellUnanswered } from '../../unanswered.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'

interface Resolution {
  readonly value?: string
  readonly comment?: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .option('--root <thread>', 'only those of the tree below this thread')
    .action((filter: { readonly root?: string }) =>
      runCommand(command, (context) => withAnyClient(context.store, (client) => list(context, client, filter))),
    )
  const sub = command
    .command('resolve')
    .description('say what became of one; the model is told')
    .argument('<id>', 'what `skein effects` lists: <thread>/<call>')
    .argument('<what>', 'happened, or not')
    .option('--value <json>', 'what it returned: JSON, or else a text')
    .option('--comment <text>', 'how that is known')
  sub.action((id: string, what: string, options: Resolution) =>
    runCommand(sub, (context) =>
      withAnyClient(context.store, (client) => resolve(context, client, { ...options, id, what })),
    ),
  )
}

async function list({ out }: CommandContext, client: AnyClient, filter: { readonly root?: string }): Promise<ExitCode> {
  // An unknown root is an error, not an empty list.
  if (filter.root !== undefined) await client.threads.get(filter.root)
  const effects = await client.effects.list(filter)
  if (out.mode === 'json') out.json({ effects })
  else if (effects.length === 0) out.note('of every call it is known whether it happened')
  else out.print(table([['ID', 'TOOL', 'BEGAN', 'ARGS', ''], ...effects.map(row)]))
  return exitCode.ok
}

function row({ id, tool, beganAt, args, asks }: SideEffect): readonly string[] {
  return [id, tool, dateTime(beganAt), preview(args, 60), asks ? 'asks whether to run it again (skein inbox)' : '']
}

async function resolve(
  { out }: CommandContext,
  client: AnyClient,
  { id, what, value, comment }: Resolution & { readonly id: string; readonly what: string },
): Promise<ExitCode> {
  if (what !== 'happened' && what !== 'not') {
    const { SkeinError } = await import('../../../index.js')
    throw new SkeinError('BAD_OPTION', `${JSON.stringify(what)}: say happened, or not`)
  }
  const happened = what === 'happened'
  const resolution = { happened, ...defined({ value: value === undefined ? undefined : parsed(value), comment }) }
  const state = await markUnanswered(client.effects.resolve(id, resolution))
  if (state === 'kept') return tellUnanswered(out, { id, state })
  if (out.mode === 'json') out.json({ id, happened, state })
  else out.print(`recorded: it has ${happened ? '' : 'not '}happened\n`)
  return exitCode.ok
}

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return text
  }
}
