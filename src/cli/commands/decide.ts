/**
 * What `approve`, `deny` and `answer` have in common: one word to one call that waits, and what comes of it.
 *
 * - What the store alone can tell is said before anything is kept: a wrong id, a call that waits for nothing or for
 *   something else.
 * - What is decided on is shown before it is decided, all of it: whoever approves has seen the whole of what runs.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { Inbox, InboxItem, SkeinClient, Thread } from '../../index.js'
import { answersTo, inFull, wholeOf } from '../turn/waiting-for.js'
import { waitsFor } from '../turn/call-line.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'
import type { CommandContext } from '../run-command.js'
import { withClient } from '../store.js'
import { watchHere } from '../turn/watch.js'

export interface DecisionCommand {
  readonly id: string
  readonly wait?: boolean
  /** What the call must wait for; without, for anyone. */
  readonly why?: InboxItem['why']
  readonly done: string
  /** Say first what it is, and with which args it runs instead. */
  readonly shows?: { readonly args?: unknown }
  say(inbox: Inbox): Promise<void>
}

export interface DecideOptions {
  readonly by?: string
  readonly wait?: boolean
}

/** The options of all three. */
export function decidable(command: Command): Command {
  return command
    .argument('<id>', 'what `skein inbox` lists: <thread>/<call>')
    .option('--by <name>', 'who says so, for the journal')
    .option('--wait', 'watch the turn until it ends or waits again')
}

export function decide(around: CommandContext, deciding: DecisionCommand): Promise<ExitCode> {
  return withClient(around.store, (client) => tell(around, client, deciding))
}

async function tell(
  around: CommandContext,
  client: SkeinClient,
  { id, wait, why, done, shows, say }: DecisionCommand,
): Promise<ExitCode> {
  const { out } = around
  const thread = await threadOf(client, id)
  const item = await check(around, client, { id, thread, ...defined({ why }) })
  // Beside the result, which programs read.
  const instead = shows && 'args' in shows ? inFull('runs with', shows.args) : []
  if (shows && item && out.mode !== 'json') for (const line of [...wholeOf(item), ...instead]) out.note(line)
  // Before it is said: the turn may be over when the answer comes.
  const run = wait ? await thread.current() : undefined
  const state = await markUnanswered(say(client.inbox))
  const value = { id, thread: thread.id, state, ...(shows && item && { tool: item.tool, args: item.args, ...shows }) }
  if (state === 'kept') return tellUnanswered(out, value, wait)
  if (run) return (await watchHere(around, { client, thread, run })).code
  if (out.mode === 'json') out.json(value)
  else out.print(`${done}\n`)
  return exitCode.ok
}

async function threadOf({ threads }: SkeinClient, id: string): Promise<Thread> {
  const [, thread] = /^(.+)\/[^/]+$/.exec(id) ?? []
  if (thread !== undefined) return threads.get(thread)
  const { SkeinError } = await import('../../index.js')
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(id)} is no id of a call; one looks like t1/call_1_0, and skein inbox lists those that wait`,
  )
}

/** DC1. A host that is there says more of a call that waits for nothing. */
async function check(
  { store }: CommandContext,
  client: SkeinClient,
  { id, thread, why }: { id: string; thread: Thread; why?: InboxItem['why'] },
): Promise<InboxItem | undefined> {
  const { SkeinError } = await import('../../index.js')
  const item = (await client.inbox.list({ thread: thread.id })).find((waiting) => waiting.id === id)
  if (item && why !== undefined && item.why !== why) {
    const [instead] = answersTo(store, item)
    throw new SkeinError(
      'COMMAND_REFUSED',
      `${id} ${waitsFor(item.why)}, not for ` +
        `${why === 'approval' ? 'approval' : 'an answer'}${instead === undefined ? '' : `: ${instead}`}`,
    )
  }
  if (item || (await client.hosted())) return item
  throw new SkeinError(
    'COMMAND_REFUSED',
    `${id} waits for nothing: it was decided or has ended, or there is no such call; skein inbox lists what waits`,
  )
}
