/**
 * Following a tree as events, for whoever likes to iterate: the records of `watch` with their place, and deltas.
 */
import type { Backend } from '../backend/port.js'
import type { DurableEvent, SkeinEvent } from '../core/event.js'
import { callId } from '../core/message.js'
import type { ThreadRecord } from '../core/record.js'
import { createQueue } from './queue.js'
import type { Committed } from './news.js'
import { watch } from './watch.js'
import type { Watching } from './watch.js'

export interface Following extends Watching {
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

type Heard = { readonly event: SkeinEvent } | { readonly ended: true; readonly failed?: unknown }

export async function* follow(backend: Backend, following: Following): AsyncGenerator<SkeinEvent, void, undefined> {
  const queue = createQueue<Heard>(following.signal)
  const stop = watch(backend, following, {
    records: (committed) => committed.records.forEach((record) => queue.push({ event: toEvent(record, committed) })),
    delta: (event) => queue.push({ event }),
    ended: (failed) => queue.push({ ended: true, failed }),
  })
  try {
    for (let heard = await queue.next(); heard; heard = await queue.next()) {
      if ('event' in heard) yield heard.event
      else if (heard.failed === undefined) return
      else throw heard.failed
    }
  } finally {
    stop()
    queue.close()
  }
}

function toEvent(record: ThreadRecord, { thread, path, position }: Committed): DurableEvent {
  const place = { thread, path, cursor: `${position}.${record.seq}` }
  if (record.type === 'call.returned') {
    const { seq, at, step, index, tool, outcome, text, note, provisional, again, changes, preliminaries } = record
    const more = { ...(text !== undefined && { text }), ...(note !== undefined && { note }), ...(provisional && { provisional }), ...(again && { again }), ...(changes && { changes }), ...(preliminaries && { preliminaries }) }
    return { type: 'tool.result', ...place, seq, at, step, index, call: callId(step, index), tool, outcome, ...more }
  }
  if (record.type === 'model.replied') return { ...record, ...place, callIds: record.calls.map((_, index) => callId(record.step, index)) }
  return { ...record, ...place }
}
