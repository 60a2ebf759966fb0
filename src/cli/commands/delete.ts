/** `skein delete`: removes a tree of threads for ever, by its root. */
import type { Command } from 'commander'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { markUnanswered, unansweredNote } from '../unanswered.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'

interface Options {
  readonly terminate?: boolean
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the root of the tree')
    .option('--terminate', 'also when it is at work: ends it first')
    .action((id: string, options: Options) => runCommand(command, (context) => remove(context, id, options)))
}

async function remove({ out, store }: CommandContext, id: string, { terminate = false }: Options): Promise<ExitCode> {
  return withAnyClient(store, async (client) => {
    const state = await markUnanswered(client.threads.delete(id, { terminate }))
    if (out.mode === 'json') out.json({ thread: id, state })
    else if (state === 'kept') out.note(unansweredNote)
    else out.print('deleted\n')
    return exitCode.ok
  })
}
