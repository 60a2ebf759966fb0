/**
 * One session with an MCP server: the process or endpoint, connected, with its tools listed.
 *
 * - The standard error of a server is kept here; its end is part of the error if the server does not start.
 * - `end` never rejects, and the process has ended when it resolves.
 * - A request over HTTP whose stream breaks off is an error; otherwise its caller would wait for ever.
 * - Results are checked against the server's schema like args, within bounds (JS1, JS2), not by the validator of the
 *   MCP client.
 */
import { createRequire } from 'node:module'
import { Client, StreamableHTTPClientTransport, UnsupportedProtocolVersionError } from '@modelcontextprotocol/client'
import type { JsonSchemaType, JsonSchemaValidator, Tool, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Clock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { fromJsonSchema } from '../tools/foreign/schema.js'
import type { McpDefinition, McpProcess } from '../tools/foreign/server.js'

export interface McpSession {
  readonly client: Client
  readonly tools: readonly Tool[]
  /** Resolves when the connection has ended, whoever ended it. */
  readonly ended: Promise<void>
  /** The last error of the connection. */
  lastError(): string | undefined
  stderr(): string
  end(): Promise<void>
}

export interface SessionOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

type Transport = StdioClientTransport | Endpoint

/** The transport closes the streams, sends SIGTERM and then SIGKILL, two seconds apart. */
const endMs = 6000

export async function openSession(
  server: McpDefinition,
  opening: SessionOptions,
  protocol: 'common' | 'asked' = 'command' in server ? 'common' : 'asked',
): Promise<McpSession> {
  const transport = transportOf(server)
  const stderr = tailOf(transport)
  // Negotiation would start a process twice, so a process is asked only if it refuses the common protocol.
  const client = new Client(clientInfo(), {
    jsonSchemaValidator: results,
    ...(protocol === 'asked' && { versionNegotiation: { mode: 'auto' } }),
  })
  let lastError: string | undefined
  const ended = new Promise<void>((resolve) => {
    const onerror = ({ message }: Error): void => {
      lastError = message
    }
    Object.assign(client, { onclose: resolve, onerror })
  })
  const end = (): Promise<void> => endOf({ client, transport, ended }, opening.clock)
  const { timeoutMs: timeout, signal } = opening
  try {
    await client.connect(transport, { timeout, signal })
    const { tools } = await client.listTools(undefined, { timeout, signal })
    return { client, tools, ended, lastError: () => lastError, stderr, end }
  } catch (thrown) {
    await end()
    signal.throwIfAborted()
    if (protocol === 'common' && UnsupportedProtocolVersionError.isInstance(thrown))
      return openSession(server, opening, 'asked')
    throw notLoaded(server, reasonOf(thrown), stderr())
  }
}

const results: jsonSchemaValidator = {
  getValidator<Value>(schema: JsonSchemaType): JsonSchemaValidator<Value> {
    const { check } = fromJsonSchema(isObject(schema) ? schema : {})
    return (input) => {
      const [issue] = check(input)
      return issue
        ? { valid: false, data: undefined, errorMessage: `${issue.path.join('.') || 'it'}: ${issue.message}` }
        : { valid: true, data: input as Value, errorMessage: undefined }
    }
  },
}

function transportOf(server: McpDefinition): Transport {
  if (!('command' in server))
    return new Endpoint(new URL(server.url), { requestInit: { headers: { ...server.headers } } })
  const { env, cwd } = server
  const [command = '', ...args] = commandLineOf(server)
  return new StdioClientTransport({
    command,
    args,
    ...(env && { env: { ...env } }),
    ...defined({ cwd }),
    stderr: 'pipe',
  })
}

/** The transport cannot start a process as another user, so `setpriv` does. */
function commandLineOf({ command, args = [], uid, gid }: McpProcess): readonly string[] {
  if (uid === undefined && gid === undefined) return [command, ...args]
  const user = [...(uid === undefined ? [] : [`--reuid=${uid}`]), ...(gid === undefined ? [] : [`--regid=${gid}`])]
  return ['setpriv', ...user, '--clear-groups', '--inh-caps=-all', '--', command, ...args]
}

type Send = Parameters<StreamableHTTPClientTransport['send']>

/**
 * The client only handles errors of sending, not of the stream of the answer. So `send` of a request stays pending
 * until its stream has ended.
 */
class Endpoint extends StreamableHTTPClientTransport {
  override send(message: Send[0], options?: Send[1]): Promise<void> {
    if (Array.isArray(message) || !('id' in message && 'method' in message)) return super.send(message, options)
    return new Promise((_resolve, reject) => {
      const onRequestStreamEnd = (): void => {
        options?.onRequestStreamEnd?.()
        // The stream also ends after an answer, which is then being handled.
        setImmediate(() => reject(new Error('the answer broke off')))
      }
      super.send(message, { ...options, onRequestStreamEnd }).catch(reject)
    })
  }
}

const tailLength = 2000

function tailOf(transport: Transport): () => string {
  let tail = ''
  if (transport instanceof StdioClientTransport) {
    transport.stderr?.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('utf8')).slice(-tailLength)
    })
  }
  return () => tail.trim()
}

function clientInfo(): { readonly name: string; readonly version: string } {
  const { name, version }: { name: string; version: string } = createRequire(import.meta.url)('skein/package.json')
  return { name, version }
}

async function endOf(
  { client, transport, ended }: { client: Client; transport: Transport; ended: Promise<void> },
  clock: Clock,
): Promise<void> {
  const quietly = (work: Promise<void>): Promise<void> => work.catch(() => undefined)
  if (transport instanceof Endpoint) {
    await within(quietly(transport.terminateSession()), endMs, clock)
    return within(quietly(client.close()), endMs, clock)
  }
  await within(quietly(client.close()), endMs, clock)
  await within(ended, endMs, clock)
}

function within(work: Promise<void>, ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.wakeAt(clock.now() + ms, resolve)
    void work.then(() => {
      stop()
      resolve()
    })
  })
}

export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const { cause } = thrown
  return cause instanceof Error ? `${thrown.message} (${reasonOf(cause)})` : thrown.message
}

function notLoaded(server: McpDefinition, reason: string, stderr: string): SkeinError {
  const where =
    'command' in server
      ? `(${[server.command, ...(server.args ?? [])].join(' ')}${server.cwd === undefined ? '' : `, in ${server.cwd}`})`
      : `at ${String(server.url)}`
  const output = stderr === '' ? '' : `\nIt wrote:\n${stderr}`
  return new SkeinError(
    'APP_NOT_LOADED',
    `the MCP server ${JSON.stringify(server.name)} ${where} could not be connected: ${reason}${output}`,
    {
      data: { server: server.name, reason, stderr },
    },
  )
}
