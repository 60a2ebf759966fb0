/**
 * A lane: worker threads for calls of one kind, with a number of places on each.
 *
 * LN1 A call goes to the thread with the fewest active calls, rather to one that has started than to one that has not. When
 *     each has some, a further thread is started for those that come next, up to `threads`.
 * LN2 A thread that cannot be started costs those who waited for it their attempt; nobody waits for ever.
 * LN3 A thread that is stuck (WT2) gets no calls, and what has not begun there goes to another. It does not count as one of
 *     `threads`, so that another may be started in its place, up to `mostThreads` in all. One without calls is ended.
 */
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { Attempt } from './attempt.js'
import type { Attempted, AttemptMeans } from './attempt.js'
import { createPlaces } from './places.js'
import type { Job } from './port.js'
import { WorkerThread } from './thread.js'
import type { ThreadOptions } from './thread.js'

export interface LaneOptions extends ThreadOptions {
  readonly clock: Clock
  readonly graceMs: number
  readonly threads: number
  readonly mostThreads: number
  /** Active calls on one thread. */
  readonly perThread: number
}

export interface Lane {
  /** `again`: it lost its thread before it began. */
  attempt(job: Job, tool: ToolDefinition | undefined, again: boolean): Promise<Attempted>
  /** Threads that have calls, and the app that they need. */
  busy(): readonly WorkerThread[]
  /** To be called at even intervals while there are calls. */
  look(): void
  close(): Promise<void>
}

export function createLane(options: LaneOptions): Lane {
  const { threads: wanted, mostThreads, perThread, clock, graceMs } = options
  const threads = new Set<WorkerThread>()
  let closed = false
  const start = (): WorkerThread => {
    const thread = new WorkerThread(options, (gone) => {
      threads.delete(gone)
      places.admit()
    })
    threads.add(thread)
    return thread
  }
  const choose = (): WorkerThread | undefined => {
    let best: WorkerThread | undefined
    let moving = 0
    for (const thread of threads) {
      if (thread.stuck || thread.doom !== undefined) continue
      moving++
      if (thread.seat.active < perThread && (!best || comesBefore(thread, best))) best = thread
    }
    const room = !closed && moving < wanted && threads.size < mostThreads
    if (!best) return room ? start() : undefined
    if (room && best.seat.active > 0) start()
    return best
  }
  const places = createPlaces({ perThread, choose })
  const means: AttemptMeans = { clock, graceMs, places }
  return {
    attempt: (job, tool, again) => new Attempt(job, tool, means).begin(again),
    busy: () => [...threads].filter(({ calls, loaded }) => loaded && calls.size > 0),
    look() {
      for (const thread of threads) {
        thread.look()
        if (!thread.stuck) continue
        for (const call of [...thread.calls.values()]) call.takeBack()
        // What a body left behind holds it, and nobody is there to be told.
        if (thread.calls.size === 0) thread.kill()
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

/** LN1. */
function comesBefore(one: WorkerThread, other: WorkerThread): boolean {
  return one.started === other.started ? one.seat.active < other.seat.active : one.started
}
