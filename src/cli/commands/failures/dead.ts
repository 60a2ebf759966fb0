/** `skein dead`: lists children that failed for good, with what they were asked; tries one again, or drops it. */
import type { Command } from 'commander'
import type { DeadLetter } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { dateTime, failureLine, oneLine, preview, table } from '../../format.js'
import { markUnanswered, tellUnanswered } from '../../unanswered.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'

export function register(command: Command, runCommand: RunCommand): void {
  command
    .option('--root <thread>', 'only those of the tree below this thread')
    .action((filter: { readonly root?: string }) =>
      runCommand(command, (context) => withAnyClient(context.store, (client) => list(context, client, filter))),
    )
  const addCommand = (name: 'requeue' | 'drop', description: string, done: string): void => {
    const sub = command
      .command(name)
      .description(description)
      .argument('<id>', 'what `skein dead` lists: <thread>/<reference>')
    sub.action((id: string) =>
      runCommand(sub, (context) =>
        withAnyClient(context.store, (client) => sendCommand(context, client, { id, name, done })),
      ),
    )
  }
  addCommand('requeue', 'try it again; its answer comes to its parent as a message', 'it is tried again')
  addCommand('drop', 'forget it', 'dropped')
}

async function list({ out }: CommandContext, client: AnyClient, filter: { readonly root?: string }): Promise<ExitCode> {
  // An unknown root is an error, not an empty list.
  if (filter.root !== undefined) await client.threads.get(filter.root)
  const letters = await client.deadLetters.list(filter)
  if (out.mode === 'json') out.json({ letters })
  else if (letters.length === 0) out.note('no child failed for good')
  else out.print(table([['ID', 'AGENT', 'ATTEMPTS', 'SINCE', 'MESSAGE', 'FAILURE'], ...letters.map(row)]))
  return exitCode.ok
}

function row({ id, agent, attempts, at, text, failure }: DeadLetter): readonly string[] {
  return [id, agent, String(attempts), dateTime(at), preview(text, 40), oneLine(failureLine(failure), 80)]
}

async function sendCommand(
  { out }: CommandContext,
  client: AnyClient,
  { id, name, done }: { readonly id: string; readonly name: 'requeue' | 'drop'; readonly done: string },
): Promise<ExitCode> {
  const state = await markUnanswered(client.deadLetters[name](id))
  if (state === 'kept') return tellUnanswered(out, { id, state })
  if (out.mode === 'json') out.json({ id, state })
  else out.print(`${done}\n`)
  return exitCode.ok
}
