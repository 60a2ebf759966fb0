/** Shows a turn until it ends or stands still, and finds the turns of a thread that are still to be shown. */
import { defined } from '../../core/defined.js'
import type { RemoteRun, RemoteThread } from '../../client.js'
import type { Ask } from './ask.js'
import { nextSteps } from './waiting-for.js'
import type { ExitCode } from '../exit.js'
import { createStandstills } from './standstill.js'
import type { CommandContext } from '../run-command.js'
import { createSummary, exitOfSummary } from './summary.js'
import type { StandstillEntry, TurnSummary } from './summary.js'
import { turnChanges } from './changes.js'
import { createView } from './view.js'
import type { View } from './view.js'
import type { AnyClient } from '../store.js'

export interface TurnWatchOptions {
  readonly client: AnyClient
  readonly thread: RemoteThread
  readonly run: RemoteRun
  /** The command that goes on with it where no other process serves it; undefined when that was printed already. */
  readonly goOn?: () => string | undefined
  /** Asks the person who watches for what the turn waits for. */
  readonly ask?: Ask
  /** Called with the first record of the turn that is shown, before that is. */
  readonly first?: (seq: number) => Promise<void>
  /** No other turn of the thread is open. */
  readonly alone?: boolean
  /** The terminal shows the message of the run already: a person typed it there. */
  readonly echoed?: boolean
}

export interface WatchResult {
  readonly code: ExitCode
  /** The turn that was shown: that of a message that steers is another one. */
  readonly run: string
}

/** Shows a turn and, when it stands still, the commands that let it go on. */
export async function watchHere(
  { out, store }: CommandContext,
  { goOn, echoed, ...watched }: TurnWatchOptions,
): Promise<WatchResult> {
  const view = createView(out, {
    thread: watched.thread.id,
    ...defined({ echoed: echoed ? watched.run.id : undefined }),
  })
  const summary = await watchTurn(watched, view)
  const watchedTurn = { code: exitOfSummary(summary), run: summary.run }
  // A program has what is waited for in the summary.
  if (!summary.standstill || out.mode === 'json') return watchedTurn
  const command = goOn?.()
  if (!goOn || command !== undefined)
    for (const line of nextSteps(summary, { store, ...defined({ goOn: command }) })) out.note(line)
  return watchedTurn
}

async function watchTurn(
  { client, thread, run, ask, first, alone = false }: Omit<TurnWatchOptions, 'goOn' | 'echoed'>,
  view: View,
): Promise<TurnSummary> {
  const summary = createSummary(thread.id, run.id)
  const standstills = createStandstills(client, thread)
  let standstill: StandstillEntry | undefined
  let begun = false
  for await (const { change, belongs } of turnChanges(thread, { run, alone })) {
    if (belongs) {
      if (!begun && change.event && 'seq' in change.event) {
        begun = true
        await first?.(change.event.seq)
      }
      summary.take(change)
      view.take(change)
    }
    standstill = await standstills.after(change)
    if (standstill && !(await ask?.(standstill))) break
  }
  const sum = summary.sum(standstill)
  view.end(sum)
  return sum
}

/** Where a thread stood at some moment. */
export interface ThreadStanding {
  readonly seq: number
  /** The turn that was open. */
  readonly open?: string
}

export async function standingOf(thread: RemoteThread): Promise<ThreadStanding> {
  // In this order: a turn that begins in between is found twice rather than never.
  const { seq } = await thread.info()
  const open = await thread.current()
  return { seq, ...defined({ open: open?.id }) }
}

/** The turns that were open then or began since, oldest first; looks for more when the last one was shown. */
export async function* turnsSince(thread: RemoteThread, { seq, open }: ThreadStanding): AsyncGenerator<RemoteRun> {
  if (open !== undefined) yield thread.run(open)
  let from: string | undefined
  for (let found = true; found;) {
    found = false
    for await (const event of thread.events({ until: 'now', ...defined({ from }) })) {
      if ('cursor' in event) from = event.cursor
      if (event.type !== 'turn.started' || event.seq <= seq || event.run === open) continue
      found = true
      yield thread.run(event.run)
    }
  }
}
