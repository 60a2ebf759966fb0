/**
 * MCP servers of an app, connected on the host: their tools as definitions.
 *
 * - Either all servers are connected or none is left running, and the error names each that failed.
 * - A tool is called as its server names it; where that cannot be a name here, other characters become "_".
 * - What a server hints is believed unless the caller says otherwise: read-only may run ahead and again, idempotent
 *   may run again after a crash. What it does not hint has a side effect.
 * - A server takes no built-in tool's place by naming one of its own like it: only the app can say that (`replaces`).
 * - What a server says of its tools is bounded: how many there are, and their schemas (JS1, JS2).
 */
import { z } from 'zod'
import type { Tool } from '@modelcontextprotocol/client'
import type { ToolDefinition } from '../agent/define.js'
import { systemClock } from '../core/clock.js'
import type { Clock } from '../core/clock.js'
import { SkeinError, isSkeinError, toFailure } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { builtins } from '../tools/own/thread-files.js'
import { spoken } from '../tools/foreign/content.js'
import { argsOf } from '../tools/foreign/kinds.js'
import { checkNames, resolveOptions } from '../tools/foreign/options.js'
import type { Overrides } from '../tools/foreign/options.js'
import { hasPattern } from '../tools/foreign/json-schema.js'
import { loadPatterns } from '../tools/foreign/linear-patterns.js'
import type { ForeignSchema } from '../tools/foreign/schema.js'
import { fromJsonSchema } from '../tools/foreign/schema.js'
import type { McpDefinition } from '../tools/foreign/server.js'
import { toReturn } from './result.js'
import { createMcpServer } from './server.js'
import type { McpServer } from './server.js'

export interface ConnectMcpOptions {
  readonly signal?: AbortSignal
  /** For connecting, and for listing the tools. Default 30 s. */
  readonly timeoutMs?: number
  readonly clock?: Clock
}

export interface ConnectedMcp {
  readonly tools: readonly ToolDefinition[]
  /** Ends the connections and the processes; never rejects. */
  close(): Promise<void>
}

const text = z.record(z.string(), z.string()).optional()
const list = z.array(z.string()).optional()
const options = z
  .looseObject({
    prefix: z.string().optional(),
    tools: list,
    replaces: list,
    byName: z.record(z.string(), z.looseObject({})).optional(),
  })
  .optional()
const userId = z.number().int().min(0).optional()
const definitionSchema = z.union([
  z.strictObject({
    kind: z.literal('mcp'),
    name: z.string().min(1),
    options,
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: text,
    cwd: z.string().optional(),
    uid: userId,
    gid: userId,
  }),
  z.strictObject({
    kind: z.literal('mcp'),
    name: z.string().min(1),
    options,
    url: z.union([z.url({ protocol: /^https?$/ }), z.instanceof(URL)]),
    headers: text,
  }),
])

export async function connectMcp(
  definitions: readonly McpDefinition[],
  { signal, timeoutMs = 30_000, clock = systemClock }: ConnectMcpOptions = {},
): Promise<ConnectedMcp> {
  checkDefinitions(definitions)
  signal?.throwIfAborted()
  const servers = definitions.map((definition) => ({
    definition,
    server: createMcpServer(definition, { timeoutMs, clock }),
  }))
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(({ server }) => server.close()))
  }
  try {
    const listed = await Promise.allSettled(
      servers.map(async ({ definition, server }) => toolsOf(definition, server, await server.tools(signal))),
    )
    signal?.throwIfAborted()
    const failed = listed.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    if (failed.length > 0) throw allOf(failed)
    const tools = listed.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    checkClashes(tools)
    return { tools: tools.map(({ tool }) => tool), close }
  } catch (thrown) {
    await close()
    throw thrown
  }
}

function checkDefinitions(definitions: readonly McpDefinition[]): void {
  const names = new Set<string>()
  for (const definition of definitions) {
    const title = `the MCP server ${JSON.stringify(definition.name)}`
    if (!definitionSchema.safeParse(definition).success) {
      throw new SkeinError(
        'BAD_OPTION',
        `${title} must have a name and either command (with args, env, cwd as text, uid and gid as numbers) or an ` +
          `http(s) url (with headers as text)`,
      )
    }
    if (names.has(definition.name)) throw new SkeinError('DUPLICATE_NAME', `there are two definitions of ${title}`)
    names.add(definition.name)
  }
}

/** The one failure, or one that lists them all. */
function allOf(failed: readonly unknown[]): unknown {
  const [first] = failed
  if (failed.length === 1) return first
  const code = isSkeinError(first) ? first.code : 'APP_NOT_LOADED'
  return new SkeinError(
    code,
    `${failed.length} MCP servers ` +
      `failed:\n${failed.map((thrown) => `- ${toFailure(thrown, code).message}`).join('\n')}`,
    { cause: first },
  )
}

