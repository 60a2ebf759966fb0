/**
 * Connects the MCP servers of an app on the host and turns their tools into definitions.
 *
 * - Either all servers are connected or none is left running, and the error names each that failed.
 * - A tool has the name that its server gives it, with "_" for characters that a name here cannot have.
 * - Hints of a server are believed unless the app overrides them: a read-only tool may run ahead and again, an
 *   idempotent one again after a crash. Without a hint a tool has a side effect.
 * - A server cannot replace a built-in tool by its name alone: only the app can allow that (`replaces`).
 * - The number of tools and their schemas are bounded (JS1, JS2: json-schema.ts).
 */
import { z } from 'zod'
import type { Tool } from '@modelcontextprotocol/client'
import type { ToolDefinition } from '../agent/define.js'
import { systemClock } from '../core/clock.js'
import type { Clock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError, isSkeinError, toFailure } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { builtins } from '../tools/own/thread-files.js'
import { contentText } from '../tools/foreign/content.js'
import { foreignArgs } from '../tools/foreign/kinds.js'
import { checkNames, resolveOptions } from '../tools/foreign/options.js'
import type { Overrides } from '../tools/foreign/options.js'
import { hasPattern } from '../tools/foreign/json-schema.js'
import { loadPatterns } from '../tools/foreign/linear-patterns.js'
import type { ForeignSchema } from '../tools/foreign/schema.js'
import { fromJsonSchema } from '../tools/foreign/schema.js'
import { mcpOptionsSchema } from '../tools/foreign/server.js'
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
const options = mcpOptionsSchema.optional()
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
    if (failed.length > 0) throw combine(failed)
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

/** The only failure, or one that lists them all. */
function combine(failed: readonly unknown[]): unknown {
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

/** Far more than can be offered to a model. */
const mostTools = 1_000

async function toolsOf(
  definition: McpDefinition,
  server: McpServer,
  listed: readonly Tool[],
): Promise<readonly Listed[]> {
  const { tools: selected, byName = {}, replaces = [] } = definition.options ?? {}
  const title = `the MCP server ${JSON.stringify(definition.name)}`
  if (listed.length > mostTools)
    throw new SkeinError('APP_NOT_LOADED', `${title} lists ${listed.length} tools, and ${mostTools} are the most`)
  checkNames(
    [...(selected ?? []), ...Object.keys(byName), ...replaces],
    listed.map(({ name }) => name),
    title,
  )
  // Tools that only run as tasks cannot be called directly.
  const usable = listed.filter(
    ({ name, execution }) =>
      (selected === undefined || selected.includes(name)) && execution?.taskSupport !== 'required',
  )
  if (usable.some(({ inputSchema }) => hasPattern(inputSchema))) await loadPatterns()
  const tools = usable.map((tool) => ({ own: tool.name, tool: define(definition, server, tool) }))
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
  { name: serverName, options: mcpOptions = {} }: McpDefinition,
  server: McpServer,
  tool: Tool,
): ToolDefinition {
  const { prefix = '', tools: _tools, replaces: _replaces, ...overrides } = mcpOptions
  const settings = resolveOptions(hintsOf(tool), overrides, tool.name)
  const called = { name: tool.name, repeatable: settings.sideEffect === false || settings.idempotent === true }
  return {
    kind: 'tool',
    name: nameOf(prefix + tool.name),
    description: tool.description ?? tool.title ?? '',
    ...foreignArgs(schemaOf(serverName, tool)),
    execute: async (state, args) =>
      toReturn(tool.name, await server.call(called, { args: isObject(args) ? args : {}, state })),
    toModelOutput: contentText,
    ...settings,
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

function hintsOf({ annotations = {} }: Tool): Overrides {
  const { readOnlyHint, idempotentHint } = annotations
  return defined({
    sideEffect: readOnlyHint === true ? false : undefined,
    idempotent: idempotentHint === true || undefined,
  })
}
