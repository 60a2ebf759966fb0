/**
 * A pool of workers: processes, so that whatever a body does, its host goes on. Calls share workers, so that I/O
 * overlaps; a call that computes has one to itself; calls with side effects share only with one another.
 *
 * WP1 `run` never rejects. Whatever happens to a worker costs its own call one error result (T14).
 * WP2 An abort or a time-out is told to the body first; a body that has not ended within the grace loses its worker.
 * - What shared a worker that died runs again, alone, so that the guilty one dies alone; a call with a side effect
 *   is run again only if its body had not begun.
 * - After `close` nothing begins, not even again.
 * WP5 No call waits behind a body that never lets its worker's event loop turn, unless there are `threadsAtWorst`
 *     such bodies for each worker of its lane (LN3). What had begun on such a worker stays there until it ends.
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
import { createWatchdog, lookMs } from './watchdog.js'
import type { WorkerEnv } from './worker-env.js'

export interface WorkerPoolOptions {
  /** The module that every worker imports. */
  readonly app: string
  /** What is known of a tool before it runs. */
  readonly find: FindTool
  /** Whether it acts on the world outside its thread. */
  acts(tool: ToolDefinition): boolean
  readonly clock: Clock
  /** Workers of each lane; they start when they are needed. */
  readonly threads: number
  /** How long a body may go on after it was told to end. */
  readonly graceMs: number
  /** What a worker may have of heap, and of buffers; a body that needs more costs its worker. */
  readonly memoryMb: number
  readonly env?: WorkerEnv | undefined
  /** How long a body may take whose tool does not say. */
  readonly maxToolMs?: number | undefined
}

type LaneName = 'shared' | 'effects' | 'alone' | 'suspect'

/** Calls that share a worker at most; more would wait for its event loop. */
const callsPerThread = 32

/** Suspects that run at once, each with a worker to itself. */
const suspects = 8

/** For each worker that a lane should have, those included that are stuck. */
const threadsAtWorst = 4

/** How long a worker's event loop may stand still; a body that says that it computes has more time. */
const stillMs = { shared: 300, effects: 300, alone: 10_000, suspect: 10_000 }

/** A call whose workers die before it begins, or in company, is not tried for ever. */
const mostAttempts = 4

export function createWorkerPool({ find, acts, threads, maxToolMs, ...options }: WorkerPoolOptions): Pool {
  const lanes = new Map<LaneName, Lane>()
  let closed = false
  const laneNamed = (name: LaneName): Lane => {
    const known = lanes.get(name)
    if (known) return known
    const suspect = name === 'suspect'
    const lane = createLane({
      ...options,
      threads: suspect ? suspects : threads,
      mostThreads: suspect ? 2 * suspects : threadsAtWorst * threads,
      stillLooks: stillMs[name] / lookMs,
      perThread: suspect || name === 'alone' ? 1 : callsPerThread,
      idleMs: suspect ? 0 : 30_000,
    })
    lanes.set(name, lane)
    return lane
  }
  const all = (): readonly Lane[] => [...lanes.values()]
  const watch = createWatchdog(() => {
    for (const lane of all()) lane.look()
  })
  async function run(job: ToolJob): Promise<Returned> {
    watch.begin()
    try {
      return await attempts(job)
    } finally {
      watch.end()
    }
  }
  async function attempts(job: ToolJob): Promise<Returned> {
    const found = find(job.tool)
    const tool = found instanceof Promise ? await found : found
    const effect = tool !== undefined && acts(tool)
    let name: LaneName = tool?.cpu ? 'alone' : effect ? 'effects' : 'shared'
    const limit = callLimit(tool, job.args, maxToolMs)
    let again = false
    for (let count = 1; ;) {
      if (closed) return crashed(job.tool, 'the pool was closed')
      const attempted = await laneNamed(name).attempt({ job, acts: effect, limit }, again)
      again = true
      if ('taken' in attempted) continue
      if (!('died' in attempted)) return attempted
      if (count++ === mostAttempts || isGuilty(attempted, effect)) return crashed(job.tool, attempted.died)
      if (attempted.begun) name = 'suspect'
    }
  }
  return {
    run,
    loads: () => laneNamed('shared').loads(),
    async close() {
      closed = true
      watch.stop()
      await Promise.all(all().map((lane) => lane.close()))
    },
  }
}

function isGuilty({ begun, company }: AttemptDeath, effect: boolean): boolean {
  return begun && (effect || !company)
}

function crashed(tool: string, why: string): Returned {
  return { outcome: { ok: false, failure: failure('WORKER_CRASHED', `the worker that ran ${tool} died: ${why}`) } }
}
