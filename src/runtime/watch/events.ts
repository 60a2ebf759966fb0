/**
 * Following a tree as events, for whoever likes to iterate: the records of `watch` with their place, and deltas.
 *
 * - With `maxBuffered` no more than that (and the rest of one commit) waits for whoever iterates: the past is read
 *   as fast as it is taken, and of what comes live one too many ends the iteration with STREAM_LAGGED, after what
 *   was kept.
 */
import type { Backend } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import type { DeltaEvent, DurableEvent, SkeinEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'
import { callId } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { createQueue } from './async-queue.js'
import type { CommitSignal } from './topics.js'
import { lagged, removed, watch } from './watch.js'
import type { WatchOptions } from './watch.js'

export interface FollowOptions extends WatchOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

export interface FollowedEvent {
  readonly event: DurableEvent | DeltaEvent
  readonly record?: ThreadRecord
}

type Heard<Item> = { readonly item: Item } | { readonly ended: true; readonly failed?: unknown }

/** What a watcher is given, as items of the iteration. */
interface Making<Item> {
  records(committed: CommitSignal): readonly Item[]
  delta?(event: DeltaEvent): readonly Item[]
  reset(path: readonly string[]): Item
}

export function follow(backend: Backend, following: FollowOptions): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, thread = root } = following
  return iterate<SkeinEvent>(backend, following, {
    records: (committed) => committed.records.map((record) => toEvent(record, committed)),
    delta: (event) => [event],
    reset: (path) => ({ type: 'tree.reset', thread, path }),
  })
}

/** Events, durable ones with the record that they were made of; the end of the thread is an error. */
export function followWithRecords(
  backend: Backend,
  following: FollowOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { root, thread = root } = following
  return iterate<FollowedEvent>(backend, following, {
    records: (committed) => committed.records.map((record) => ({ record, event: toEvent(record, committed) })),
    delta: (event) => [{ event }],
    reset() {
      throw removed(thread)
    },
  })
}

/** Records as they are. */
export function followRecords(
  backend: Backend,
  following: FollowOptions,
): AsyncGenerator<CommitSignal, void, undefined> {
  const { root, thread = root } = following
  return iterate<CommitSignal>(backend, following, {
    records: (committed) => [committed],
    reset() {
      throw removed(thread)
    },
  })
}

async function* iterate<Item>(
  backend: Backend,
  following: FollowOptions,
  { records, delta, reset }: Making<Item>,
): AsyncGenerator<Item, void, undefined> {
  const { signal, maxBuffered = Infinity } = following
  if (maxBuffered !== Infinity) checkCount(maxBuffered)
  const queue = createQueue<Heard<Item>>(signal)
  const end = (failed?: unknown): void => {
    stop()
    queue.push({ ended: true, failed })
  }
  const give = (items: readonly Item[]): void => {
    if (queue.size < maxBuffered) for (const item of items) queue.push({ item })
    else end(lagged(following))
  }
  const room = async (): Promise<void> => {
    while (queue.size >= maxBuffered) await queue.taken()
  }
  const restart = (path: readonly string[]): void => {
    try {
      queue.push({ item: reset(path) })
    } catch (thrown) {
      end(thrown)
    }
  }
  const stop = watch(backend, following, {
    records: (committed) => give(records(committed)),
    ...(delta && { delta: (event: DeltaEvent) => give(delta(event)) }),
    reset: restart,
    room,
    ended: end,
  })
  try {
    for (let next = await queue.next(); next; next = await queue.next()) {
      if ('item' in next) yield next.item
      else if (next.failed === undefined) return
      else throw next.failed
    }
  } finally {
    stop()
    queue.close()
  }
}

function checkCount(maxBuffered: number): void {
  if (Number.isInteger(maxBuffered) && maxBuffered > 0) return
  throw new SkeinError('BAD_OPTION', `maxBuffered is a number of events, 1 or more; this is ${String(maxBuffered)}`)
}

function toEvent(record: ThreadRecord, { thread, path, position }: CommitSignal): DurableEvent {
  const place = { thread, path, cursor: `${position}.${record.seq}` }
  if (record.type === 'call.returned') {
    const { seq, at, step, index, tool, outcome, text, note, media, provisional, again, changes, preliminaries } =
      record
    const more = { ...defined({ text, note, media, provisional, again, changes, preliminaries }) }
    return { type: 'tool.result', ...place, seq, at, step, index, call: callId(step, index), tool, outcome, ...more }
  }
  if (record.type === 'model.replied')
    return { ...record, ...place, callIds: record.calls.map((_, index) => callId(record.step, index)) }
  return { ...record, ...place }
}
