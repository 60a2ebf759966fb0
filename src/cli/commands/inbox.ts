/** `skein inbox`: lists what threads wait for a person to decide or to give, oldest first. Reads the store itself. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { InboxFilter, InboxItem } from '../../index.js'
import { answersTo, forkText, wholeOf } from '../turn/waiting-for.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { dateTime, oneLine, preview, table } from '../format.js'
import type { CliOutput } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { commandLine, withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import type { StoreLocation } from '../store.js'
import { label } from '../visible.js'

export function register(command: Command, runCommand: RunCommand): void {
  command
    .addOption(new Option('--root <thread>', 'only what waits in the tree below this thread').conflicts('thread'))
    .option('--thread <thread>', 'only what this thread waits for')
    .option('--full', 'all of each, instead of a line')
    .action((filter: Options) =>
      runCommand(command, (context) => withAnyClient(context.store, (client) => inbox(context, client, filter))),
    )
}

interface Options extends InboxFilter {
  readonly full?: boolean
}

async function inbox(
  { out, store }: CommandContext,
  client: AnyClient,
  { full, ...filter }: Options,
): Promise<ExitCode> {
  const named = filter.thread ?? filter.root
  // An unknown thread is an error, not an empty inbox.
  if (named !== undefined) await client.threads.get(named)
  const items = (await client.inbox.list(filter)).filter(({ why }) => why !== 'children')
  if (out.mode === 'json') out.json({ items, hosted: await client.hosted() })
  else if (items.length === 0) out.note('nothing waits for anyone')
  else if (full) out.print(`${items.map((item) => wholeItem(store, item)).join('\n\n')}\n`)
  else {
    out.print(listing(out, items))
    if (items.some(({ args }) => preview(args, Infinity) !== preview(args, maxArgsLength)))
      out.note(
        `args that end with … are cut: ${commandLine(store, 'skein', 'inbox', '--full')} shows all of them, and so ` +
          `does skein approve before it decides`,
      )
  }
  return exitCode.ok
}

const maxArgsLength = 40

function wholeItem(store: StoreLocation, item: InboxItem): string {
  return [...wholeOf(item), ...answersTo(store, item).map((command) => `  ${command}`)].join('\n')
}

function listing({ paint }: CliOutput, items: readonly InboxItem[]): string {
  const [head = '', ...rows] = table([['ID', 'WAITS FOR', 'TOOL', 'ARGS', 'SINCE', 'DEADLINE'], ...items.map(row)])
    .trimEnd()
    .split('\n')
  const lines = rows.flatMap((line, index) => [line, ...details(items[index]).map((text) => paint('dim', `  ${text}`))])
  return [head, ...lines, ''].join('\n')
}

function row({ id, why, tool, args, missing, requestedAt, deadlineAt }: InboxItem): readonly string[] {
  return [
    id,
    missing ? `${why}: ${missing.join(', ')}` : why,
    tool,
    args === null ? '' : preview(args, maxArgsLength),
    dateTime(requestedAt),
    deadlineAt === undefined ? '' : dateTime(deadlineAt),
  ]
}

/** Lines below the row: the tree and the child, whether it is a fork, then the question and the defaults. */
function details({ path = [], reference, forkedFrom, prompt, defaults }: Partial<InboxItem> = {}): readonly string[] {
  const whose =
    reference === undefined ? [] : [[path[0], ...(path.length > 2 ? ['…'] : []), reference].join(' › ')].map(label)
  return [
    ...whose,
    ...(forkedFrom ? [forkText(forkedFrom)] : []),
    ...(prompt === undefined || prompt.trim() === '' ? [] : [oneLine(prompt, 500)]),
    ...(defaults === undefined ? [] : [`defaults ${preview(defaults, 500)}`]),
  ]
}
