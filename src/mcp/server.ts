/**
 * An MCP server as its tools see it: calls go over one session, and a lost session is opened again.
 *
 * - A lost connection costs each pending call one error result; the next call connects again.
 * - No call is sent twice, unless the server rejected it because it does not know the session.
 * - After `close` nothing is started, and no process is left.
 */
import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client'
import type { CallToolResult, Tool } from '@modelcontextprotocol/client'
import type { ToolState } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { SkeinError, isSkeinError } from '../core/failure.js'
import type { McpDefinition } from '../tools/foreign/server.js'
import { openSession, reasonOf } from './session.js'
import type { McpSession } from './session.js'

export interface McpServer {
  tools(signal?: AbortSignal): Promise<readonly Tool[]>
  call(tool: McpCall, request: McpRequest): Promise<CallToolResult>
  close(): Promise<void>
}

interface McpRequest {
  readonly args: Readonly<Record<string, unknown>>
  readonly state: Pick<ToolState, 'signal' | 'progress'>
}

export interface McpCall {
  /** The name that the server uses. */
  readonly name: string
  /** Calling it again does no harm. */
  readonly repeatable: boolean
}

/** The longest time of a timer: Skein ends calls, not the transport. */
const noTimeout = 2 ** 31 - 1

interface Limits {
  readonly timeoutMs: number
  readonly clock: Clock
}

export function createMcpServer(definition: McpDefinition, limits: Limits): McpServer {
  const sessions = createSessions(definition, limits)
  return {
    tools: async (signal) => (await sessions.get(signal)).tools,
    async call(tool, { args, state }) {
      const { signal } = state
      for (let again = false; ; again = true) {
        const used = await sessions
          .get()
          .catch((thrown: unknown) => Promise.reject(unreachable(definition.name, thrown)))
        try {
          return await sessions.use(used, ({ client }) =>
            client.callTool(
              { name: tool.name, arguments: { ...args } },
              { signal, timeout: noTimeout, onprogress: (event) => state.progress(event) },
            ),
          )
        } catch (thrown) {
          signal.throwIfAborted()
          if (ProtocolError.isInstance(thrown))
            throw new SkeinError(
              'TOOL_FAILED',
              `the MCP server ${definition.name} could not do ${tool.name}: ${thrown.message}`,
              { data: { code: thrown.code } },
            )
          sessions.leave(used)
          const forgotten = SdkHttpError.isInstance(thrown) && thrown.data.status === 404
          if (!forgotten || again) throw lostWith(thrown, { definition, tool, used })
        }
      }
    },
    close: sessions.close,
  }
}

/** One session for new calls, and earlier ones until their last call is answered. */
function createSessions(definition: McpDefinition, { timeoutMs, clock }: Limits) {
  const life = new AbortController()
  /** Open sessions with the number of their pending calls. */
  const open = new Map<McpSession, number>()
  const abandoned = new Set<McpSession>()
  let current: Promise<McpSession> | undefined
  let live: McpSession | undefined

  const endIfIdle = (used: McpSession): void => {
    if (abandoned.has(used) && open.get(used) === 0) void used.end()
  }
  /** The next call opens another. */
  const leave = (lost: McpSession): void => {
    if (live === lost) {
      live = undefined
      current = undefined
    }
    abandoned.add(lost)
    endIfIdle(lost)
  }
  const watch = (begun: McpSession): void => {
    open.set(begun, 0)
    live = begun
    void begun.ended.then(() => {
      leave(begun)
      open.delete(begun)
      abandoned.delete(begun)
    })
  }
  return {
    leave,
    async get(signal?: AbortSignal): Promise<McpSession> {
      life.signal.throwIfAborted()
      if (current) return current
      const opened = openSession(definition, {
        timeoutMs,
        clock,
        signal: signal ? AbortSignal.any([signal, life.signal]) : life.signal,
      })
      current = opened
      opened.then(watch, () => {
        current = undefined
      })
      return opened
    },
    async use<Result>(used: McpSession, work: (used: McpSession) => Promise<Result>): Promise<Result> {
      open.set(used, (open.get(used) ?? 0) + 1)
      try {
        return await work(used)
      } finally {
        if (open.has(used)) open.set(used, (open.get(used) ?? 1) - 1)
        endIfIdle(used)
      }
    },
    async close(): Promise<void> {
      life.abort(new SkeinError('CANCELLED', `the connection to the MCP server ${definition.name} is closed`))
      await current?.catch(() => undefined)
      await Promise.all([...open.keys()].map((begun) => begun.end()))
    },
  }
}

function unreachable(name: string, thrown: unknown): SkeinError {
  // A model reads this: it gets neither the command line nor the output of the server.
  const reason = isSkeinError(thrown) ? thrown.data?.['reason'] : undefined
  return new SkeinError(
    'TOOL_FAILED',
    `the MCP server ${name} could not be connected: ${typeof reason === 'string' ? reason : reasonOf(thrown)}`,
    { retry: true, cause: thrown },
  )
}

function lostWith(
  thrown: unknown,
  { definition, tool, used }: { definition: McpDefinition; tool: McpCall; used: McpSession },
): SkeinError {
  const known = reasonOf(thrown)
  const lastError = used.lastError()
  const reason = lastError === undefined || known.includes(lastError) ? known : `${known}; ${lastError}`
  const doubt = tool.repeatable
    ? 'Call it again.'
    : 'Whether it took effect is not known: look before you call it again.'
  return new SkeinError(
    'TOOL_FAILED',
    `the connection to the MCP server ${definition.name} was lost in the middle of ${tool.name}: ${reason}. ${doubt}`,
    {
      retry: tool.repeatable,
      data: { server: definition.name, stderr: used.stderr() },
    },
  )
}
