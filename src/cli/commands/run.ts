/**
 * `skein run`: one message to an agent, or what a thread has outstanding, watched until everything rests or waits for
 * people.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { createAsk, readLines } from '../turn/ask.js'
import type { ExitCode } from '../exit.js'
import { givenMessage, pipedMessage } from '../stdin.js'
import { createOnce, findThread, goOnCommand, leave, lookUpThread, open, openable, settingsOf } from '../opening.js'
import type { OpenRequest, OpenedThread, OpenFlags } from '../opening.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { attachHelp, several } from '../settings.js'
import { watchToEnd, showFirst } from '../turn/turns.js'
import type { WatchedTurn } from '../turn/turns.js'

export function register(command: Command, perform: RunCommand): void {
  openable(command)
    .argument('<app>', 'module that exports the definitions (.ts or .js)')
    .argument('[message]', 'what to say; - or nothing reads a piped stdin')
    .option(
      '--thread <id>',
      'continue this thread, or create it with this id; without a message: go on with what is outstanding',
    )
    .option('--attach <file>', attachHelp, several)
    .action((app: string, message: string | undefined, options: OpenFlags) =>
      perform(command, (around) => run(around, { ...options, app }, message)),
    )
}

async function run(
  around: CommandContext,
  options: Omit<OpenRequest, 'message'>,
  given: string | undefined,
): Promise<ExitCode> {
  const message = await (given === undefined ? pipedMessage(around.shell) : givenMessage(around.shell, given))
  const asked: OpenRequest = { ...options, ...defined({ message }) }
  const create = message !== undefined
  await check(asked)
  const settings = await settingsOf(around, asked)
  const before = await lookUpThread(around, { ...asked, create })
  // One that was created without a host is made by its mail.
  const root = before.root ?? asked.thread
  const opened = await open(around, { asked, settings, ...defined({ root }) })
  const finding = findThread(around, opened, { asked, settings, create })
  const once = createOnce()
  around.onStop(() => leave(around, { asked, opened, finding, once }))
  try {
    const found = await finding
    if (around.out.mode !== 'json')
      around.out.note(around.out.paint('dim', `thread ${found.id} · agent ${found.agent}`))
    const how = opened.runs === 'here' ? { goOn: () => once(goOnCommand(around, asked, found)) } : {}
    const watched: WatchedTurn = {
      watching: { client: opened.client, thread: found, ...how, ...asking(around, opened) },
      before,
      shown: new Set(),
    }
    const code = await showFirst(
      around,
      watched,
      message === undefined ? undefined : { text: message, attachments: settings.attachments },
    )
    return opened.runs === 'here' || code === undefined ? await watchToEnd(around, watched, code) : code
  } finally {
    await opened.client.close()
  }
}

function asking({ shell, out }: CommandContext, { client }: OpenedThread): Pick<WatchedTurn['watching'], 'ask'> {
  return shell.interactive() && out.mode === 'live'
    ? { ask: createAsk({ shell, out, client, lines: readLines(shell) }) }
    : {}
}

async function check({ message, thread, attach = [] }: OpenRequest): Promise<void> {
  const { SkeinError } = await import('../../index.js')
  if (message === undefined && attach.length > 0)
    throw new SkeinError(
      'BAD_OPTION',
      '--attach names a file that goes with a message; give the message as the last argument',
    )
  if (thread === undefined && message === undefined)
    throw new SkeinError('BAD_OPTION', 'there is no message: give one as the last argument, or pipe it in')
}
