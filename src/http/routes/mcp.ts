/** The route of MCP. What speaks the protocol is loaded when it is first used. */
import { z } from 'zod'
import { badRequest } from '../problem.js'
import { route, traceOf } from '../route.js'

/** JSON-RPC has no place for other errors than its own. */
const invalidRequest = -32_600

const mcp = route({
  method: 'post',
  path: '/mcp',
  name: 'call_mcp',
  summary:
    'Agents and threads for clients of MCP (streamable HTTP). The scope of each tool is checked when it is called.',
  scope: 'read',
  body: z.unknown(),
  answer: {
    status: 200,
    description: 'A message of JSON-RPC, or server-sent events with several',
    schema: z.looseObject({ jsonrpc: z.literal('2.0') }),
  },
  errorOf: ({ message, code }) => ({
    jsonrpc: '2.0',
    id: null,
    error: { code: invalidRequest, message: `${code}: ${message}` },
  }),
  async run({ body, request, ...scene }) {
    if (body === undefined) throw badRequest('the body must be a message of JSON-RPC')
    const { answerMcp } = await import('../mcp/http.js')
    return answerMcp({ ...scene, ...traceOf({ ...scene, request }) }, request, body)
  },
})

export const mcpRoutes = [mcp]
