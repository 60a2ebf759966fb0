/**
 * Watching turns: shows one until it ends or stands still, and finds those that are under way.
 *
 * WA1 A turn that is paused or waits for a person has no end to wait for: watching it stops there.
 */
import type { Run, SkeinEvent, Thread } from '../index.js'
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
  const held = new Set<string>()
  let paused = false
  let first = true
  return {
    async after(event: SkeinEvent): Promise<Standstill | undefined> {
      if (!('seq' in event)) return undefined
      if (event.type === 'thread.paused') paused = true
      if (event.type === 'thread.resumed') paused = false
      // Children come back by themselves; everything else waits for a person.
      if (event.type === 'call.held' && event.why !== 'children') held.add(`${event.step}/${event.index}`)
      if (event.type === 'tool.result') held.delete(`${event.step}/${event.index}`)
      // The first: the thread may have been paused before this turn began.
      if (!paused && held.size === 0 && !first) return undefined
      first = false
      // What is read here is as new as the event or newer: an old pause that is over does not stop us.
      const { rest, status } = await thread.info()
      return rest && (status === 'paused' || (status === 'waiting' && held.size > 0)) ? status : undefined
    },
  }
}

/** Everything durable at this moment, oldest first. */
export async function* eventsSoFar(thread: Thread): AsyncGenerator<SkeinEvent> {
  const { seq } = await thread.info()
  for await (const event of thread.events()) {
    yield event
    if ('seq' in event && event.seq >= seq) return
  }
}

/** Where a thread stood at some moment. */
export interface Standing {
  readonly seq: number
  /** The turn that had begun and not ended. */
  readonly open?: string
}

export async function standingOf(thread: Thread): Promise<Standing> {
  let seq = 0
  let open: string | undefined
  for await (const event of eventsSoFar(thread)) {
    if ('seq' in event) seq = event.seq
    if (event.type === 'turn.started') open = event.run
    if (event.type === 'turn.ended') open = undefined
  }
  return { seq, ...(open !== undefined && { open }) }
}

/** The turns that were open then or began since, oldest first. */
export async function runsSince(thread: Thread, { seq, open }: Standing): Promise<readonly string[]> {
  const runs = open === undefined ? [] : [open]
  for await (const event of eventsSoFar(thread)) if (event.type === 'turn.started' && event.seq > seq) runs.push(event.run)
  return runs
}
