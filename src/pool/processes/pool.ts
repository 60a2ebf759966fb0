/**
 * The pool of workers: processes, so that the host survives whatever a body does. Calls share workers, so that I/O
 * overlaps; a call that computes has a worker to itself; calls with side effects share only with one another.
 *
 * WP1 `run` never rejects. Whatever happens to a worker costs its own call one error result (T14).
 * WP2 An abort or a time-out is sent to the body first; a body that has not ended within the grace loses its worker.
 * - Calls on a worker that died run again: in their lane if another call is known to have ended the worker, else alone,
 *   so that the guilty call dies alone. A call with a side effect runs again only if its body had not begun.
 * - Worker starts are bounded: one for each death, and `suspectWorkers`, however many calls shared the worker.
 * - After `close` nothing begins, not even again.
 * WP5 No call waits behind a body that blocks its worker's event loop, unless there are `mostWorkersPerUsual` such
 *     bodies for each worker of its lane (LN3). Calls that had begun on such a worker stay there until it ends.
 */
import type { ToolDefinition } from '../../agent/define.js'
import type { Clock } from '../../core/clock.js'
import { failure } from '../../core/failure.js'
import type { AttemptDeath } from './attempt.js'
import { callLimit } from '../call-limit.js'
import { createLane } from './lane.js'
import type { Lane } from './lane.js'
import type { ToolJob, Pool, Returned } from '../port.js'
import type { FindTool } from '../find-tool.js'
import { createWatchdog, checkMs } from './watchdog.js'
import type { WorkerEnv } from './worker-env.js'

export interface WorkerPoolOptions {
  /** The module that every worker imports. */
  readonly app: string
  /** Finds the definition of a tool before it runs. */
  readonly find: FindTool
  /** Whether a tool acts on the world outside its thread. */
  acts(tool: ToolDefinition): boolean
  readonly clock: Clock
  /** Workers of each lane; they are started when needed. */
  readonly threads: number
  /** How long a body may take to end after it was told to. */
  readonly graceMs: number
  /** How much heap, and how much in buffers, a worker may have; a body that needs more costs its worker. */
  readonly memoryMb: number
  readonly env?: WorkerEnv | undefined
  /** How long a body may take whose tool does not say. */
  readonly maxToolMs?: number | undefined
  /** How long the app may take to load in a worker. */
  readonly loadMs?: number | undefined
}

type LaneName = 'shared' | 'effects' | 'alone' | 'suspect'

/** Calls that share a worker at most; more would wait for its event loop. */
const callsPerWorker = 32

/** Suspects that run at the same time, each with a worker to itself. */
const suspectWorkers = 8

/** For each worker that a lane should have: how many it may have, with those that are stuck. */
const mostWorkersPerUsual = 4

/** How long a worker's event loop may stand still; a body that is declared to compute has more time. */
const stuckMs = { shared: 300, effects: 300, alone: 10_000, suspect: 10_000 }

/** Long enough for the next suspect to take over the worker of one that turned out innocent. */
const idleMs = { shared: 30_000, effects: 30_000, alone: 30_000, suspect: 1_000 }

/** Attempts of a call whose workers die before it begins, or while it shares them. */
const mostAttempts = 4

/** Deaths that a call survives in its lane because another call was guilty. Then it runs alone. */
const mostInnocentDeaths = 4

const defaultLoadMs = 60_000

export function createWorkerPool(poolOptions: WorkerPoolOptions): Pool {
  const { find, acts, threads, maxToolMs, loadMs = defaultLoadMs, ...options } = poolOptions
  const lanes = new Map<LaneName, Lane>()
  let closed = false
  const laneOf = (name: LaneName): Lane => {
    const lane = lanes.get(name) ?? createLane({ ...options, loadMs, ...laneSizes(name, threads) })
    lanes.set(name, lane)
    return lane
  }
  const watchdog = createWatchdog(() => {
    for (const lane of lanes.values()) lane.check()
  })
  async function run(job: ToolJob): Promise<Returned> {
    watchdog.begin()
    try {
      return await runUntilSettled(job)
    } finally {
      watchdog.end()
    }
  }
  async function runUntilSettled(job: ToolJob): Promise<Returned> {
    const found = find(job.tool)
    const tool = found instanceof Promise ? await found : found
    const effect = tool !== undefined && acts(tool)
    const limit = callLimit(tool, job.args, maxToolMs)
    let lane = laneFor(tool, effect)
    let innocentDeaths = 0
    let again = false
    for (let attempt = 1; ;) {
      if (closed) return crashed(job.tool, 'the pool was closed')
      const result = await laneOf(lane).attempt({ job, acts: effect, limit }, again)
      again = true
      if ('withdrawn' in result) continue
      if (!('died' in result)) return result
      if (result.begun && effect) return crashed(job.tool, result.died)
      if (result.guilty === false && innocentDeaths++ < mostInnocentDeaths) continue
      if (attempt++ === mostAttempts || diedAlone(result)) return crashed(job.tool, result.died)
      if (result.begun) lane = 'suspect'
    }
  }
  return {
    run,
    loads: () => laneOf('shared').loads(),
    async close() {
      closed = true
      watchdog.stop()
      await Promise.all([...lanes.values()].map((lane) => lane.close()))
    },
  }
}

function laneSizes(name: LaneName, threads: number) {
  const suspect = name === 'suspect'
  return {
    workers: suspect ? suspectWorkers : threads,
    mostWorkers: suspect ? 2 * suspectWorkers : mostWorkersPerUsual * threads,
    perWorker: suspect || name === 'alone' ? 1 : callsPerWorker,
    stuckChecks: stuckMs[name] / checkMs,
    idleMs: idleMs[name],
  }
}

function laneFor(tool: ToolDefinition | undefined, effect: boolean): LaneName {
  if (tool?.cpu) return 'alone'
  return effect ? 'effects' : 'shared'
}

function diedAlone({ begun, shared, guilty }: AttemptDeath): boolean {
  return begun && !shared && guilty !== false
}

function crashed(tool: string, cause: string): Returned {
  return { outcome: { ok: false, failure: failure('WORKER_CRASHED', `the worker that ran ${tool} died: ${cause}`) } }
}
