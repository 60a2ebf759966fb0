/**
 * Variables that a child needs before it can begin (S6), from outside: reading the request, and providing or
 * declining the values. The resource of `/threads/{thread}/variables/{request}`.
 */
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import { decisionSchema } from './options.js'
import { sendCommand } from './send-command.js'
import { sealValues } from './thread-env.js'
import { threadMissing } from './services.js'
import type { ThreadServices } from './services.js'
import { wake } from '../journal/wake.js'

export interface VariableRequest {
  readonly id: string
  /** The thread that asked for the child. */
  readonly thread: string
  readonly endpoint: string
  readonly agent: string
  /** What its parent will call it. */
  readonly reference: string
  readonly required: readonly string[]
  readonly missing: readonly string[]
  readonly requestedAt: number
}

export interface Variables {
  /** UNKNOWN_REQUEST where it was answered before, or never made. */
  get(thread: string, request: string): Promise<VariableRequest>
  /**
   * Stores the values, sealed, and starts the child, once. VARIABLES_REQUIRED where some are missing: nothing is
   * stored then.
   */
  provide(thread: string, request: string, values: Readonly<Record<string, string>>): Promise<void>
  /**
   * Nobody will give them: the child never begins, and the model reads who said so and why. The same as `inbox.reject`.
   */
  decline(thread: string, request: string, options?: { readonly by?: string; readonly comment?: string }): Promise<void>
}

export function createVariables({ backend, clock, random, secrets }: ThreadServices): Variables {
  const find = async (thread: string, request: string) => {
    const { state } = await wake(backend, thread)
    if (state.seq === 0) threadMissing(thread)
    const found = Object.hasOwn(state.requests, request) ? state.requests[request] : undefined
    if (!found || found.ready)
      throw new SkeinError(
        'UNKNOWN_REQUEST',
        `thread ${thread} has no open request ${JSON.stringify(request)}: it was answered before, or never made`,
        { data: { thread, request } },
      )
    return { state, found }
  }
  return {
    async get(thread, request) {
      const { child, required, missing: names, at } = (await find(thread, request)).found
      return {
        id: request,
        thread,
        endpoint: `/threads/${thread}/variables/${request}`,
        agent: child.agent,
        reference: child.reference,
        required,
        missing: names,
        requestedAt: at,
      }
    },
    async provide(thread, request, values) {
      const { state } = await find(thread, request)
      const { keys, set } = await sealValues(secrets, values, { root: state.path[0] ?? thread, keys: state.env.keys })
      await sendCommand(backend, clock, { thread, id: random.id(), command: { kind: 'provide', request, keys, set } })
    },
    async decline(thread, request, options = {}) {
      const { by, comment } = checkOptions(decisionSchema(), options, 'variables.decline')
      await find(thread, request)
      const command = { kind: 'decide', call: request, decision: 'reject', ...defined({ by, comment }) } as const
      await sendCommand(backend, clock, { thread, id: random.id(), command })
    },
  }
}
