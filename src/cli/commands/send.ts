/** `skein send`: a message for a thread; its host answers it, or keeps it until there is one. */
import type { Command } from 'commander'
import type { SkeinClient } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'
import { givenMessage } from '../stdin.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { attachHelp, attachmentFlags, several } from '../settings.js'
import { withClient } from '../store.js'
import { watchHere } from '../turn/watch.js'

interface Options {
  readonly wait?: boolean
  readonly newTurn?: boolean
  readonly id?: string
  readonly attach?: readonly string[]
}

interface Asked extends Options {
  readonly thread: string
  readonly message: string
}

export function register(command: Command, perform: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .argument('<message>', 'what to say; - reads stdin')
    .option('--wait', 'watch the turn until it ends or waits for someone')
    .option('--new-turn', 'not into the running turn, but after it')
    .option('--attach <file>', attachHelp, several)
    .option('--id <id>', 'id of the message: sending the same id again is sending once')
    .action((thread: string, given: string, options: Options) =>
      perform(command, async (around) => {
        const message = await givenMessage(around.shell, given)
        return withClient(around.store, (client) => send(around, client, { ...options, thread, message }))
      }),
    )
}

async function send(
  around: CommandContext,
  client: SkeinClient,
  { thread: id, message, newTurn, wait, ...options }: Asked,
): Promise<ExitCode> {
  const { out } = around
  const thread = await client.threads.get(id)
  // A host would say so; without one it would be kept and never carried out. A repeated one may have been answered
  // before.
  const status = await thread.status()
  if (options.id === undefined && (status === 'done' || status === 'terminated')) {
    const { SkeinError } = await import('../../index.js')
    throw new SkeinError('COMMAND_REFUSED', `thread ${id} is ${status} and takes no more messages`)
  }
  const attachments = await attachmentFlags(options.attach)
  const run = thread.send(message, {
    delivery: newTurn ? 'new_turn' : 'steer',
    attachments,
    ...(options.id !== undefined && { id: options.id }),
  })
  const state = await markUnanswered(run.accepted())
  if (state === 'kept') return tellUnanswered(out, { thread: id, run: run.id, state }, wait)
  if (wait) return (await watchHere(around, { client, thread, run })).code
  if (out.mode === 'json') out.json({ thread: id, run: run.id, state })
  else out.print(`accepted as ${run.id}\n`)
  return exitCode.ok
}
