/**
 * `skein approve`, `deny` and `answer`: decides a call that waits for a person, and with `--wait` watches what comes
 * of it.
 *
 * - Whatever the store alone can tell is refused before a command is kept: a wrong id, a call that waits for nothing
 *   or for something else.
 * - `approve` prints the whole call before it is approved: nobody approves what they have not seen.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { Inbox, InboxItem } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import type { CommandContext, CommandModule } from '../run-command.js'
import { jsonOrText, piped } from '../stdin.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import { waitsFor } from '../turn/call-line.js'
import { answersTo, inFull, wholeOf } from '../turn/waiting-for.js'
import { watchHere } from '../turn/watch.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'

interface DecideOptions {
  readonly by?: string
  readonly wait?: boolean
}

/** Runs a call that waits for approval, with other args where they are given. */
export const approve: CommandModule = {
  register: (command, runCommand) =>
    decisionOptions(command)
      .option('--args <json>', 'run it with these args in place of the ones it was asked for with')
      .option('--comment <text>', 'why, for the journal')
      .action((id: string, { args, wait, ...note }: DecideOptions & { args?: string; comment?: string }) =>
        runCommand(command, async (context) => {
          const edited = args === undefined ? {} : { args: await parseArgs(args) }
          return decide(context, {
            id,
            wait,
            why: 'approval',
            shows: edited,
            done: 'approved',
            send: (inbox) => inbox.approve(id, { ...note, ...edited }),
          })
        }),
      ),
}

/** Declines what a person was asked for: an approval, an answer or values. The model reads the comment. */
export const deny: CommandModule = {
  register: (command, runCommand) =>
    decisionOptions(command)
      .option('--comment <text>', 'why; the model reads it')
      .action((id: string, { wait, ...note }: DecideOptions & { comment?: string }) =>
        runCommand(command, (context) =>
          decide(context, { id, wait, done: 'denied', send: (inbox) => inbox.reject(id, note) }),
        ),
      ),
}

/** Gives the output of a call that waits for a person. */
export const answer: CommandModule = {
  register: (command, runCommand) =>
    decisionOptions(command)
      .argument('<output>', 'JSON, or text where it is none; - reads stdin')
      .option('--text', 'text, also where it could be read as JSON')
      .action((id: string, argument: string, { text, wait, ...note }: DecideOptions & { text?: boolean }) =>
        runCommand(command, async (context) => {
          const typed = argument === '-' ? await piped(context.shell) : argument
          const output = text ? typed : jsonOrText(typed)
          return decide(context, {
            id,
            wait,
            why: 'person',
            done: 'answered',
            send: (inbox) => inbox.answer(id, output, note),
          })
        }),
      ),
}

/** The argument and the options of all three. */
function decisionOptions(command: Command): Command {
  return command
    .argument('<id>', 'what `skein inbox` lists: <thread>/<call>')
    .option('--by <name>', 'who says so, for the journal')
    .option('--wait', 'watch the turn until it ends or waits again')
}

async function parseArgs(json: string): Promise<unknown> {
  try {
    return JSON.parse(json)
  } catch (thrown) {
    const { SkeinError } = await import('../../index.js')
    throw new SkeinError(
      'BAD_OPTION',
      `--args is not JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    )
  }
}

interface Decision {
  readonly id: string
  readonly wait: boolean | undefined
  /** What the call must wait for; without it, anything. */
  readonly why?: InboxItem['why']
  readonly done: string
  /** Print the call before it is decided, and the args that it runs with instead. */
  readonly shows?: { readonly args?: unknown }
  send(inbox: Pick<Inbox, 'approve' | 'reject' | 'answer'>): Promise<void>
}

function decide(context: CommandContext, decision: Decision): Promise<ExitCode> {
  return withAnyClient(context.store, (client) => sendDecision(context, client, decision))
}

async function sendDecision(
  context: CommandContext,
  client: AnyClient,
  { id, wait, why, done, shows, send }: Decision,
): Promise<ExitCode> {
  const { out } = context
  const thread = await threadOf(client, id)
  const item = await checkWaits(context, client, { id, thread, ...defined({ why }) })
  const shown = shows && item
  if (shown && out.mode !== 'json') for (const line of [...wholeOf(item), ...editedLines(shows)]) out.note(line)
  // Looked up before the decision is sent: the turn may have ended when its answer comes.
  const watched = wait ? await client.threads.get(thread.id) : undefined
  const run = await watched?.current()
  const state = await markUnanswered(send(client.inbox))
  const value = { id, thread: thread.id, state, ...(shown && { tool: item.tool, args: item.args, ...shows }) }
  if (state === 'kept') return tellUnanswered(out, value, wait)
  if (watched && run) return (await watchHere(context, { client, thread: watched, run })).code
  if (out.mode === 'json') out.json(value)
  else out.print(`${done}\n`)
  return exitCode.ok
}

function editedLines(shows: { readonly args?: unknown }): readonly string[] {
  return 'args' in shows ? inFull('runs with', shows.args) : []
}

async function threadOf({ threads }: AnyClient, id: string): Promise<{ readonly id: string }> {
  const [, thread] = /^(.+)\/[^/]+$/.exec(id) ?? []
  if (thread !== undefined) return threads.get(thread)
  const { SkeinError } = await import('../../index.js')
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(id)} is no id of a call; one looks like t1/call_1_0, and skein inbox lists those that wait`,
  )
}

/** Refuses what the store can refuse. A host that serves the store says more of a call that waits for nothing. */
async function checkWaits(
  { store }: CommandContext,
  client: AnyClient,
  { id, thread, why }: { id: string; thread: { readonly id: string }; why?: InboxItem['why'] },
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
