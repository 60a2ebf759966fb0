/**
 * A pool on the host's own thread: for tools that close over live objects of the process.
 */
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { failure } from '../core/failure.js'
import type { Job, Pool } from './port.js'
import { workerModule } from './worker-url.js'

interface InvokeModule {
  readonly invoke: (tool: ToolDefinition, job: Job, clock: Clock) => ReturnType<Pool['run']>
}

export async function createHostPool(tools: ReadonlyMap<string, ToolDefinition>, clock: Clock): Promise<Pool> {
  const { invoke } = (await import(workerModule('invoke').href)) as InvokeModule
  return {
    async run(job) {
      const { tool: name } = job
      const tool = tools.get(name)
      if (tool) return invoke(tool, job, clock)
      const known = [...tools.keys()].join(', ') || 'none'
      return { ok: false, failure: failure('UNKNOWN_TOOL', `the tool ${name} is no longer defined; there are: ${known}`) }
    },
    close: async () => undefined,
  }
}
