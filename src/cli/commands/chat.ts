/**
 * `skein chat`: one message after another to an agent, a line each. What the thread waits for is asked in place. It
 * ends with the input (Ctrl-D) or `/exit`; the thread stays, and the command that goes on with it is told.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { SkeinClient, Thread } from '../../index.js'
import { createAsk, readLines } from '../turn/ask.js'
import type { Lines } from '../turn/ask.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { createOnce, findThread, leave, lookUpThread, open, openable, settingsOf } from '../opening.js'
import type { OpenRequest, OpenFlags } from '../opening.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { commandLine } from '../store.js'
import { watchToEnd, showFirst } from '../turn/turns.js'
import type { WatchedTurn } from '../turn/turns.js'
import { standingOf } from '../turn/watch.js'

export function register(command: Command, perform: RunCommand): void {
  openable(command)
    .argument('<app>', 'module that exports the definitions (.ts or .js)')
    .option('--thread <id>', 'continue this thread, or create it with this id')
    .action((app: string, options: OpenFlags) => perform(command, (around) => chat(around, { ...options, app })))
}

async function chat(around: CommandContext, asked: OpenRequest): Promise<ExitCode> {
  const { out, shell, store } = around
  const settings = await settingsOf(around, asked)
  const { root = asked.thread } = await lookUpThread(around, { ...asked, create: true })
  const opened = await open(around, { asked, settings, ...defined({ root }) })
  const finding = findThread(around, opened, { asked, settings, create: true })
  around.onStop(() => leave(around, { asked, opened, finding, once: createOnce() }))
  const lines = readLines(shell)
  try {
    const thread = await finding
    out.note(
      out.paint('dim', `thread ${thread.id} · agent ${thread.agent} · a line is a message, /exit or Ctrl-D ends`),
    )
    await talk(around, { client: opened.client, thread, lines })
    out.note(out.paint('dim', `go on with: ${commandLine(store, 'skein', 'chat', asked.app, '--thread', thread.id)}`))
    return exitCode.ok
  } finally {
    lines.close()
    await opened.client.close()
  }
}

interface Talk {
  readonly client: SkeinClient
  readonly thread: Thread
  readonly lines: Lines
}

async function talk(around: CommandContext, { client, thread, lines }: Talk): Promise<void> {
  const { out, shell } = around
  const ask = createAsk({ out, shell, client, lines })
  for (;;) {
    if (out.mode === 'live') out.print(out.paint('bold', '> '))
    const line = await lines.next()
    if (line === undefined || line.trim() === '/exit') return
    if (line.trim() === '') continue
    const watched: WatchedTurn = {
      watching: { client, thread, ask },
      before: await standingOf(thread),
      shown: new Set(),
    }
    await watchToEnd(around, watched, await showFirst(around, watched, { text: line }))
  }
}
