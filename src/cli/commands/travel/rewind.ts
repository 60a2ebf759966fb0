/** `skein rewind`: a thread goes back to a point of its own past. */
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import { pointForms } from '../../../core/point.js'
import type { RewindOptions, Rewound } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { counted } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { commandLine, withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'
import { markUnanswered, tellUnanswered } from '../../unanswered.js'
import { crossingText, withReport } from './crossing.js'
import { withOptionNames } from './option-names.js'
import { pointOf } from './place.js'

interface Options {
  readonly to: string
  readonly revert?: true
  readonly force?: true
  readonly dry?: true
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .requiredOption('--to <point>', pointForms)
    .option('--revert', 'undo what it has done to the world since, by the tools that did it, newest first')
    .option('--force', 'leave what it has done to the world as it is')
    .option('--dry', 'only say what lies between')
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withOptionNames(
          context,
          withAnyClient(context.store, (client) => rewind(context, client, { id, ...options })),
        ),
      ),
    )
}

async function rewind(
  context: CommandContext,
  client: AnyClient,
  { id, to, revert, force, dry }: Options & { readonly id: string },
): Promise<ExitCode> {
  const { out, store } = context
  const asked: RewindOptions = { to: await pointOf(to), ...defined({ revert, force }) }
  const thread = await client.threads.get(id)
  if (dry) {
    const crossing = await thread.rewind({ ...asked, dry })
    if (out.mode === 'json') out.json(crossing)
    else out.print(crossingText(crossing))
    return exitCode.ok
  }
  let done: Rewound | undefined
  const state = await markUnanswered(withReport(context, thread.rewind(asked)).then((given) => (done = given)))
  if (!done) return tellUnanswered(out, { thread: id, state })
  const status = await thread.status()
  if (out.mode === 'json') out.json({ thread: id, state, ...done, status })
  else {
    out.print(`went back to record ${done.to}${undoneText(done)}; it is ${status}\n`)
    if (status === 'failed') out.note(`${commandLine(store, 'skein', 'resume', id)} goes on with its turn`)
  }
  return exitCode.ok
}

function undoneText({ reverted }: Rewound): string {
  return reverted.length === 0 ? '' : `, after ${counted(reverted.length, 'effect was', 'effects were')} undone`
}
