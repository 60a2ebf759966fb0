/**
 * `skein cancel`, `pause`, `resume` and `terminate`: one command to one thread, and its answer. Without a host the
 * command is kept, which is no failure.
 */
import type { Command } from 'commander'
import type { Thread } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import type { CommandContext, CommandModule, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import { markUnanswered, unansweredNote } from '../unanswered.js'

export interface ThreadCommand<Options> {
  /** False when there was nothing to change. */
  send(thread: Pick<Thread, 'cancel' | 'grant' | 'pause' | 'resume' | 'terminate'>, options: Options): Promise<boolean>
  /** What is printed when it changed something. */
  readonly done: string
  /** What is printed when it did not. */
  readonly unchanged: string
}

interface LifecycleOptions {
  readonly reason?: string
  readonly tree?: boolean
}

const reason = ['--reason <reason>', 'why, for the journal'] as const

/** Ends the running turn; the thread lives on. */
export const cancel: CommandModule = {
  register: (command, runCommand) =>
    registerThreadCommand<LifecycleOptions>(runCommand, command.option(...reason), {
      send: (thread, options) => thread.cancel(options),
      done: 'cancelled',
      unchanged: 'no turn was running',
    }),
}

/** The thread starts nothing more until it is resumed. */
export const pause: CommandModule = {
  register: (command, runCommand) =>
    registerThreadCommand<LifecycleOptions>(
      runCommand,
      command.option(...reason).option('--tree', 'and all threads below it'),
      {
        send: (thread, options) => thread.pause(options),
        done: 'paused',
        unchanged: 'nothing was changed',
      },
    ),
}

/** A paused thread goes on, a failed turn is tried again. */
export const resume: CommandModule = {
  register: (command, runCommand) =>
    registerThreadCommand<LifecycleOptions>(runCommand, command.option('--tree', 'and all paused threads below it'), {
      send: (thread, options) => thread.resume(options),
      done: 'resumed',
      unchanged: 'there was nothing to resume',
    }),
}

/** Ends the thread for ever; it takes no more messages. */
export const terminate: CommandModule = {
  register: (command, runCommand) =>
    registerThreadCommand<LifecycleOptions>(runCommand, command.option(...reason), {
      send: (thread, options) => thread.terminate(options),
      done: 'terminated',
      unchanged: 'nothing was changed',
    }),
}

export function registerThreadCommand<Options>(
  runCommand: RunCommand,
  command: Command,
  threadCommand: ThreadCommand<Options>,
): void {
  command
    .argument('<thread>', 'id of the thread')
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => sendCommand(context, client, { ...threadCommand, options, id })),
      ),
    )
}

async function sendCommand<Options>(
  { out }: CommandContext,
  client: AnyClient,
  { id, options, send, done, unchanged }: ThreadCommand<Options> & { readonly id: string; readonly options: Options },
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  let changed = false
  const state = await markUnanswered(
    send(thread, options).then((answer) => {
      changed = answer
    }),
  )
  if (out.mode === 'json')
    out.json({ thread: id, state, ...(state === 'accepted' && { changed, status: await thread.status() }) })
  else if (state === 'kept') out.note(unansweredNote)
  else out.print(`${changed ? done : `${unchanged}; it is ${await thread.status()}`}\n`)
  return exitCode.ok
}
