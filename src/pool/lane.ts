/**
 * A lane: worker threads (Piscina) for calls of one kind, with a number of places on each.
 *
 * LN1 A call goes to the thread with the fewest active calls, rather to one that has started than to one that has not; a new
 *     thread is started when no other has a place.
 * LN2 A thread that cannot be started costs those who waited for one their attempt; nobody waits for ever.
 */
import { Piscina, queueOptionsSymbol } from 'piscina'
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { SkeinError, toFailure } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { workerFile } from '../tools/worker-url.js'
import { Attempt } from './attempt.js'
import type { Attempted, AttemptMeans } from './attempt.js'
import { createPlaces } from './places.js'
import type { Job } from './port.js'
import { WorkerThread } from './thread.js'
import type { Answer, Hello, ThreadData } from './wire.js'

export interface LaneOptions {
  readonly app: string
  readonly clock: Clock
  readonly graceMs: number
  readonly memoryMb: number
  readonly threads: number
  /** Active calls on one thread. */
  readonly perThread: number
  readonly idleMs: number
}

export interface Lane {
  attempt(job: Job, tool: ToolDefinition | undefined): Promise<Attempted>
  /** Threads that have calls. */
  busy(): readonly WorkerThread[]
  kill(thread: WorkerThread): void
  close(): Promise<void>
}

type Balancer = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']>

export function createLane(options: LaneOptions): Lane {
  const { threads: most, perThread, clock, graceMs } = options
  const places = createPlaces({ perThread, threads: most })
  const threads = new Map<number, WorkerThread>()
  const waiting = new Set<Attempt>()
  let closed = false
  const threadOf = (id: number): WorkerThread => {
    const thread = threads.get(id) ?? new WorkerThread(id)
    threads.set(id, thread)
    return thread
  }
  const loadBalancer: Balancer = (task, workers) => {
    const attempt = task[queueOptionsSymbol]
    if (!(attempt instanceof Attempt)) return null
    let best: { readonly worker: (typeof workers)[number]; readonly thread: WorkerThread } | undefined
    for (const worker of workers) {
      const thread = threadOf(worker.id)
      if (thread.seat.active < perThread && (!best || comesBefore(thread, best.thread))) best = { worker, thread }
    }
    if (!best) return null
    waiting.delete(attempt)
    attempt.sit(best.thread)
    return best.worker
  }
  const pool = createThreads(options, loadBalancer)
  pool.on('message', (said: unknown) => {
    if (!isHello(said)) return
    threadOf(said.thread).greet(said)
    const alive = new Set(pool.threads.map(({ threadId }) => threadId))
    for (const id of threads.keys()) if (!alive.has(id)) threads.delete(id)
  })
  // A thread that died between calls harms nobody; one that died before its first call did not start (LN2).
  pool.on('error', (thrown: unknown) => {
    for (const attempt of waiting) attempt.die(toFailure(thrown, 'WORKER_CRASHED').message)
    waiting.clear()
  })
  const kill = (thread: WorkerThread): void => void pool.threads.find(({ threadId }) => threadId === thread.id)?.terminate()
  const means: Omit<AttemptMeans, 'timeoutMs'> = {
    clock,
    graceMs,
    places,
    kill,
    run(attempt): Promise<Answer> {
      if (closed) return Promise.reject(new SkeinError('WORKER_CRASHED', 'the pool was closed'))
      waiting.add(attempt)
      return pool.run(Object.assign(attempt.task, { [queueOptionsSymbol]: attempt }))
    },
  }
  return {
    attempt: (job, tool) => new Attempt(job, { ...means, timeoutMs: tool?.timeoutMs }).begin(),
    busy: () => [...threads.values()].filter(({ calls }) => calls.size > 0),
    kill,
    async close() {
      closed = true
      await pool.destroy()
    },
  }
}

/** LN1. */
function comesBefore(one: WorkerThread, other: WorkerThread): boolean {
  return one.started === other.started ? one.seat.active < other.seat.active : one.started
}

function createThreads({ app, threads, memoryMb, idleMs }: LaneOptions, loadBalancer: Balancer): Piscina {
  const workerData: ThreadData = { app, memoryMb }
  return new Piscina({
    filename: workerFile('entry').href,
    name: 'run',
    minThreads: 0,
    maxThreads: threads,
    // Places are counted by the lane: calls that wait have none, and may be many.
    concurrentTasksPerWorker: 1_000_000,
    loadBalancer,
    stricterFIFO: true,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    workerData,
    idleTimeout: idleMs,
    // Synchronous waiting freezes a thread's event loop between tasks: its ports would never close.
    atomics: 'disabled',
  })
}

function isHello(said: unknown): said is Hello {
  return isObject(said) && said['hello'] === 'skein'
}
