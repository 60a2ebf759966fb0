/**
 * `skein chat`: sends one message after another to an agent, a line each. What the thread waits for is asked in place.
 * Ends with the input (Ctrl-D) or `/exit`; the thread stays, and the command that goes on with it is printed. A turn
 * that is open when it begins is shown first, and what it waits for is asked.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { findThread, lookUpThread } from '../find-thread.js'
import { appOf, createOnce, goOnCommand, leave, open, openOptions, settingsOf } from '../open.js'
import type { OpenFlags, OpenRequest } from '../open.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { createAsk, readLines } from '../turn/ask.js'
import type { Lines } from '../turn/ask.js'
import { notePending, showFirst, showOutstanding, watchToEnd } from '../turn/turns.js'
import type { WatchedTurn } from '../turn/turns.js'
import { standingOf } from '../turn/watch.js'

export function register(command: Command, runCommand: RunCommand): void {
  openOptions(command)
    .argument('[app]', 'module that exports the definitions (.ts or .js); with --url the server has it: leave it out')
    .option('--thread <id>', 'continue this thread, or create it with this id')
    .action((app: string | undefined, flags: OpenFlags) =>
      runCommand(command, async (context) =>
        chat(context, { ...flags, command: 'chat', app: await appOf(context, app) }),
      ),
    )
}

async function chat(context: CommandContext, request: OpenRequest): Promise<ExitCode> {
  const { out, shell } = context
  const settings = await settingsOf(context, request)
  const before = await lookUpThread(context, { ...request, create: true })
  const root = before.root ?? request.thread
  const opened = await open(context, { request, settings, ...defined({ root }) })
  const finding = findThread(context, opened, { request, settings, create: true })
  context.onStop(() => {
    // Ctrl-C leaves the prompt without a line end.
    if (out.mode === 'live') out.print('\n')
    return leave(context, { request, opened, finding, once: createOnce() })
  })
  const lines = readLines(shell)
  try {
    const thread = await finding
    out.note(
      out.paint('dim', `thread ${thread.id} · agent ${thread.agent} · a line is a message, /exit or Ctrl-D ends`),
    )
    const { client } = opened
    // Lines of a pipe are messages: none of them is an answer to a question that it could not have seen.
    const ask = shell.interactive() ? createAsk({ out, shell, client, lines }) : undefined
    const watching = { client, thread, ...defined({ ask }) }
    await showOutstanding(context, { watching, before, shown: new Set() })
    await talk(context, { watching, lines })
    const waits = await notePending(context, watching)
    out.note(out.paint('dim', `go on with: ${goOnCommand(context, request, thread)}`))
    return waits ? exitCode.waiting : exitCode.ok
  } finally {
    lines.close()
    await opened.client.close()
  }
}

interface Conversation {
  readonly watching: WatchedTurn['watching']
  readonly lines: Lines
}

async function talk(context: CommandContext, { watching, lines }: Conversation): Promise<void> {
  const { out, shell } = context
  for (;;) {
    if (out.mode === 'live') out.print(out.paint('bold', '> '))
    const line = await lines.next()
    if (shell.interactive()) out.lineTyped()
    if (line === undefined || line.trim() === '/exit') return
    if (line.trim() === '') continue
    const watched: WatchedTurn = {
      watching,
      before: await standingOf(watching.thread),
      shown: new Set(),
      echoed: shell.interactive(),
    }
    await watchToEnd(context, watched, await showFirst(context, watched, { text: line }))
  }
}
