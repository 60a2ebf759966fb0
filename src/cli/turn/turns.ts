/**
 * The turns of a thread that a command stays for, shown one after another until everything rests or waits for people.
 */
import type { SendMessage } from '../../index.js'
import { exitCode, exitOfStatus } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { counted } from '../format.js'
import type { CommandContext } from '../run-command.js'
import { commandLine } from '../store.js'
import { subtree } from './children.js'
import { turnsSince, watchHere } from './watch.js'
import type { ThreadStanding, TurnWatchOptions } from './watch.js'

/** The turn that was asked for, or what was outstanding. */
export async function showFirst(
  context: CommandContext,
  watched: WatchedTurn,
  message: SendMessage | undefined,
): Promise<ExitCode | undefined> {
  const { watching, shown } = watched
  if (message === undefined) {
    await goOn(watching)
    return watchTurns(context, watched)
  }
  const seen = await watchHere(context, {
    ...watching,
    alone: watched.before.open === undefined,
    echoed: watched.echoed === true,
    run: watching.thread.send(message),
  })
  shown.add(seen.run)
  return seen.code
}

export interface WatchedTurn {
  readonly watching: Omit<TurnWatchOptions, 'run'>
  /** Where the thread stood before anything was asked of it here. */
  readonly before: ThreadStanding
  /** Turns that were shown. */
  readonly shown: Set<string>
  /** The terminal shows the message already: a person typed it there. */
  readonly echoed?: boolean
}

/** What a pause, a failure, a stopped process or kept mail left to do. */
async function goOn({ client, thread }: Omit<TurnWatchOptions, 'run'>): Promise<void> {
  // Answered after all mail that was kept before, so that the turns it asks for are there to be seen.
  await thread.resume()
  // The same for children that wait for someone, who may have answered. Paused ones stay so.
  const below = (await subtree(client, await thread.info())).filter(
    ({ thread: id, status }) => id !== thread.id && status.startsWith('awaiting_'),
  )
  for (const child of below) await (await client.threads.get(child.thread)).resume()
}

/** Shows the turns that nobody has seen yet; stops at one that waits for people. */
async function watchTurns(
  context: CommandContext,
  { watching, before, shown }: WatchedTurn,
): Promise<ExitCode | undefined> {
  let code: ExitCode | undefined
  for await (const turn of turnsSince(watching.thread, before)) {
    if (shown.has(turn.id)) continue
    const seen = await watchHere(context, { ...watching, run: turn })
    shown.add(turn.id).add(seen.run)
    code = seen.code
    if (code === exitCode.waiting) return code
  }
  return code
}

/**
 * Waits until everything rests or waits for people: children that nobody waits for are let finish, and what they say
 * may start further turns, which are shown like the first.
 */
export async function watchToEnd(
  context: CommandContext,
  watched: WatchedTurn,
  first: ExitCode | undefined,
): Promise<ExitCode> {
  const { client, thread } = watched.watching
  const { out, store } = context
  let code = first
  for (let more: ExitCode | undefined = first; code !== exitCode.waiting; code = more ?? code) {
    const busy = (await subtree(client, await thread.info()))
      .filter(({ thread: id, rest }) => !rest && id !== thread.id)
      .map(({ thread: id }) => id)
    if (busy.length > 0)
      out.note(
        `${counted(busy.length, 'child is', 'children are')} still at work; this waits for them (Ctrl-C: they go ` +
          `on whenever a host serves the store)`,
        { thread: thread.id, busy },
      )
    await thread.settled({ tree: true })
    more = await watchTurns(context, watched)
    if (more === undefined) break
  }
  if (code === exitCode.waiting) {
    // A child that reports only when it likes may be at work.
    await thread.settled({ tree: true })
    return code
  }
  const asked = (await client.inbox.list({ root: (await thread.info()).root })).filter(({ path }) =>
    path.includes(thread.id),
  )
  if (asked.length > 0) {
    const command = commandLine(store, 'skein', 'inbox')
    out.note(`${counted(asked.length, 'call waits', 'calls wait')} for someone; see ${command}`, {
      thread: thread.id,
      command,
    })
    return exitCode.waiting
  }
  if (code !== undefined) return code
  const status = await thread.status()
  out.note(`nothing is outstanding: thread ${thread.id} is ${status}`, { thread: thread.id, status })
  return exitOfStatus(status)
}
