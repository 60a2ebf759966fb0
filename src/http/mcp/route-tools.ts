/**
 * Routes as tools of MCP: each route of the table that says so. Its arguments are the parameters of the path, the query
 * and the fields of the body, in one object.
 *
 * - A call is checked as a request over HTTP is: the scope, the tree, then each argument.
 * - What a route has in two parts, `thread` and `call`, a tool takes whole too: `id`, as the inbox gives it.
 */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { platformResponse } from '../answer.js'
import { checkAccess } from '../auth/principal.js'
import type { Scope } from '../auth/principal.js'
import { openApiSchema } from '../openapi.js'
import { badRequest } from '../problem.js'
import type { Route, RouteScene } from '../route.js'

/** `trace`: the one that the request which carries the calls is part of. */
export type McpScene = Omit<RouteScene, 'request'> & { readonly trace?: string }

export type Arguments = Readonly<Record<string, unknown>>

type JsonObject = { readonly [field: string]: unknown }

/** The form of a tool's arguments, as clients read it. */
export interface InputSchema extends JsonObject {
  readonly type: 'object'
}

export interface ToolFacts {
  readonly name: string
  readonly description: string
  readonly inputSchema: InputSchema
  readonly annotations: { readonly readOnlyHint: boolean; readonly idempotentHint?: boolean }
  readonly scope: Scope
}

const formSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
  $defs: z.record(z.string(), z.unknown()).optional(),
})

/** Whether a call of a thread is named, by its id of the inbox or by the two parts of it. */
const takesId = ({ params }: Pick<Route, 'params'>): boolean => 'thread' in params && 'call' in params

const idField = { type: 'string', description: 'As list_inbox and the answer of an agent give it: <thread>/call_1_0' }
const idWords = ' Give id, as list_inbox and the answer of an agent have it, or its two parts, thread and call.'

export function routeTool(target: Route): ToolFacts {
  const { name, summary, method, params, query, body, scope = 'read' } = target
  const hasId = takesId(target)
  const form = formSchema.parse(body ? openApiSchema(body, 'input') : {})
  const fields = { ...params, ...query }
  const required = Object.entries(fields)
    .filter(([field, schema]) => !(hasId && field in params) && !schema.safeParse(undefined).success)
    .map(([field]) => field)
  return {
    name,
    description: hasId ? `${summary}${idWords}` : summary,
    scope,
    annotations: { readOnlyHint: method === 'get' },
    inputSchema: {
      type: 'object',
      properties: {
        ...(hasId && { id: idField }),
        ...Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, fieldSchema(schema)])),
        ...form.properties,
      },
      required: [...required, ...form.required],
      additionalProperties: false,
      ...defined({ $defs: form.$defs }),
    },
  }
}

/** A number in a query is any text before it is parsed; clients read what it is afterwards. */
function fieldSchema(schema: z.ZodType): JsonObject {
  const before = openApiSchema(schema, 'input')
  return 'type' in before || 'enum' in before ? before : openApiSchema(schema, 'output')
}

/** What the route gives, as JSON, or the `Response` of one that gives bytes. */
export async function callRoute(scene: McpScene, target: Route, args: Arguments): Promise<unknown> {
  const { skein, principal, trace } = scene
  const { scope, params, query, body } = target
  const own = new Map(Object.entries(args).filter(([, value]) => value !== undefined))
  if (takesId(target)) splitId(own)
  const inPath = take(own, params)
  const inQuery = take(own, query)
  if (!body && own.size > 0) throw unknownArguments(target, [...own.keys()])
  const thread = inPath['thread'] ?? inPath['root']
  if (scope !== undefined) await checkAccess(skein, principal, { scope, ...defined({ thread }) })
  const given = await target.call({
    ...scene,
    // Other headers of the request that carries the call are not about the call.
    request: new Request('http://localhost/', { headers: defined({ traceparent: trace }) }),
    params: inPath,
    query: inQuery,
    body: bodyOf(target, own),
  })
  if (!(given instanceof Response)) return given
  const response = platformResponse(given)
  if (target.answer.type === 'bytes') return response
  return response.status === 204 ? { done: true } : response.json()
}

function splitId(args: Map<string, unknown>): void {
  const id = args.get('id')
  const [thread, call] = [args.get('thread'), args.get('call')]
  const isWhole = id !== undefined && thread === undefined && call === undefined
  if (!isWhole && (id !== undefined || thread === undefined || call === undefined))
    throw badRequest('give id, or thread and call')
  if (!isWhole) return
  const [, ...parts] = /^([^/]+)\/([^/]+)$/.exec(String(id)) ?? []
  if (parts.length === 0) throw badRequest('id: an id of the inbox looks like <thread>/call_1_0')
  args.delete('id')
  for (const [at, name] of ['thread', 'call'].entries()) args.set(name, parts[at])
}

/** Takes the fields of a path or a query out of the arguments; there they are texts. */
function take(args: Map<string, unknown>, shape: Route['params']): Record<string, string> {
  const taken: Record<string, string> = {}
  for (const name of Object.keys(shape)) {
    const value = args.get(name)
    if (value === undefined) continue
    if (typeof value === 'object') throw badRequest(`${name}: it must be a text, a number or true or false`)
    taken[name] = String(value)
    args.delete(name)
  }
  return taken
}

function bodyOf({ body }: Route, rest: ReadonlyMap<string, unknown>): unknown {
  if (!body) return undefined
  return rest.size === 0 && body.safeParse(undefined).success ? undefined : Object.fromEntries(rest)
}

function unknownArguments({ name, params, query }: Route, unknown: readonly string[]): Error {
  const known = [...Object.keys(params), ...Object.keys(query)].join(', ') || 'nothing'
  const names = unknown.map((each) => JSON.stringify(each.slice(0, 64))).join(', ')
  return badRequest(`${name} has no argument ${names}; it takes: ${known}`)
}
