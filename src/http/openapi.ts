/**
 * The OpenAPI 3.1 document of the routes: made of the same schemas that check requests.
 */
import { z } from 'zod'
import type { Skein } from '../index.js'
import type { Route, RouteAnswer } from './route.js'

type JsonObject = { readonly [field: string]: unknown }

export interface OpenApiInfo {
  readonly title: string
  readonly version: string
  /** What the app itself answers. */
  readonly endpoints?: ReturnType<Skein['endpoints']['list']>
}

export function createOpenApi(routes: readonly Route[], { endpoints = [], ...info }: OpenApiInfo): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const each of routes) {
    const path = each.path.replace('*}', '}')
    paths[path] = { ...paths[path], [each.method]: operationOf(each) }
  }
  for (const { method, parts, endpoint } of endpoints) {
    const path = ['/threads/{thread}/api', ...parts.map(({ kind, name }) => (kind === 'static' ? name : braced(name)))]
    const whole = path.join('/')
    paths[whole] = { ...paths[whole], [method]: endpointOperation({ method, parts, endpoint }) }
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: openApiSchema(problemSchema, 'output') },
    },
  }
}

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  code: z.string(),
  detail: z.string(),
  retry: z.boolean(),
  data: z.record(z.string(), z.unknown()).optional(),
})

function operationOf({ name, summary, scope, params, query, body, takesBytes, answer }: Route): JsonObject {
  return {
    operationId: name,
    summary,
    ...(scope === undefined ? { security: [] } : { security: [{ key: [] }], 'x-scope': scope }),
    parameters: [
      ...Object.entries(params).map(([field, schema]) => parameterOf(field, 'path', schema)),
      ...Object.entries(query).map(([field, schema]) => parameterOf(field, 'query', schema)),
    ],
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { 'application/json': { schema: openApiSchema(body, 'input') } },
      },
    }),
    ...(takesBytes && { requestBody: { required: true, content: { 'application/octet-stream': {} } } }),
    responses: {
      [answer.status]: responseOf(answer),
      default: {
        description: 'A problem',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

type Endpoint = ReturnType<Skein['endpoints']['list']>[number]

/** A catch-all has no name of its own. */
const braced = (name: string): string => (name === '*' ? '{rest}' : `{${name}}`)

function endpointOperation({ method, parts, endpoint }: Endpoint): JsonObject {
  const { name, summary = 'An endpoint of the app.', scope = method === 'get' ? 'read' : 'write' } = endpoint
  const names = parts.flatMap((part) => (part.kind === 'static' ? [] : [part.name === '*' ? 'rest' : part.name]))
  return {
    operationId: `api ${name}`,
    summary,
    security: [{ key: [] }],
    'x-scope': scope,
    parameters: ['thread', ...names].map((each) => parameterOf(each, 'path', z.string())),
    responses: { default: { description: 'What the endpoint answers' } },
  }
}

function parameterOf(name: string, where: 'path' | 'query', schema: z.ZodType): JsonObject {
  const isRequired = where === 'path' || !schema.safeParse(undefined).success
  return { name, in: where, required: isRequired, schema: openApiSchema(schema, 'input') }
}

const mediaTypes = {
  json: 'application/json',
  events: 'text/event-stream',
  bytes: 'application/octet-stream',
  text: 'text/plain',
} as const

function responseOf({ status, description, schema, type = 'json' }: RouteAnswer): JsonObject {
  if (status === 204) return { description }
  return {
    description,
    content: { [mediaTypes[type]]: schema ? { schema: openApiSchema(schema, 'output') } : {} },
  }
}

export function openApiSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}
