/** `skein timeline`: the turns and steps of a thread, and the points to which one can go back. */
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { TimelineRow } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { clockTime, table } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { commandLine, withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'
import { positiveCount } from '../ps.js'

interface Options {
  readonly after?: number
  readonly limit: number
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .option('--after <seq>', 'only rows after this record', positiveCount)
    .option('--limit <n>', 'so many rows at most', positiveCount, 100)
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => timeline(context, client, { id, ...options })),
      ),
    )
}

async function timeline(
  { out, store }: CommandContext,
  client: AnyClient,
  { id, limit, after }: Options & { readonly id: string },
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  const rows = await thread.timeline({ limit, ...defined({ after }) })
  if (out.mode === 'json') {
    out.json({ thread: id, rows })
    return exitCode.ok
  }
  if (rows.length === 0) out.note('nothing has happened in it')
  else out.print(table([['POINT', 'TIME', 'WHAT', 'TEXT', 'CALLS', 'FILES'], ...rows.map(cells)]))
  const last = rows.at(-1)
  if (last && rows.length === limit)
    out.note(`there may be more: ${commandLine(store, 'skein', 'timeline', id, '--after', String(last.seq))}`)
  return exitCode.ok
}

function cells(row: TimelineRow): readonly string[] {
  const { at, text = '', calls = [], files = [], point, step } = row
  return [
    point && step !== undefined ? `@${step}` : '',
    clockTime(at),
    whatOf(row),
    text,
    calls.map(callText).join(', '),
    files.join(' '),
  ]
}

function whatOf({ kind, run, ended, to, from, seq, undone }: TimelineRow): string {
  const words: Readonly<Record<TimelineRow['kind'], string>> = {
    turn: `turn ${run ?? ''} (${ended ?? 'open'})`,
    step: 'step',
    effect: 'an effect was resolved',
    reduced: 'the context was reduced',
    rewound: `rewound to record ${to ?? seq}`,
    forked: from ? `forked from ${from.thread}, record ${from.seq}` : 'forked',
  }
  return `${words[kind]}${undone ? ', undone' : ''}`
}

function callText({ tool, ok, effect, reverts, undone }: NonNullable<TimelineRow['calls']>[number]): string {
  if (reverts !== undefined) return `${tool} reverts ${reverts} ! ${effect ?? '…'}`
  if (undone) return `${tool} ! undone`
  if (effect) return `${tool} ! ${effect}`
  if (ok === undefined) return `${tool} …`
  return ok ? tool : `${tool} ✗`
}
