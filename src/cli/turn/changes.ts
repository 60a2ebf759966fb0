/**
 * The changes of a turn: of its thread, and of the threads below it, which work for it. One view of the whole tree,
 * so that a child never seems to end before it began, nor after the turn that waited for it.
 */
import type { RemoteRun, RemoteThread, RemoteThreadChange } from '../../client.js'

export interface TurnChange {
  readonly change: RemoteThreadChange
  /** Whether it is about the turn; else it is about another turn of the thread. */
  readonly belongs: boolean
}

/**
 * `alone`: no other turn was open when the message was sent. Then nothing is asked of the store before the view begins,
 * and no word of a tool that speaks at once is missed.
 */
export async function* turnChanges(
  thread: RemoteThread,
  { run, alone }: { readonly run: RemoteRun; readonly alone: boolean },
): AsyncGenerator<TurnChange> {
  if (!alone) return yield* changesAmongTurns(thread, run)
  for await (const change of run.view({ tree: true })) yield { change, belongs: true }
}

/**
 * Follows everything that happens to the thread: a turn that the message waits behind holds it up when it stands
 * still.
 */
async function* changesAmongTurns(thread: RemoteThread, run: RemoteRun): AsyncGenerator<TurnChange> {
  await run.accepted()
  const turn = createTurn(thread.id, await turnOf(run))
  const open = await thread.current()
  const first = await firstChange(open && turn.run === run.id ? open : run)
  if (!first?.event || !('cursor' in first.event)) return
  yield { change: first, belongs: turn.take(first.event) }
  for await (const change of thread.view({ tree: true, from: first.event.cursor })) {
    if (change.event) yield { change, belongs: turn.take(change.event) }
    if (turn.ended()) return
  }
  const { SkeinError } = await import('../../index.js')
  throw new SkeinError('STORE_CLOSED', `the store was closed while a turn of thread ${thread.id} was watched`)
}

interface Turn {
  readonly run: string
  /** The thread was forked in the middle of it. */
  readonly isCarried: boolean
}

/** The turn that reads the message: its own, or the one that it joined. */
async function turnOf(run: RemoteRun): Promise<Turn> {
  const { event } = (await firstChange(run)) ?? {}
  const own = event && 'run' in event && event.run !== undefined ? event.run : run.id
  return { run: own, isCarried: event?.type === 'thread.based' }
}

async function firstChange(run: RemoteRun): Promise<RemoteThreadChange | undefined> {
  for await (const change of run.view()) return change
  return undefined
}

function createTurn(thread: string, { run, isCarried }: Turn) {
  let active = isCarried
  let ended = false
  return {
    run,
    ended: () => ended,
    take(event: NonNullable<RemoteThreadChange['event']>): boolean {
      if (event.thread !== thread) return active
      if (event.type === 'turn.started' && event.run === run) active = true
      const endsThread = event.type === 'thread.terminated' || event.type === 'thread.ended'
      ended = endsThread || (event.type === 'turn.ended' && event.run === run)
      return 'run' in event ? event.run === run : active || endsThread
    },
  }
}
