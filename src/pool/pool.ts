/**
 * Decides where each tool of an app runs: in worker processes, which import the app by its URL, or on the host if the
 * tool says so (`where: 'host'`) or the app exists only in this process.
 */
import type { App } from '../agent/app.js'
import { effectOf } from '../agent/effect.js'
import type { Clock } from '../core/clock.js'
import { createHostPool } from './host-pool.js'
import type { Pool } from './port.js'
import { createFindTool } from './find-tool.js'
import type { WorkerEnv } from './processes/worker-env.js'

export interface PoolOptions {
  readonly clock: Clock
  readonly threads: number
  readonly graceMs: number
  readonly memoryMb: number
  readonly maxToolMs?: number | undefined
  readonly env?: WorkerEnv | undefined
  /** How long the app may take to load in a worker. */
  readonly loadMs?: number | undefined
}

/** Whether bodies of the tool run in the process of the host. */
export function runsOnHost({ tools, module }: Pick<App, 'tools' | 'module'>, tool: string): boolean {
  return module === undefined || tools.get(tool)?.where === 'host'
}

export async function createPool(
  { tools, module }: Pick<App, 'tools' | 'module'>,
  options: PoolOptions,
): Promise<Pool> {
  const find = createFindTool(tools)
  const host = createHostPool(find, options.clock)
  if (module === undefined) return host
  const { createWorkerPool } = await import('./processes/pool.js')
  const workers = createWorkerPool({
    app: module,
    find,
    acts: (tool) => effectOf(tool, { tools }).sideEffect === true,
    ...options,
  })
  return {
    run: (job) => (runsOnHost({ tools, module }, job.tool) ? host : workers).run(job),
    loads: async () => workers.loads?.(),
    close: () => workers.close(),
  }
}
