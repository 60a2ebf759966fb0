/**
 * The turns of a thread that `run` and `chat` wait for, shown one after another until everything rests or waits for
 * people.
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

/** Shows the turn of the message; without one, what was outstanding. */
export async function showFirst(
  context: CommandContext,
  watched: WatchedTurn,
  message: SendMessage | undefined,
): Promise<ExitCode | undefined> {
  const { watching, shown } = watched
  if (message === undefined) {
    await resumeOutstanding(watching)
    return watchTurns(context, watched)
  }
  const result = await watchHere(context, {
    ...watching,
    alone: watched.before.open === undefined,
    echoed: watched.echoed === true,
    run: watching.thread.send(message),
    first: (seq) => showReverts(context, watched, seq),
  })
  shown.add(result.run)
  return result.code
}

/** Shows rewinds that were kept for a host and come before the record: they undo effects in turns of their own. */
async function showReverts(
  context: CommandContext,
  { watching, before, shown }: WatchedTurn,
  seq: number,
): Promise<void> {
  // Nothing else was there.
  if (seq <= before.seq + 1) return
  for await (const event of watching.thread.events({ until: 'now' })) {
    if ('seq' in event && event.seq >= seq) return
    if (event.type !== 'turn.started' || !event.rewind || event.seq <= before.seq) continue
    shown.add(event.run)
    await watchHere(context, { ...watching, run: watching.thread.run(event.run) })
  }
}

/** Shows the turn that is open, if one is, and what it waits for; resumes nothing. */
export async function showOutstanding(context: CommandContext, watched: WatchedTurn): Promise<void> {
  const { client, thread } = watched.watching
  const isBusy = (await subtree(client, await thread.info())).some(
    ({ rest, pending = [] }) => !rest || pending.length > 0,
  )
  if (isBusy) await watchToEnd(context, watched, await watchTurns(context, watched))
}

export interface WatchedTurn {
  readonly watching: Omit<TurnWatchOptions, 'run'>
  /** Where the thread stood before this command did anything. */
  readonly before: ThreadStanding
  /** Runs whose turns were shown. */
  readonly shown: Set<string>
  /** The terminal shows the message already: a person typed it there. */
  readonly echoed?: boolean
}

/** Resumes what a pause, a failure, a stopped process or kept mail left to do. */
async function resumeOutstanding({ client, thread }: Omit<TurnWatchOptions, 'run'>): Promise<void> {
  // Answered after all mail that was kept before, so that the turns of that mail have begun.
  await thread.resume()
  // The same for children that wait for a person, whose answer may be kept. Paused ones stay paused.
  const below = (await subtree(client, await thread.info())).filter(
    ({ thread: id, status }) => id !== thread.id && status.startsWith('awaiting_'),
  )
  for (const child of below) await (await client.threads.get(child.thread)).resume()
}

/** Shows the turns that were not shown yet; stops at one that waits for people. */
async function watchTurns(
  context: CommandContext,
  { watching, before, shown }: WatchedTurn,
): Promise<ExitCode | undefined> {
  let code: ExitCode | undefined
  for await (const turn of turnsSince(watching.thread, before)) {
    if (shown.has(turn.id)) continue
    const result = await watchHere(context, { ...watching, run: turn })
    shown.add(turn.id).add(result.run)
    code = result.code
    if (code === exitCode.waiting) return code
  }
  return code
}

/**
 * Waits until everything rests or waits for people: children that nobody waits for are let finish, and what they
 * report may start further turns, which are shown like the first.
 */
export async function watchToEnd(
  context: CommandContext,
  watched: WatchedTurn,
  first: ExitCode | undefined,
): Promise<ExitCode> {
  const { thread } = watched.watching
  let code = first
  for (let more: ExitCode | undefined = first; code !== exitCode.waiting; code = more ?? code) {
    await noteBusyChildren(context, watched)
    await thread.settled({ tree: true })
    more = await watchTurns(context, watched)
    if (more === undefined) break
  }
  if (code === exitCode.waiting) {
    // A child that reports only when it likes may still be at work.
    await thread.settled({ tree: true })
    return code
  }
  if (await notePending(context, watched.watching)) return exitCode.waiting
  if (code !== undefined) return code
  const status = await thread.status()
  context.out.note(`nothing is outstanding: thread ${thread.id} is ${status}`, { thread: thread.id, status })
  return exitOfStatus(status)
}

async function noteBusyChildren({ out }: CommandContext, { watching: { client, thread } }: WatchedTurn): Promise<void> {
  const busy = (await subtree(client, await thread.info()))
    .filter(({ thread: id, rest }) => !rest && id !== thread.id)
    .map(({ thread: id }) => id)
  if (busy.length === 0) return
  out.note(
    `${counted(busy.length, 'child is', 'children are')} still at work; this waits for them (Ctrl-C: they go ` +
      `on whenever a host serves the store)`,
    { thread: thread.id, busy },
  )
}

/** Whether calls of the thread, or of those below it, wait for a person. */
export async function notePending(
  { out, store }: CommandContext,
  { client, thread }: WatchedTurn['watching'],
): Promise<boolean> {
  const { root } = await thread.info()
  const items = (await client.inbox.list({ root })).filter(({ path }) => path.includes(thread.id))
  if (items.length === 0) return false
  const command = commandLine(store, 'skein', 'inbox')
  out.note(`${counted(items.length, 'call waits', 'calls wait')} for someone; see ${command}`, {
    thread: thread.id,
    command,
  })
  return true
}
