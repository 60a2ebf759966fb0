/**
 * A pool on the host's own thread, for tools that close over live objects of the process.
 *
 * - A body that blocks the event loop blocks the host: only worker processes help against that (processes/pool.ts).
 * - What runs bodies is loaded with the first call: a host answers its first message without it.
 */
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { failure } from '../core/failure.js'
import { importWorker } from '../tools/worker-url.js'
import type { ToolJob, Pool, Returned } from './port.js'
import type { FindTool } from './find-tool.js'

interface InvokeModule {
  readonly invoke: (
    tool: ToolDefinition,
    job: ToolJob,
    services: { readonly find: FindTool; readonly clock: Clock; readonly limits: 'here' },
  ) => Promise<Returned>
}

let loaded: InvokeModule | undefined

async function load(): Promise<InvokeModule> {
  loaded = (await importWorker('body/invoke')) as InvokeModule
  return loaded
}

export function createHostPool(find: FindTool, clock: Clock): Pool {
  const services = { find, clock, limits: 'here' } as const
  const runFound = (tool: ToolDefinition | undefined, job: ToolJob): Promise<Returned> => {
    if (!tool) return unknownTool(job.tool)
    if (loaded) return loaded.invoke(tool, job, services)
    return load().then(({ invoke }) => invoke(tool, job, services))
  }
  return {
    run(job) {
      const tool = find(job.tool)
      return tool instanceof Promise ? tool.then((found) => runFound(found, job)) : runFound(tool, job)
    },
    close: async () => undefined,
  }
}

async function unknownTool(tool: string): Promise<Returned> {
  return {
    outcome: {
      ok: false,
      failure: failure('UNKNOWN_TOOL', `the tool ${tool} is no longer defined; use one that is offered now`),
    },
  }
}
