/**
 * What `cancel`, `pause`, `resume`, `grant` and `terminate` have in common: one command to one thread, and its answer.
 */
import type { Command } from 'commander'
import type { SkeinClient, Thread } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { kept, keptNote } from '../unanswered.js'
import type { Around, Perform } from '../run-command.js'
import { withClient } from '../store.js'

export interface AskOptions {
  readonly reason?: string
  readonly tree?: boolean
}

export interface Asking<Options> {
  /** False when there was nothing to change. */
  ask(thread: Thread, options: Options): Promise<boolean>
  readonly done: string
  readonly nothing: string
}

interface Named<Options> {
  readonly id: string
  readonly options: Options
}

export function registerAsking<Options = AskOptions>(
  perform: Perform,
  command: Command,
  asking: Asking<Options>,
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
  { out }: Around,
  client: SkeinClient,
  { id, options, ask, done, nothing }: Asking<Options> & Named<Options>,
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  let changed = false
  const answer = ask(thread, options).then((did) => {
    changed = did
  })
  const state = await kept(answer)
  if (out.mode === 'json')
    out.json({ thread: id, state, ...(state === 'accepted' && { changed, status: await thread.status() }) })
  else if (state === 'kept') out.note(keptNote)
  else out.print(`${changed ? done : `${nothing}; it is ${await thread.status()}`}\n`)
  return exitCode.ok
}