interface Listed {
  readonly server: string
  readonly tool: ToolDefinition
}

function checkClashes(listed: readonly Listed[]): void {
  const owners = new Map<string, string>()
  for (const { server, tool } of listed) {
    const owner = owners.get(tool.name)
    if (owner !== undefined)
      throw new SkeinError(
        'DUPLICATE_NAME',
        `the MCP servers ${JSON.stringify(owner)} and ${JSON.stringify(server)} both have a tool ` +
          `${JSON.stringify(tool.name)}; give one of them a prefix: fromMcp(…, { prefix: 'x_' })`,
      )
    owners.set(tool.name, server)
  }
}

/** Far more than a model can be offered. */
const mostTools = 1_000

async function toolsOf(
  definition: McpDefinition,
  server: McpServer,
  listed: readonly Tool[],
): Promise<readonly Listed[]> {
  const { tools: wanted, byName = {}, replaces = [] } = definition.options ?? {}
  const title = `the MCP server ${JSON.stringify(definition.name)}`
  if (listed.length > mostTools)
    throw new SkeinError('APP_NOT_LOADED', `${title} lists ${listed.length} tools, and ${mostTools} are the most`)
  checkNames(
    [...(wanted ?? []), ...Object.keys(byName), ...replaces],
    listed.map(({ name }) => name),
    title,
  )
  // Those that only run as tasks cannot be called and waited for.
  const taken = listed.filter(
    ({ name, execution }) => (wanted === undefined || wanted.includes(name)) && execution?.taskSupport !== 'required',
  )
  if (taken.some(({ inputSchema }) => hasPattern(inputSchema))) await loadPatterns()
  const tools = taken.map((tool) => ({ own: tool.name, tool: define(definition, server, tool) }))
  const shadows = tools
    .filter(({ own, tool }) => isBuiltin(tool.name) && !replaces.includes(own))
    .map(({ tool }) => JSON.stringify(tool.name))
  if (shadows.length > 0) throw shadowed(title, shadows)
  return tools.map(({ tool }) => ({ server: definition.name, tool }))
}

function isBuiltin(name: string): boolean {
  return builtins.some((builtin) => builtin.name === name)
}

function shadowed(title: string, shadows: readonly string[]): SkeinError {
  const [one] = shadows
  return new SkeinError(
    'DUPLICATE_NAME',
    `${title} has tools with the names of built-in tools: ${shadows.join(', ')}. Prompts that name them would get ` +
      `the server's. Give its tools a prefix: fromMcp(…, { prefix: 'x_' }), choose others with tools: […], or say ` +
      `that they are meant: replaces: [${one ?? ''}]`,
  )
}

function define(
  { name: serverName, options: given = {} }: McpDefinition,
  server: McpServer,
  tool: Tool,
): ToolDefinition {
  const { prefix = '', tools: _tools, replaces: _replaces, ...overrides } = given
  const said = resolveOptions(hinted(tool), overrides, tool.name)
  const called = { name: tool.name, repeatable: said.sideEffect === false || said.idempotent === true }
  return {
    kind: 'tool',
    name: nameOf(prefix + tool.name),
    description: tool.description ?? tool.title ?? '',
    ...argsOf(schemaOf(serverName, tool)),
    execute: async (state, args) =>
      toReturn(tool.name, await server.call(called, { args: isObject(args) ? args : {}, state })),
    toModelOutput: spoken,
    ...said,
    where: 'host',
  }
}

function schemaOf(server: string, { name, inputSchema }: Tool): ForeignSchema {
  try {
    return fromJsonSchema(inputSchema)
  } catch (thrown) {
    const { message } = toFailure(thrown, 'APP_NOT_LOADED')
    throw new SkeinError(
      'APP_NOT_LOADED',
      `the tool ${JSON.stringify(name.slice(0, 100))} of the MCP server ${JSON.stringify(server)} cannot be used: ` +
        `${message.replace(/^TypeError: /, '')}. Choose others with fromMcp(…, { tools: […] })`,
    )
  }
}

function nameOf(name: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return /^[a-zA-Z]/.test(plain) ? plain : `t_${plain}`.slice(0, 64)
}

function hinted({ annotations = {} }: Tool): Overrides {
  const { readOnlyHint, idempotentHint } = annotations
  return { ...(readOnlyHint === true && { sideEffect: false }), ...(idempotentHint === true && { idempotent: true }) }
}
