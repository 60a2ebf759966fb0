/**
 * All that happens in a turn: to its thread, and to the threads below it, which work for it. One subscription for the
 * whole tree, so that a child is never told to have ended before it began, nor after the turn that waited for it.
 */
import type { Run, SkeinClient, SkeinEvent, Thread } from '../../index.js'

export interface TurnEvent {
  readonly event: SkeinEvent
  /** To the turn; else it is about another turn of the thread. */
  readonly belongs: boolean
}

/**
 * `alone`: no other turn was open when it was asked for. Then nothing is asked before its events: a tool may speak at
 * once.
 */
export async function* turnEvents(
  client: SkeinClient,
  thread: Thread,
  { run, alone }: { readonly run: Run; readonly alone: boolean },
): AsyncGenerator<TurnEvent> {
  const turn = createTurn(thread.id, run.id)
  for await (const event of alone ? run.fullStream : await eventsFor(client, thread, run)) {
    if (event.type === 'tree.reset') break
    if (!event.path.includes(thread.id)) continue
    yield { event, belongs: turn.take(event) }
    if (turn.over()) return
  }
  const { SkeinError } = await import('../../index.js')
  throw new SkeinError(
    'STORE_CLOSED',
    `the store was closed, or the thread deleted, while a turn of thread ${thread.id} was watched`,
  )
}

/** The run's own, unless it waits behind another turn, or joined one: what becomes of that one must be seen too. */
async function eventsFor(client: SkeinClient, thread: Thread, run: Run): Promise<AsyncIterable<SkeinEvent>> {
  await run.accepted()
  const open = await thread.current()
  if (!open || open.id === run.id) return run.fullStream
  const { root } = await thread.info()
  for await (const event of open.fullStream) if ('cursor' in event) return client.events({ root, from: event.cursor })
  return run.fullStream
}

function createTurn(thread: string, asked: string) {
  // A message that steers belongs to the turn that it joined.
  let run: string | undefined
  let active = false
  let over = false
  return {
    over: () => over,
    take(event: SkeinEvent): boolean {
      if (event.thread !== thread) return true
      if (run === undefined) run = 'run' in event ? event.run : asked
      if (event.type === 'turn.started' && event.run === run) active = true
      const ends = event.type === 'thread.terminated' || event.type === 'thread.ended'
      over = ends || (event.type === 'turn.ended' && event.run === run)
      return 'run' in event ? event.run === run : active || ends
    },
  }
}
