/**
 * What `cancel`, `pause`, `resume`, `grant` and `terminate` have in common: one command to one thread, and its answer.
 */
import type { Command } from 'commander'
import type { SkeinClient, Thread } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { markUnanswered, unansweredNote } from '../unanswered.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withClient } from '../store.js'

export interface AskOptions {
  readonly reason?: string
  readonly tree?: boolean
}

export interface CommandRequest<Options> {
  /** False when there was nothing to change. */
  ask(thread: Thread, options: Options): Promise<boolean>
  readonly done: string
  readonly nothing: string
}

interface Named<Options> {
  readonly id: string
  readonly options: Options
}

export function registerRequest<Options = AskOptions>(
  perform: RunCommand,
  command: Command,
  asking: CommandRequest<Options>,
): void {
  command
    .argument('<thread>', 'id of the thread')
    .action((id: string, options: Options) =>
      perform(command, (around) =>
        withClient(around.store, (client) => tell(around, client, { ...asking, options, id })),
      ),
    )
}

async function tell<Options>(
  { out }: CommandContext,
  client: SkeinClient,
  { id, options, ask, done, nothing }: CommandRequest<Options> & Named<Options>,
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  let changed = false
  const answer = ask(thread, options).then((did) => {
    changed = did
  })
  const state = await markUnanswered(answer)
  if (out.mode === 'json')
    out.json({ thread: id, state, ...(state === 'accepted' && { changed, status: await thread.status() }) })
  else if (state === 'kept') out.note(unansweredNote)
  else out.print(`${changed ? done : `${nothing}; it is ${await thread.status()}`}\n`)
  return exitCode.ok
}
