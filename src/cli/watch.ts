/**
 * Watching turns: shows one until it ends or stands still, and finds those that are under way.
 *
 * WA1 A turn that is paused or waits for a person has no end to wait for: watching it stops there.
 */
import type { Run, SkeinEvent, Thread } from '../index.js'
import { createCalls } from './calls.js'
import { createTally } from './tally.js'
import type { Standstill, Tally } from './tally.js'
import type { View } from './view.js'

export async function watchTurn(thread: Thread, run: Run, view: View): Promise<Tally> {
  const tally = createTally(thread.id, run.id)
  const stands = createStandstill(thread)
  let standstill: Standstill | undefined
  for await (const event of run.fullStream) {
    tally.take(event)
    view.take(event)
    standstill = await stands.after(event)
    if (standstill) break
  }
  const sum = tally.sum(standstill)
  view.end(sum)
  return sum
}

function createStandstill(thread: Thread) {
  const calls = createCalls()
  const held = new Set<string>()
  let paused = false
  let first = true
  return {
    async after(event: SkeinEvent): Promise<Standstill | undefined> {
      if (!('seq' in event)) return undefined
      if (event.type === 'thread.paused') paused = true
      if (event.type === 'thread.resumed') paused = false
      for (const news of calls.take(event)) {
        // Children come back by themselves; everything else waits for a person.
        if (news.state === 'held' && news.why !== 'children') held.add(news.call.id)
        if (news.state === 'answered') held.delete(news.call.id)
      }
      // The first: the thread may have been paused before this turn began.
      if (!paused && held.size === 0 && !first) return undefined
      first = false
      // What is read here is as new as the event or newer: an old pause that is over does not stop us.
      const { rest, status } = await thread.info()
      return rest && (status === 'paused' || (status === 'waiting' && held.size > 0)) ? status : undefined
    },
  }
}

/** Where a thread stood at some moment. */
export interface Standing {
  readonly seq: number
  /** The turn that had begun and not ended. */
  readonly open?: string
}

export async function standingOf(thread: Thread): Promise<Standing> {
  // In this order: a turn that begins in between is seen twice, not never.
  const { seq } = await thread.info()
  const open = await thread.current()
  return { seq, ...(open && { open: open.id }) }
}

/** The turns that were open then or began since, oldest first; looks for more when the last one was watched. */
export async function* turnsSince(thread: Thread, { seq, open }: Standing): AsyncGenerator<Run> {
  if (open !== undefined) yield thread.run(open)
  let from: string | undefined
  for (let found = true; found; ) {
    found = false
    for await (const event of thread.events({ until: 'now', ...(from !== undefined && { from }) })) {
      if ('cursor' in event) from = event.cursor
      if (event.type !== 'turn.started' || event.seq <= seq || event.run === open) continue
      found = true
      yield thread.run(event.run)
    }
  }
}
