/**
 * `skein run`: sends one message to an agent, or goes on with what a thread has outstanding, and watches until
 * everything rests or waits for people.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { ExitCode } from '../exit.js'
import { findThread, lookUpThread } from '../find-thread.js'
import { appOf, createOnce, goOnCommand, leave, open, openOptions, settingsOf } from '../open.js'
import type { OpenedStore, OpenFlags, OpenRequest } from '../open.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { attachHelp, several } from '../settings.js'
import { readMessage, pipedMessage } from '../stdin.js'
import { createAsk, readLines } from '../turn/ask.js'
import { showFirst, watchToEnd } from '../turn/turns.js'
import type { WatchedTurn } from '../turn/turns.js'

export function register(command: Command, runCommand: RunCommand): void {
  openOptions(command)
    .argument('[app]', 'module that exports the definitions (.ts or .js); with --url the server has it: leave it out')
    .argument('[message]', 'what to say; - or nothing reads a piped stdin')
    .option(
      '--thread <id>',
      'continue this thread, or create it with this id; without a message: go on with what is outstanding',
    )
    .option('--attach <file>', attachHelp, several)
    .action((first: string | undefined, second: string | undefined, flags: OpenFlags) =>
      runCommand(command, async (context) => {
        const isRemote = context.store.server !== undefined
        const app = await appOf(context, isRemote && second === undefined ? undefined : first)
        return run(context, { ...flags, command: 'run', app }, isRemote ? first : second)
      }),
    )
}

async function run(context: CommandContext, request: OpenRequest, argument: string | undefined): Promise<ExitCode> {
  const message = await messageOf(context, argument, request.attach)
  const create = message !== undefined
  if (!create) await checkNamed(request)
  const settings = await settingsOf(context, request)
  const before = await lookUpThread(context, { ...request, create })
  // A thread that was created without a host has no head yet: it is its own root, or is not there.
  const root = before.root ?? request.thread
  const opened = await open(context, { request, settings, ...defined({ root }) })
  const finding = findThread(context, opened, { request, settings, create })
  const once = createOnce()
  context.onStop(() => leave(context, { request, opened, finding, once }))
  try {
    const thread = await finding
    if (context.out.mode !== 'json')
      context.out.note(context.out.paint('dim', `thread ${thread.id} · agent ${thread.agent}`))
    const here = opened.runs === 'here'
    const watched: WatchedTurn = {
      watching: {
        client: opened.client,
        thread,
        ...(here && { goOn: () => once(goOnCommand(context, request, thread)) }),
        ...defined({ ask: askAtTerminal(context, opened) }),
      },
      before,
      shown: new Set(),
    }
    const code = await showFirst(
      context,
      watched,
      message === undefined ? undefined : { text: message, attachments: settings.attachments },
    )
    return here || code === undefined ? await watchToEnd(context, watched, code) : code
  } finally {
    await opened.client.close()
  }
}

function askAtTerminal({ shell, out }: CommandContext, { client }: OpenedStore): WatchedTurn['watching']['ask'] {
  if (!shell.interactive() || out.mode !== 'live') return undefined
  return createAsk({ shell, out, client, lines: readLines(shell) })
}

/** Undefined where nothing is to be said. Files alone are a message. */
async function messageOf(
  { shell }: CommandContext,
  argument: string | undefined,
  attach: readonly string[] = [],
): Promise<string | undefined> {
  if (argument !== undefined) return readMessage(shell, argument, attach)
  return (await pipedMessage(shell)) ?? (attach.length > 0 ? '' : undefined)
}

/** Without a message, the thread must be named. */
async function checkNamed({ thread }: OpenRequest): Promise<void> {
  if (thread !== undefined) return
  const { SkeinError } = await import('../../index.js')
  throw new SkeinError('BAD_OPTION', 'there is no message: give one as the last argument, or pipe it in')
}
