/**
 * A skein as an MCP server: agents and routes as tools, threads as resources. One server is made for each connection,
 * or for each request where the transport has no connections; it keeps nothing.
 *
 * - A client sees the tools that its key may use.
 * - What goes wrong in a call is a result that a model can read; only a tool that does not exist is an error of the
 *   protocol.
 */
import { createRequire } from 'node:module'
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { hasScope } from '../auth/principal.js'
import { toProblem } from '../problem.js'
import { agentTools, askAgent } from './ask.js'
import type { AgentTool, AskContext } from './ask.js'
import { listResources, readResource, resourceTemplates } from './resources.js'
import { callRoute, routeTool } from './route-tools.js'
import type { Arguments, McpScene, ToolFacts } from './route-tools.js'

/** A person may take a day; the client ends the wait when it likes. */
const longestQuestionMs = 24 * 60 * 60 * 1_000
const mostQuestions = 1_000

export function createSkeinMcp(scene: McpScene): Server {
  const server = new Server(identity(), {
    capabilities: { tools: {}, resources: {} },
    instructions:
      'Durable agents. ask_<agent> says something to an agent and gives its answer; its thread goes on by its id. ' +
      'A call that is interrupted changes nothing for the turn: get_run reads its result later.',
    inputRequired: { maxRounds: mostQuestions, roundTimeoutMs: longestQuestionMs },
  })
  server.setRequestHandler('tools/list', ({ params }) => listTools(scene, params?.cursor))
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
    // A request of 2026 says what its client can do; before that, the client has said it when it connected.
    const declared = z.looseObject({ [CLIENT_CAPABILITIES_META_KEY]: capabilities }).safeParse(mcpReq.envelope)
    const client = declared.data?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
    return callTool({ scene, request: mcpReq, client }, params.name, params.arguments ?? {})
  })
  server.setRequestHandler('resources/list', ({ params }) => told(scene, () => listResources(scene, params?.cursor)))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }))
  server.setRequestHandler('resources/read', ({ params }) => told(scene, () => readResource(scene, params.uri)))
  return server
}

const mode = z.looseObject({}).optional()
const capabilities = z.looseObject({ elicitation: z.looseObject({ form: mode, url: mode }).optional() })

function identity(): { readonly name: string; readonly version: string } {
  const { version }: { version: string } = createRequire(import.meta.url)('skein/package.json')
  return { name: 'skein', version }
}

const pageSize = 100

function toolsOf(scene: McpScene): readonly (ToolFacts | AgentTool)[] {
  const made = scene.routes.filter(({ isTool }) => isTool).map(routeTool)
  return [...agentTools(scene), ...made].filter(({ scope }) => hasScope(scene.principal, scope))
}

function listTools(scene: McpScene, cursor = '0') {
  const all = toolsOf(scene)
  const start = /^\d{1,6}$/.test(cursor) ? Number(cursor) : Number.NaN
  if (!(start === 0 || start < all.length))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the cursor is none that this server gave')
  const end = start + pageSize
  return {
    tools: all
      .slice(start, end)
      .map(({ name, description, inputSchema, annotations }) => ({ name, description, inputSchema, annotations })),
    ...defined({ nextCursor: end < all.length ? String(end) : undefined }),
  }
}

async function callTool(
  context: AskContext,
  name: string,
  args: Arguments,
): Promise<CallToolResult | InputRequiredResult> {
  const { scene, request } = context
  const agent = agentTools(scene).find((each) => each.name === name)
  const route = scene.routes.find((each) => each.isTool && each.name === name)
  try {
    if (agent) return await askAgent(context, agent, args)
    if (route) return resultOf(await callRoute(scene, route, args))
  } catch (thrown) {
    // Nobody waits for the result.
    for (const signal of [request.signal, scene.signal]) signal.throwIfAborted()
    const problem = toProblem(thrown)
    if (problem.status === 500) scene.warn(`${name} could not be called`, thrown)
    return { content: [{ type: 'text', text: `${problem.code}: ${problem.message}` }], isError: true }
  }
  const names = toolsOf(scene).map((each) => each.name)
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `there is no tool ${JSON.stringify(name.slice(0, 100))}; there are: ${names.join(', ')}`,
  )
}

function resultOf(value: unknown): CallToolResult {
  const text = JSON.stringify(value ?? null)
  const plain: unknown = JSON.parse(text)
  const isObject = typeof plain === 'object' && plain !== null && !Array.isArray(plain)
  return { content: [{ type: 'text', text }], ...(isObject && { structuredContent: { ...plain } }) }
}

/** What a route refuses is an error of the request; the rest is told to the operator alone. */
async function told<Result>({ warn }: McpScene, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown
    const problem = toProblem(thrown)
    if (problem.status === 500) warn('a resource could not be read', thrown)
    const code = problem.status === 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
    throw new ProtocolError(code, `${problem.code}: ${problem.message}`)
  }
}
