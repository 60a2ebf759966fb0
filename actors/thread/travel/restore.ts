/**
 * Restoring: a thread goes back to an earlier state of its own. What its model reads and its tools find is as it was;
 * what was used up is not given back: numbers of steps and names, what was spent, what was accepted and told.
 *
 * - In the middle of a turn, the turn is one that failed there: `resume` goes on with it, a message begins another.
 * - A message that waited at that point waits again, and the thread is paused: whoever goes back says when it goes on.
 * - Children that were made after that point are told to end. Schedules that have been made since are gone, and those
 *   that have come or were taken back do not come again.
 */
import type { Json } from '../../../src/core/json.js'
import type { Fact } from '../../../src/core/records/record.js'
import { schedulesIn, schedulesKey } from '../../../src/core/records/schedule.js'
import type { ThreadRewound } from '../../../src/core/records/travel.js'
import { withItem } from '../../../src/core/lists.js'
import { createSlots } from '../calls/slots.js'
import type { ThreadState } from '../state.js'
import { endTurn } from '../turn/turn.js'

type Rewound = ThreadRewound & { readonly seq: number; readonly at: number }

/** `then`: the state that it goes back to. Nothing of it is changed: it may be restored again. */
export function restore(state: ThreadState, then: ThreadState, record: Rewound): true {
  const { transcript, files, agent, opening, title, voices, archived, said, edits, lastTurn } = then
  const values = restoredValues(state, then)
  endNewChildren(state, then)
  Object.assign(state, {
    transcript: { skipped: transcript.skipped, items: [...transcript.items] },
    files,
    agent,
    opening,
    title,
    voices: [...voices],
    archived,
    said,
    edits,
    lastTurn,
    values,
    contexts: structuredClone(then.contexts),
    queue: [...then.queue, ...newlyQueued(state, then)],
    turn: undefined,
    slots: createSlots([]),
    envOfStep: undefined,
    unknownEffects: { ...then.unknownEffects },
    lineage: { ...state.lineage, rewound: record.seq, ...(then.queue.some(beginsTurn) && { holds: true }) },
  })
  return true
}

function beginsTurn({ delivery }: ThreadState['queue'][number]): boolean {
  return delivery !== 'store'
}

/** It went back to where a message waited for its turn. */
export function dueRewoundPause({ lineage, position }: ThreadState): Fact | undefined {
  if (!lineage.holds || position.gate !== 'open') return undefined
  return { type: 'thread.paused', reason: 'rewound to where a message waits; resume goes on with it' }
}

/** The state of a turn that is left in the middle, for `restore`. */
export function leaveTurn(then: ThreadState, at: number): ThreadState {
  const { turn } = then
  if (turn) endTurn(then, { type: 'turn.ended', run: turn.run, reason: 'rewound', at })
  return then
}

/** Versions only grow: whoever has read a value sees that it is another. */
function restoredValues(state: ThreadState, then: ThreadState): ThreadState['values'] {
  const restored: ThreadState['values'] = {}
  for (const key of new Set([...Object.keys(state.values), ...Object.keys(then.values)])) {
    const [now, before] = [state.values[key], then.values[key]]
    const value = key === schedulesKey ? keptSchedules(now?.value, before?.value) : before?.value
    const version = Math.max(now?.version ?? 0, before?.version ?? 0) + 1
    restored[key] = value === undefined ? { version } : { value, version }
  }
  return restored
}

function keptSchedules(now: Json | undefined, before: Json | undefined): Json | undefined {
  const there = new Set(schedulesIn(before).map(({ id }) => id))
  const kept = schedulesIn(now).filter(({ id }) => there.has(id))
  return kept.length === 0 ? undefined : kept.map((each) => ({ ...each }))
}

/** What came while effects were undone waits for the thread that it finds. */
function newlyQueued({ queue }: ThreadState, then: ThreadState): ThreadState['queue'] {
  const known = new Set(then.queue.map(({ message }) => message.id))
  return queue.filter(({ message }) => !known.has(message.id))
}

function endNewChildren(state: ThreadState, then: ThreadState): void {
  for (const [reference, { id, ended }] of state.children)
    if (!ended && !then.children.has(reference)) state.toStop = withItem(state.toStop, { child: id, how: 'terminate' })
}
