/**
 * A pool of worker threads (Piscina). Calls share threads, so that I/O overlaps; a call that computes has one to
 * itself; calls with side effects share only with one another.
 *
 * WP1 `run` never rejects. Whatever happens to a thread costs its own call one error result (T14).
 * WP2 An abort or a time-out is told to the body first; a body that has not ended within the grace loses its thread.
 * WP3 What shared a thread that died runs again, alone, so that the guilty one dies alone; a call with a side effect
 *     is not run again.
 * WP4 After `close` nothing begins, not even again.
 */
import { MessageChannel } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import type { Outcome } from '../core/effect.js'
import { failure, toFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import type { Job, Pool } from './port.js'
import { workerFile } from './worker-url.js'

export interface WorkerPoolOptions {
  /** The module that every thread imports. */
  readonly app: string
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly clock: Clock
  /** Threads of each lane; they start when they are needed. */
  readonly threads: number
  /** How long a body may go on after it was told to end. */
  readonly graceMs: number
  /** Heap of a thread; a body that needs more costs its thread. Buffers are not counted. */
  readonly memoryMb: number
}

type Lane = 'shared' | 'effects' | 'alone' | 'suspect'

/** Calls that share a thread at most; more would wait for its event loop. */
const callsPerThread = 32

function laneOf(tool: ToolDefinition | undefined): Lane {
  if (tool?.cpu) return 'alone'
  return tool?.sideEffect ? 'effects' : 'shared'
}

export function createWorkerPool(options: WorkerPoolOptions): Pool {
  const lanes = new Map<Lane, Piscina>()
  let closed = false
  const laneNamed = (lane: Lane): Piscina => {
    const known = lanes.get(lane) ?? createLane(lane, options)
    lanes.set(lane, known)
    return known
  }
  async function run(job: Job): Promise<Outcome> {
    const tool = options.tools.get(job.tool)
    const lane = laneOf(tool)
    const first = await attempt(laneNamed(lane), job, options)
    if (!('died' in first)) return first
    if (lane !== 'shared' || closed) return crashed(job.tool, first.died)
    const second = await attempt(laneNamed('suspect'), job, options) // WP3
    return 'died' in second ? crashed(job.tool, second.died) : second
  }
  return {
    run,
    async close() {
      closed = true
      await Promise.all([...lanes.values()].map((lane) => lane.destroy()))
    },
  }
}

function createLane(lane: Lane, { threads, memoryMb }: WorkerPoolOptions): Piscina {
  const pool = new Piscina({
    filename: workerFile('entry').href,
    name: 'run',
    minThreads: 0,
    // All that shared one thread may be suspects at once, and must not wait for each other.
    maxThreads: lane === 'suspect' ? callsPerThread : threads,
    concurrentTasksPerWorker: lane === 'alone' || lane === 'suspect' ? 1 : callsPerThread,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    idleTimeout: lane === 'suspect' ? 0 : 30_000,
    // Synchronous waiting freezes a thread's event loop between tasks: its ports would never close.
    atomics: 'disabled',
  })
  // A thread that dies between calls harms nobody; the next call gets a new one.
  pool.on('error', () => undefined)
  return pool
}

function crashed(tool: string, why: string): Outcome {
  return { ok: false, failure: failure('WORKER_CRASHED', `the worker thread that ran ${tool} died: ${why}`) }
}

type Attempt = Outcome | { readonly died: string }

async function attempt(lane: Piscina, job: Job, options: WorkerPoolOptions): Promise<Attempt> {
  const { port1, port2 } = new MessageChannel()
  const limits = createLimits({ lane, job, options, port: port1 })
  const { tool, args, threadId, idempotencyKey, probe } = job
  try {
    const task = { app: options.app, tool, args, threadId, idempotencyKey, port: port2, ...(probe && { probe }) }
    const outcome: Outcome = await lane.run(task, { transferList: [port2] })
    return limits.ended ? { ok: false, failure: limits.ended } : outcome
  } catch (thrown) {
    if (limits.ended) return { ok: false, failure: limits.ended }
    return { died: toFailure(thrown, 'WORKER_CRASHED').message }
  } finally {
    limits.clear()
    port1.close()
  }
}

interface Limited {
  readonly lane: Piscina
  readonly job: Job
  readonly options: WorkerPoolOptions
  readonly port: MessagePort
}

/** WP2: who ends the call, and what ends its thread if the call does not hear. */
function createLimits({ lane, job, options, port }: Limited) {
  const { clock, graceMs, tools } = options
  const timers: (() => void)[] = []
  let worker: number | undefined
  let ended: Failure | undefined
  const kill = (): void => void lane.threads.find(({ threadId }) => threadId === worker)?.terminate()
  const killAfterGrace = (): void => void timers.push(clock.wakeAt(clock.now() + graceMs, kill))
  port.on('message', (said: { worker: number }) => {
    worker = said.worker
    // It was told to end while it waited for a thread: its grace begins now.
    if (ended) killAfterGrace()
  })
  const end = (why: Failure): void => {
    if (ended) return
    ended = why
    port.postMessage(why)
    if (worker !== undefined) killAfterGrace()
  }
  const { signal } = job.cancel
  const onAbort = (): void => end(toFailure(signal.reason, 'CANCELLED'))
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  const timeoutMs = tools.get(job.tool)?.timeoutMs
  if (timeoutMs !== undefined) {
    timers.push(clock.wakeAt(clock.now() + timeoutMs, () => end(failure('TOOL_TIMED_OUT', `${job.tool} did not finish within ${timeoutMs} ms`))))
  }
  return {
    get ended() {
      return ended
    },
    clear() {
      signal.removeEventListener('abort', onAbort)
      for (const stop of timers) stop()
    },
  }
}
