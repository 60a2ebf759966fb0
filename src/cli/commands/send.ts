/** `skein send`: sends a message to a thread. Without a host the message is kept until there is one. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'

import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { attachHelp, readAttachments, several } from '../settings.js'
import { readMessage } from '../stdin.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import { watchHere } from '../turn/watch.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'

interface Options {
  readonly wait?: boolean
  readonly newTurn?: boolean
  readonly id?: string
  readonly attach?: readonly string[]
}

interface SendRequest extends Options {
  readonly thread: string
  readonly message: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .argument('[message]', 'what to say; - reads stdin; not needed with --attach')
    .option('--wait', 'watch the turn until it ends or waits for someone')
    .option('--new-turn', 'not into the running turn, but after it')
    .option('--attach <file>', attachHelp, several)
    .option('--id <id>', 'id of the message: sending the same id again is sending once')
    .action((thread: string, argument: string | undefined, options: Options) =>
      runCommand(command, async (context) => {
        const message = await readMessage(context.shell, argument, options.attach)
        return withAnyClient(context.store, (client) => send(context, client, { ...options, thread, message }))
      }),
    )
}

async function send(
  context: CommandContext,
  client: AnyClient,
  { thread: threadId, message, newTurn, wait, id, attach }: SendRequest,
): Promise<ExitCode> {
  const { out } = context
  const thread = await client.threads.get(threadId)
  // A host would refuse it; without a host it would be kept and never carried out. A repeated message passes: it may
  // have been accepted while the thread still took messages.
  const status = await thread.status()
  if (id === undefined && (status === 'done' || status === 'terminated')) {
    const { SkeinError } = await import('../../index.js')
    throw new SkeinError('COMMAND_REFUSED', `thread ${threadId} is ${status} and takes no more messages`)
  }
  const run = thread.send(message, {
    delivery: newTurn ? 'new_turn' : 'steer',
    attachments: await readAttachments(attach),
    ...defined({ id }),
  })
  const state = await markUnanswered(run.accepted())
  const value = { thread: threadId, run: run.id, state }
  if (state === 'kept') return tellUnanswered(out, value, wait)
  if (wait) return (await watchHere(context, { client, thread, run })).code
  if (out.mode === 'json') out.json(value)
  else out.print(`accepted as ${run.id}\n`)
  return exitCode.ok
}
