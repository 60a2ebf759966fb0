/**
 * All that happens in a turn: to its thread, and to the threads below it, which work for it. One subscription for the whole
 * tree, so that a child is never told to have ended before it began, nor after the turn that waited for it.
 */
import type { Run, SkeinClient, SkeinEvent, Thread } from '../index.js'

export interface TurnEvent {
  readonly event: SkeinEvent
  /** To the turn; else it is about another turn of the thread. */
  readonly belongs: boolean
}

export async function* turnEvents(client: SkeinClient, thread: Thread, run: Run): AsyncGenerator<TurnEvent> {
  const { root } = await thread.info()
  const turn = createTurn(thread.id, run.id)
  // A turn is found by its run; the tree is followed from there.
  let from: string | undefined
  for await (const event of run.fullStream) {
    yield { event, belongs: turn.take(event) }
    if (turn.over()) return
    if ('cursor' in event) ({ cursor: from } = event)
    if (from !== undefined) break
  }
  for await (const event of client.events({ root, ...(from !== undefined && { from }) })) {
    if (!event.path.includes(thread.id)) continue
    yield { event, belongs: turn.take(event) }
    if (turn.over()) return
  }
  const { SkeinError } = await import('../index.js')
  throw new SkeinError('STORE_CLOSED', `the store was closed while a turn of thread ${thread.id} was watched; the turn is kept`)
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
