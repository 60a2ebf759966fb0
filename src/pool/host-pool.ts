/**
 * A pool on the host's own thread, for tools that close over live objects of the process.
 *
 * - A body that blocks the event loop blocks the host: only worker processes help against that (processes/pool.ts).
 * - What runs bodies is loaded with the first call: a host answers its first message without it.
 */
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { failure, toFailure } from '../core/failure.js'
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
  const runNow = ({ invoke }: InvokeModule, tool: ToolDefinition | undefined, job: ToolJob): Promise<Returned> =>
    tool ? invoke(tool, job, services) : unknownTool(job.tool)
  const runLater = async (tool: ReturnType<FindTool>, job: ToolJob): Promise<Returned> => {
    const [found, bodies] = await Promise.all([tool, loaded ?? load()])
    const { reason } = job.cancel
    // A call that was left or answered meanwhile is not begun: by now another host may have its outcome.
    return reason ? { outcome: { ok: false, failure: toFailure(reason, 'CANCELLED') } } : runNow(bodies, found, job)
  }
  return {
    run(job) {
      const tool = find(job.tool)
      return loaded && !(tool instanceof Promise) ? runNow(loaded, tool, job) : runLater(tool, job)
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
