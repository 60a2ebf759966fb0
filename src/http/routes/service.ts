/** Routes of the service itself: its health, its hosts, what its app defines, and tokens for one tree. */
import { z } from 'zod'
import { machineOutline } from '../../index.js'
import type { AppOutline } from '../../index.js'
import { checkUnbound } from '../auth/principal.js'
import { HttpProblem } from '../problem.js'
import { route } from '../route.js'
import type { ServedSkein } from '../route.js'
import { threadId } from '../schemas.js'

const health = route({
  method: 'get',
  path: '/health',
  name: 'get_health',
  summary: 'The process answers.',
  scope: undefined,
  answer: { status: 200, description: 'It does', schema: z.object({ status: z.literal('ok') }) },
  run: async () => ({ status: 'ok' }),
})

const readyWithinMs = 2_000

const ready = route({
  method: 'get',
  path: '/ready',
  name: 'get_ready',
  summary: 'The store answers, and a host serves it.',
  scope: undefined,
  answer: { status: 200, description: 'Requests can be served', schema: z.object({ status: z.literal('ready') }) },
  async run({ skein, clock }) {
    let cancel = (): void => undefined
    const late = new Promise<'late'>((resolve) => {
      cancel = clock.wakeAt(clock.now() + readyWithinMs, () => resolve('late'))
    })
    const hosted = await Promise.race([skein.hosted().catch(() => 'away' as const), late])
    cancel()
    if (hosted === true) return { status: 'ready' }
    const why = hosted === false ? 'no host serves the store' : 'the store does not answer'
    throw new HttpProblem({ status: 503, code: 'STORE_FAILED' }, why, { headers: { 'retry-after': '1' } })
  },
})

const hosts = route({
  method: 'get',
  path: '/hosts',
  name: 'list_hosts',
  summary: 'The hosts that serve the store, and how many partitions they share.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'The hosts',
    schema: z.looseObject({ hosts: z.array(z.looseObject({})), partitions: z.number() }),
  },
  async run({ skein, principal }) {
    checkUnbound(principal)
    return skein.hosts()
  },
})

const waits = route({
  method: 'get',
  path: '/models/waits',
  name: 'list_model_waits',
  summary: 'Threads that wait in line for a model that its provider has limited.',
  scope: 'read',
  answer: { status: 200, description: 'The waits', schema: z.object({ waits: z.array(z.looseObject({})) }) },
  async run({ skein, principal }) {
    checkUnbound(principal)
    return { waits: await skein.modelWaits() }
  },
})

export function servedOutline({ definitions }: ServedSkein): AppOutline {
  if (definitions) return definitions()
  throw new HttpProblem(
    { status: 404, code: 'NOT_FOUND' },
    'this server is a client of hosts elsewhere and does not know what their app defines',
  )
}

const outlineSchema = z.looseObject({
  agents: z.array(z.looseObject({ name: z.string() })),
  tools: z.array(z.looseObject({ name: z.string() })),
  models: z.array(z.looseObject({ name: z.string() })),
})

const definitions = route({
  method: 'get',
  path: '/definitions',
  name: 'list_definitions',
  summary: 'Agents, prompts, tools and models of the app.',
  scope: 'read',
  answer: { status: 200, description: 'The definitions', schema: outlineSchema },
  run: async ({ skein }) => servedOutline(skein),
})

const agents = route({
  method: 'get',
  path: '/agents',
  name: 'list_agents',
  summary: 'Agents that a thread can be created with.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'The agents',
    schema: z.object({ agents: z.array(z.looseObject({ name: z.string() })) }),
  },
  isTool: true,
  run: async ({ skein }) => ({ agents: servedOutline(skein).agents }),
})

const getAgent = route({
  method: 'get',
  path: '/agents/{name}',
  name: 'get_agent',
  summary: 'An agent: its sides, what its models may call, and the variables that it needs.',
  scope: 'read',
  params: { name: z.string().min(1).max(256) },
  answer: { status: 200, description: 'The agent', schema: z.looseObject({ name: z.string() }) },
  async run({ skein, params: { name } }) {
    const found = servedOutline(skein).agents.find((agent) => agent.name === name)
    if (found) return found
    throw new HttpProblem({ status: 404, code: 'UNKNOWN_AGENT' }, `there is no agent ${JSON.stringify(name)}`)
  },
})

const tools = route({
  method: 'get',
  path: '/tools',
  name: 'list_tools',
  summary: 'Tools of the app, with the schemas of their args.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'The tools',
    schema: z.object({ tools: z.array(z.looseObject({ name: z.string() })) }),
  },
  run: async ({ skein }) => ({ tools: servedOutline(skein).tools }),
})

const models = route({
  method: 'get',
  path: '/models',
  name: 'list_models',
  summary: 'Models of the app, and those that stand in for them.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'The models',
    schema: z.object({ models: z.array(z.looseObject({ name: z.string() })) }),
  },
  run: async ({ skein }) => ({ models: servedOutline(skein).models }),
})

const machine = route({
  method: 'get',
  path: '/machine',
  name: 'get_machine',
  summary: 'The statechart of every thread: its states, and which record moves it where. The same for all of a build.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'States and edges; of the edges for a record, the first whose guard holds is taken',
    schema: z.object({
      initial: z.string(),
      states: z.array(z.string()),
      edges: z.array(z.object({ from: z.string(), on: z.string(), guard: z.string().optional(), to: z.string() })),
    }),
  },
  run: machineOutline,
})

const metrics = route({
  method: 'get',
  path: '/metrics',
  name: 'get_metrics',
  summary: 'Metrics of this host in Prometheus text; for keys that are not bound to trees or tags.',
  scope: 'read',
  answer: { status: 200, description: 'Prometheus text, version 0.0.4', type: 'text' },
  async run({ skein, principal }) {
    checkUnbound(principal)
    const text = skein.metrics?.()
    if (text !== undefined)
      return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } })
    throw new HttpProblem(
      { status: 404, code: 'NOT_FOUND' },
      'nothing is counted here: give createSkein the observer metrics() of skein/observe, or skein serve --metrics',
    )
  },
})

const longestTokenMs = 7 * 24 * 60 * 60 * 1_000

const mintToken = route({
  method: 'post',
  path: '/threads/{thread}/tokens',
  name: 'create_tree_token',
  summary: 'A token for one tree, by its root: for a browser, or for another service.',
  scope: 'admin',
  params: { thread: threadId },
  body: z.strictObject({
    name: z.string().min(1).max(128),
    scopes: z.array(z.enum(['read', 'write', 'approve'])).min(1),
    ttlMs: z.number().int().positive().max(longestTokenMs),
  }),
  answer: {
    status: 201,
    description: 'The token and when it ends',
    schema: z.object({ token: z.string(), ends: z.number() }),
  },
  async run({ tokens, skein, params, body }) {
    if (!tokens)
      throw new HttpProblem(
        { status: 404, code: 'NOT_FOUND' },
        'this server has no keys of its own, so it signs no tokens',
      )
    const info = await (await skein.threads.get(params.thread)).info()
    if (info.root !== params.thread)
      throw new HttpProblem(
        { status: 409, code: 'COMMAND_REFUSED' },
        `a token is for a whole tree; its root is ${info.root}`,
      )
    return tokens.mint({ root: params.thread, ...body })
  },
})

export const serviceRoutes = [
  health,
  ready,
  metrics,
  hosts,
  waits,
  definitions,
  agents,
  getAgent,
  tools,
  models,
  machine,
  mintToken,
]
