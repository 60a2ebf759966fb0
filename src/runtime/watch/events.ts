/**
 * Following a tree as an iteration: records of `watch` as events with their place, and deltas.
 *
 * - With `maxBuffered` at most that many items, and some megabytes of them (and the rest of one commit), wait for the
 *   reader. A live signal beyond that ends the iteration with STREAM_LAGGED, after the items that were buffered.
 * - What is given is the reader's own: it may be changed.
 * - The past is read as fast as it is taken, a few commits ahead, whatever the limit: it can be read again.
 */
import type { Backend } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { copyOf } from '../../core/json.js'
import type { DeltaEvent, DurableEvent, SkeinEvent } from '../../core/records/event.js'
import { callId } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { createQueue } from './async-queue.js'
import type { CommitSignal } from './topics.js'
import { textSize } from './text-size.js'
import { lagged, mostWaitingBytes, removed } from './watch-errors.js'
import { watch } from './watch.js'
import type { WatchOptions } from './watch.js'

export interface FollowOptions extends WatchOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

export interface FollowedEvent {
  readonly event: DurableEvent | DeltaEvent
  readonly record?: ThreadRecord
}

type Queued<Item> = { readonly item: Item } | { readonly ended: true; readonly failed?: unknown }

/** How records, deltas and a reset become items of the iteration. */
interface ItemMaker<Item> {
  records(committed: CommitSignal): readonly Item[]
  delta?(event: DeltaEvent): readonly Item[]
  reset(path: readonly string[]): Item
}

export function follow(backend: Backend, options: FollowOptions): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, thread = root } = options
  return iterate<SkeinEvent>(backend, options, {
    records: (committed) => committed.records.map((record) => toEvent(record, committed)),
    delta: (event) => [event],
    reset: (path) => ({ type: 'tree.reset', thread, path }),
  })
}

/** Events, durable ones with their records; a reset is an error. */
export function followWithRecords(
  backend: Backend,
  options: FollowOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { root, thread = root } = options
  return iterate<FollowedEvent>(backend, options, {
    records: (committed) => committed.records.map((record) => ({ record, event: toEvent(record, committed) })),
    delta: (event) => [{ event }],
    reset() {
      throw removed(thread)
    },
  })
}

/** Records as they were committed, without deltas; a reset is an error. */
export function followRecords(backend: Backend, options: FollowOptions): AsyncGenerator<CommitSignal, void, undefined> {
  const { root, thread = root } = options
  return iterate<CommitSignal>(backend, options, {
    records: (committed) => [committed],
    reset() {
      throw removed(thread)
    },
  })
}

/** Items of the past that may wait for the reader, and about how long they are. */
const readAhead = 8
const readAheadBytes = 2 ** 20

async function* iterate<Item>(
  backend: Backend,
  options: FollowOptions,
  { records, delta, reset }: ItemMaker<Item>,
): AsyncGenerator<Item, void, undefined> {
  const { signal, maxBuffered = Infinity } = options
  const queue = createQueue<Queued<Item>>(signal)
  let stop = (): void => undefined
  const end = (failed?: unknown): void => {
    stop()
    queue.push({ ended: true, failed })
  }
  const mostBytes = maxBuffered === Infinity ? Infinity : mostWaitingBytes
  const push = (items: readonly Item[], from: CommitSignal | DeltaEvent): void => {
    if (queue.size >= maxBuffered || queue.bytes >= mostBytes) return end(lagged(options))
    // Whoever reads all as it comes pays for no measure: what is alone is taken next.
    const isMeasured = 'size' in from || queue.size > 0
    const size = isMeasured ? sizeOf(from) / Math.max(1, items.length) : 0
    for (const item of items) queue.push({ item }, size)
  }
  const isFull = (): boolean => queue.size >= Math.min(maxBuffered, readAhead) || queue.bytes >= readAheadBytes
  const room = async (): Promise<void> => {
    while (isFull()) await queue.taken()
  }
  const restart = (path: readonly string[]): void => {
    try {
      queue.push({ item: reset(path) })
    } catch (thrown) {
      end(thrown)
    }
  }
  try {
    stop = watch(backend, options, {
      records: (committed) => push(records(ownOf(committed)), committed),
      ...(delta && { delta: (event: DeltaEvent) => push(delta(copyOf(event)), event) }),
      reset: restart,
      isFull,
      room,
      ended: end,
    })
    for (let next = await queue.next(); next; next = await queue.next()) {
      if ('ended' in next) {
        if (next.failed === undefined) return
        throw next.failed
      }
      yield next.item
    }
  } finally {
    stop()
    queue.close()
  }
}

/** As it would be read from the journal: what a reader makes of it is seen by nobody else, nor by the thread. */
function ownOf(committed: CommitSignal): CommitSignal {
  if ('size' in committed) return committed
  const { thread, path, position, records } = committed
  return { kind: 'committed', thread, path, position, records: records.map(copyOf) }
}

function sizeOf(from: CommitSignal | DeltaEvent): number {
  return 'kind' in from ? (from.size ?? textSize(from.records)) : textSize(from)
}

function toEvent(record: ThreadRecord, { thread, path, position }: CommitSignal): DurableEvent {
  const origin = { thread, path: [...path], cursor: `${position}.${record.seq}` }
  if (record.type === 'call.returned') {
    const { seq, at, step, index, tool, outcome, text, note, media, provisional, again, changes } = record
    const { preliminaries, took } = record
    const more = defined({ text, note, media, provisional, again, changes, preliminaries, took })
    return { type: 'tool.result', ...origin, seq, at, step, index, call: callId(step, index), tool, outcome, ...more }
  }
  if (record.type === 'model.replied')
    return { ...record, ...origin, callIds: record.calls.map((_, index) => callId(record.step, index)) }
  // The past of a fork is no news, and may be long.
  if (record.type === 'thread.based') return { ...record, past: { parts: [] }, blobs: [], ...origin }
  return { ...record, ...origin }
}
