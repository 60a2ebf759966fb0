/**
 * A lane: workers for calls of one kind, with a number of places on each.
 *
 * - A call goes to the worker with the fewest active calls, preferring workers that have started. When each of them
 *   has some, a further worker is started for the calls that come next, up to `workers`.
 * - A worker that cannot be started costs the calls that waited for it their attempt; nobody waits for ever.
 * LN3 A stuck worker gets no calls, and calls that have not begun there go to another. It does not count as one of
 *     `workers`, so that another may be started in its place, up to `mostWorkers` in all. Without calls it is ended.
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
  readonly workers: number
  /** With those that are stuck. */
  readonly mostWorkers: number
  /** Active calls on one worker. */
  readonly perWorker: number
}

export interface Lane {
  /** `again`: the call had a worker before. */
  attempt(call: WorkerCall, again: boolean): Promise<AttemptResult>
  /** How the app loads on a worker, which is started now if there is none. */
  loads(): Promise<Failure | undefined>
  /** To be called at regular intervals while there are calls. */
  check(): void
  close(): Promise<void>
}

export function createLane(options: LaneOptions): Lane {
  const { workers: usual, mostWorkers, perWorker, clock, graceMs } = options
  const workers = new Set<Worker>()
  let closed = false
  const start = (): Worker => {
    const worker = new Worker(options, (ended) => {
      workers.delete(ended)
      places.admit()
    })
    workers.add(worker)
    return worker
  }
  const choose = (further: boolean): Worker | undefined => {
    let best: Worker | undefined
    let usable = 0
    for (const worker of workers) {
      if (!isUsable(worker)) continue
      usable++
      if (worker.seats.active < perWorker && (!best || comesBefore(worker, best))) best = worker
    }
    const mayStart = !closed && (further || usable < usual) && workers.size < mostWorkers
    if (!best) return mayStart ? start() : undefined
    if (mayStart && !further && best.seats.active > 0) start()
    return best
  }
  // LN3: the calls of a stuck worker take no places from others.
  const shared = (): number => {
    let count = usual * perWorker
    for (const worker of workers) if (!isUsable(worker)) count += worker.seats.active
    return count
  }
  const places = createPlaces({ perWorker, shared, choose })
  const services: AttemptServices = { clock, graceMs, places }
  return {
    attempt: (call, again) => new CallAttempt(call, services).begin(again),
    loads: () => ([...workers][0] ?? start()).loading,
    check() {
      for (const worker of workers) {
        worker.check()
        if (!worker.stuck) continue
        for (const call of [...worker.calls.values()]) call.takeBack()
        // Code that a finished body left behind blocks it, and no call is there to be ended.
        if (worker.calls.size === 0) worker.kill('a body that was over left a loop behind')
      }
      places.admit()
    },
    async close() {
      closed = true
      places.close()
      await Promise.all([...workers].map((worker) => worker.close()))
    },
  }
}

function isUsable({ stuck, killedBecause }: Worker): boolean {
  return !stuck && killedBecause === undefined
}

function comesBefore(one: Worker, other: Worker): boolean {
  return one.started === other.started ? one.seats.active < other.seats.active : one.started
}
