/**
 * Points of a thread's past, and the number of the record that each of them is. A point lies between two records: all
 * up to `seq` has happened, nothing after it.
 *
 * - A point that the thread does not have is `BAD_OPTION`, and says what there is.
 * - Steps are numbered once for ever, so a step names one point, also in a thread that was rewound.
 */
import { z } from 'zod'
import { fold } from '../../../../actors/thread/fold.js'
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import type { StoredEntry } from '../../../backend/port.js'
import { SkeinError } from '../../../core/failure.js'
import type { Point } from '../../../core/point.js'
import type { ThreadRecord } from '../../../core/records/record.js'
import { chainStart, createEntryReader } from '../../journal/journal.js'
import { lazy } from '../../../core/schema.js'

export type { Point }

const count = z.number().int().min(0)

export const pointSchema = lazy((): z.ZodType<Point> =>
  z.union(
    [
      z.strictObject({ step: count }),
      z.strictObject({ turn: z.string().min(1) }),
      z.strictObject({ message: z.string().min(1) }),
      z.strictObject({ seq: count.min(1) }),
      z.strictObject({ cursor: z.string().regex(/^\d+\.\d+$/, 'is not a cursor; pass the `cursor` of an event') }),
    ],
    'must be one of { step }, { turn }, { message }, { seq } and { cursor }',
  ),
)

/** The journal of one thread, read whole. */
export interface ReadThread {
  readonly thread: string
  readonly entries: readonly StoredEntry[]
}

/** Its records; the chain of hashes is checked on the way. */
export function* recordsIn({ thread, entries }: ReadThread): Generator<ThreadRecord> {
  const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
  for (const entry of entries) yield* reader.unpack(entry)
}

/** The number of the last record before the point. */
export function seqAt(read: ReadThread, point: Point | undefined): number {
  if (point === undefined) return lastSeq(read)
  if ('seq' in point) return known(read, point.seq)
  if ('cursor' in point) return ofCursor(read, point.cursor)
  if ('step' in point) return ofStep(read, point.step)
  return 'turn' in point ? ofTurn(read, point.turn) : ofMessage(read, point.message)
}

function lastSeq({ entries }: ReadThread): number {
  const last = entries.at(-1)
  return last ? last.first + last.count - 1 : 0
}

function known(read: ReadThread, seq: number): number {
  if (seq > lastSeq(read)) throw noPoint(read, `no record ${seq}: its last one is ${lastSeq(read)}`)
  return seq
}

/** Of another thread of its tree: what this one had at that position. */
function ofCursor(read: ReadThread, cursor: string): number {
  const [position = 0, seq = 0] = cursor.split('.').map(Number)
  let found = 0
  for (const { first, count: records, position: at } of read.entries) {
    if (at < position) found = first + records - 1
    else if (at === position && seq >= first && seq < first + records) found = seq
  }
  if (found === 0) throw noPoint(read, `no record up to the cursor ${cursor}`)
  return found
}

function ofStep(read: ReadThread, step: number): number {
  const state = createState(read.thread)
  for (const record of recordsIn(read)) {
    fold(state, record)
    if (hasResults(state, step)) return record.seq
    if (record.type === 'thread.based' && state.step > step)
      throw noPoint(read, `no step ${step} of its own: it begins after step ${state.step} of ${record.from.thread}`)
  }
  throw noPoint(read, `no step ${step} with all its results: it has begun ${state.step}`)
}

function hasResults({ step, slots, turn, seq }: ThreadState, wanted: number): boolean {
  if (step !== wanted || slots.open > 0 || seq === 0) return false
  return wanted > 0 || turn !== undefined
}

function ofTurn(read: ReadThread, run: string): number {
  let open = false
  let received: number | undefined
  for (const record of recordsIn(read)) {
    if (record.type === 'message.received' && record.id === run && !open) received = record.seq
    if (record.type === 'turn.started') {
      if (record.run === run) return (received ?? record.seq) - 1
      open = true
    }
    if (record.type === 'turn.ended') open = false
  }
  throw noPoint(read, `no turn ${JSON.stringify(run)}`)
}

function ofMessage(read: ReadThread, id: string): number {
  for (const record of recordsIn(read))
    if (record.type === 'message.received' && record.id === id) return record.seq - 1
  throw noPoint(read, `no message ${JSON.stringify(id)} that was sent to it`)
}

function noPoint({ thread }: ReadThread, what: string): SkeinError {
  return new SkeinError('BAD_OPTION', `thread ${thread} has ${what}; thread.timeline() gives its points`, {
    data: { thread },
  })
}
