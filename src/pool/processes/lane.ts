/**
 * A lane: worker threads for calls of one kind, with a number of places on each.
 *
 * - A call goes to the thread with the fewest active calls, rather to one that has started than to one that has
 *   not. When each has some, a further thread is started for those that come next, up to `threads`.
 * - A thread that cannot be started costs those who waited for it their attempt; nobody waits for ever.
 * LN3 A thread that is stuck gets no calls, and what has not begun there goes to another. It does not count as
 *     one of `threads`, so that another may be started in its place, up to `mostThreads` in all. One without calls is
 *     ended.
 */
import type { Clock } from '../../core/clock.js'
import type { Failure } from '../../core/failure.js'
import { CallAttempt } from './attempt.js'
import type { AttemptResult, AttemptServices, WorkerCall } from './attempt.js'
import { createPlaces } from './places.js'
import { Worker } from './worker.js'
import type { WorkerOptions } from './worker.js'

export interface LaneOptions extends WorkerOptions {
  readonly clock: Clock
  readonly graceMs: number
  readonly threads: number
  readonly mostThreads: number
  /** Active calls on one thread. */
  readonly perThread: number
}

export interface Lane {
  /** `again`: it lost its thread before it began. */
  attempt(call: WorkerCall, again: boolean): Promise<AttemptResult>
  /** A worker that starts now, if there is none: how its app loads there. */
  loads(): Promise<Failure | undefined>
  /** To be called at even intervals while there are calls. */
  look(): void
  close(): Promise<void>
}

export function createLane(options: LaneOptions): Lane {
  const { threads: wanted, mostThreads, perThread, clock, graceMs } = options
  const threads = new Set<Worker>()
  let closed = false
  const start = (): Worker => {
    const thread = new Worker(options, (gone) => {
      threads.delete(gone)
      places.admit()
    })
    threads.add(thread)
    return thread
  }
  const choose = (further: boolean): Worker | undefined => {
    let best: Worker | undefined
    let moving = 0
    for (const thread of threads) {
      if (thread.stuck || thread.killedBecause !== undefined) continue
      moving++
      if (thread.seats.active < perThread && (!best || comesBefore(thread, best))) best = thread
    }
    const room = !closed && (further || moving < wanted) && threads.size < mostThreads
    if (!best) return room ? start() : undefined
    if (room && !further && best.seats.active > 0) start()
    return best
  }
  // LN3: what a stuck one holds is nobody's.
  const shared = (): number =>
    [...threads].reduce(
      (sum, { stuck, killedBecause: doom, seats: seat }) => (stuck || doom !== undefined ? sum + seat.active : sum),
      wanted * perThread,
    )
  const places = createPlaces({ perThread, shared, choose })
  const means: AttemptServices = { clock, graceMs, places }
  return {
    attempt: (call, again) => new CallAttempt(call, means).begin(again),
    loads: () => ([...threads][0] ?? start()).loading,
    look() {
      for (const thread of threads) {
        thread.look()
        if (!thread.stuck) continue
        for (const call of [...thread.calls.values()]) call.takeBack()
        // What a body left behind holds it, and nobody is there to be told.
        if (thread.calls.size === 0) thread.kill('a body that was over left a loop behind')
      }
      places.admit()
    },
    async close() {
      closed = true
      places.close()
      await Promise.all([...threads].map((thread) => thread.close()))
    },
  }
}

function comesBefore(one: Worker, other: Worker): boolean {
  return one.started === other.started ? one.seats.active < other.seats.active : one.started
}
