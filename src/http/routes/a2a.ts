/** Routes of A2A 1.0: the card of an agent, and its methods over JSON-RPC. */
import { jsonResponse } from '../answer.js'
import { createRequire } from 'node:module'
import { z } from 'zod'
import { cardOf, protocolVersion } from '../a2a/card.js'
import { rpcRequest } from '../a2a/forms.js'
import { methods } from '../a2a/methods.js'
import type { A2aScene } from '../a2a/methods.js'
import { RpcError, rpcCodes, toRpcError } from '../a2a/rpc-error.js'
import { HttpProblem, badRequest, toProblem } from '../problem.js'
import { route, traceOf } from '../route.js'
import type { RouteScene } from '../route.js'
import { dataStream } from '../stream/server-sent-events.js'
import { servedOutline } from './service.js'

const agent = { agent: z.string().min(1).max(128) }

const card = route({
  method: 'get',
  path: '/a2a/{agent}/.well-known/agent-card.json',
  name: 'get_agent_card',
  summary: 'The card of an agent for clients of A2A.',
  scope: 'read',
  params: agent,
  answer: { status: 200, description: 'The card', schema: z.looseObject({ name: z.string() }) },
  async run({ skein, params, request, publicUrl }) {
    const found = servedOutline(skein).agents.find(({ name }) => name === params.agent)
    if (!found) throw unknownAgent(params.agent)
    const path = `/a2a/${encodeURIComponent(found.name)}`
    const { origin, pathname } = new URL(request.url)
    const own = `${origin}${pathname.slice(0, pathname.lastIndexOf('/a2a/'))}`
    const { version }: { version: string } = createRequire(import.meta.url)('skein/package.json')
    return cardOf(found, `${publicUrl ?? own}${path}`, version)
  },
})

function unknownAgent(name: string): HttpProblem {
  return new HttpProblem({ status: 404, code: 'UNKNOWN_AGENT' }, `there is no agent ${JSON.stringify(name)}`)
}

const call = route({
  method: 'post',
  path: '/a2a/{agent}',
  name: 'call_a2a',
  summary: 'An agent for clients of A2A 1.0 (JSON-RPC). The scope of each method is checked when it is called.',
  scope: 'read',
  params: agent,
  body: z.unknown(),
  answer: {
    status: 200,
    description: 'A response of JSON-RPC, or server-sent events with several',
    schema: z.looseObject({ jsonrpc: z.literal('2.0') }),
  },
  errorOf: ({ code, message }) => ({
    jsonrpc: '2.0',
    id: null,
    error: { code: rpcCodes.invalidRequest, message: `${code}: ${message}` },
  }),
  async run({ body, params, ...scene }) {
    const { data: rpc } = rpcRequest.safeParse(body)
    if (!rpc) throw badRequest('the body must be a request of JSON-RPC 2.0')
    const { id = null } = rpc
    try {
      return await answer({ ...scene, ...traceOf(scene), agent: params.agent }, rpc)
    } catch (caught) {
      const thrown = caught instanceof RangeError ? tooDeep : caught
      if (toProblem(thrown).status === 500 && !(thrown instanceof RpcError))
        scene.warn(`${rpc.method} of A2A could not be served`, thrown)
      return failed(id, thrown)
    }
  },
})

/** The stack is too short for what was sent. */
const tooDeep = new RpcError(rpcCodes.invalidParams, 'the params are nested too deeply')

function failed(id: string | number | null, thrown: unknown): Response {
  return jsonResponse({ jsonrpc: '2.0', id, error: toRpcError(thrown) }, { headers: { 'cache-control': 'no-store' } })
}

async function answer(
  scene: A2aScene & Pick<RouteScene, 'request'>,
  { id = null, method: name, params }: z.output<typeof rpcRequest>,
): Promise<Response> {
  const version = scene.request.headers.get('a2a-version')
  if (version !== null && version !== '' && version !== protocolVersion)
    throw new RpcError(rpcCodes.version, `this server speaks A2A ${protocolVersion}, not ${version.slice(0, 32)}`)
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (!method) throw new RpcError(rpcCodes.methodNotFound, `there is no method ${JSON.stringify(name)}`)
  const known = scene.skein.definitions?.().agents.some((each) => each.name === scene.agent)
  if (known === false) throw unknownAgent(scene.agent)
  const result = await method(scene, params)
  if ('value' in result) {
    const body = { jsonrpc: '2.0', id, result: result.value }
    return jsonResponse(body, { headers: { 'cache-control': 'no-store' } })
  }
  const { clock, signal, streams } = scene
  return dataStream((reading) => responses(id, result.stream(reading)), {
    clock,
    signal,
    heartbeatMs: streams.heartbeatMs,
    enter: streams.enter,
    failed: (thrown) => ({ jsonrpc: '2.0', id, error: toRpcError(thrown) }),
    last: '',
  })
}

async function* responses(
  id: string | number | null,
  parts: AsyncGenerator<object, void, undefined>,
): AsyncGenerator<object, void, undefined> {
  for await (const result of parts) yield { jsonrpc: '2.0', id, result }
}

export const a2aRoutes = [card, call]
