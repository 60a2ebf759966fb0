/**
 * Watching turns: shows one until it ends or stands still, and finds those that are under way.
 *
 * WA1 A turn that is paused or waits for a person has no end to wait for: watching it stops there, after all that it has
 *     done so far was shown.
 */
import type { Run, SkeinEvent, Thread } from '../index.js'
import { awaitedOf, nextSteps } from './awaited.js'
import { createCalls } from './calls.js'
import { isStandstill } from './exit.js'
import type { ExitCode } from './exit.js'
import type { Around } from './perform.js'
import { createTally, exitOfTally } from './tally.js'
import type { Halt, Tally } from './tally.js'
import { createView } from './view.js'
import type { View } from './view.js'

export interface Watching {
  readonly thread: Thread
  readonly run: Run
  /** How it goes on where no other process serves it; undefined when that was told already. */
  readonly goOn?: () => string | undefined
}

/** Shows a turn, and when it stands still what to type. */
export async function watchHere({ out, store }: Around, { thread, run, goOn }: Watching): Promise<ExitCode> {
  const tally = await watchTurn(thread, run, createView(out))
  // A program has it in the tally.
  if (!tally.standstill || out.mode === 'json') return exitOfTally(tally)
  const command = goOn?.()
  if (!goOn || command !== undefined) for (const line of nextSteps(tally, { store, ...(command !== undefined && { goOn: command }) })) out.note(line)
  return exitOfTally(tally)
}

async function watchTurn(thread: Thread, run: Run, view: View): Promise<Tally> {
  const tally = createTally(thread.id, run.id)
  const halts = createHalts(thread)
  let halt: Halt | undefined
  for await (const event of run.fullStream) {
    tally.take(event)
    view.take(event)
    halt = await halts.after(event)
    if (halt) break
  }
  const sum = tally.sum(halt)
  view.end(sum)
  return sum
}

function createHalts(thread: Thread) {
  const calls = createCalls()
  const held = new Set<string>()
  let run: string | undefined
  let active = false
  let paused = false
  // It may have been paused before this turn began.
  let stands = true
  return {
    async after(event: SkeinEvent): Promise<Halt | undefined> {
      if (!('seq' in event)) return undefined
      if ('run' in event) run = event.run
      if (event.type === 'turn.started') active = true
      if (event.type === 'thread.paused') paused = true
      if (event.type === 'thread.resumed') paused = false
      for (const news of calls.take(event)) {
        // Children come back by themselves; everything else waits for a person.
        if (news.state === 'held' && news.why !== 'children') held.add(news.call.id)
        else held.delete(news.call.id)
      }
      if (!paused && held.size === 0 && !stands) return undefined
      // What is read here is as new as the event or newer: an old pause that is over does not stop us.
      const head = await thread.info()
      stands = head.rest && isStandstill(head.status)
      if (!isStandstill(head.status) || !stands) return undefined
      if (head.seq > event.seq && (await hasMore(thread, event.cursor, (later) => ('run' in later ? later.run === run : active)))) return undefined
      return { standstill: head.status, pending: awaitedOf(head) }
    },
  }
}

/** Whether something that belongs to the run is told after this (WA1): not a message for a later turn, nor what happens before its own. */
async function hasMore(thread: Thread, from: string, belongs: (event: SkeinEvent) => boolean): Promise<boolean> {
  for await (const event of thread.events({ from, until: 'now' })) if (belongs(event)) return true
  return false
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
