/**
 * Routes to the endpoints that the app itself defines for its threads (H2). Which one answers is looked up for every
 * request: the app may have been loaded again.
 */
import { z } from 'zod'
import type { Skein } from '../../index.js'
import { HttpProblem } from '../problem.js'
import { route } from '../route.js'
import type { HttpMethod, Route } from '../route.js'
import { threadId } from '../schemas.js'

/** What the body of a request may be, and how the app is asked. */
function endpointRoute(method: HttpMethod): Route {
  return route({
    method,
    path: '/threads/{thread}/api/{path*}',
    name: `${method}_endpoint`,
    summary: 'An endpoint of the app, with the scope that it says; default `read` for GET, else `write`.',
    scope: method === 'get' ? 'read' : 'write',
    scopeOf: ({ endpoints }, { path = '' }) => endpointsAt(endpoints, path).get(method)?.endpoint.scope,
    params: { thread: threadId, path: z.string().max(4_096) },
    takesAny: true,
    answer: { status: 200, type: 'bytes', description: 'What the endpoint answers' },
    async run({ skein, request, params }) {
      const found = endpointsAt(skein.endpoints, params.path)
      const match = found.get(method)
      if (!match) throw unanswered([...found.keys()], params.path)
      const { endpoint, params: values } = match
      const response = await endpoint.run(request, await skein.threads.get(params.thread), values)
      if (!(response instanceof Response))
        throw new TypeError(`the endpoint ${endpoint.name} gave ${typeof response}, and no Response`)
      // Headers of a response that was fetched cannot be changed.
      return new Response(response.body, response)
    },
  })
}

type Found = ReturnType<Skein['endpoints']['find']>

/** By method. A slash at the end is no part, and no part is empty. The path is encoded. */
function endpointsAt(endpoints: Skein['endpoints'] | undefined, path: string): Found {
  const parts = path.split('/').map(decodeURIComponent)
  if (parts.at(-1) === '') parts.pop()
  return (parts.includes('') ? undefined : endpoints?.find(parts)) ?? new Map()
}

function unanswered(methods: readonly HttpMethod[], path: string): HttpProblem {
  if (methods.length === 0)
    return new HttpProblem({ status: 404, code: 'NOT_FOUND' }, `the app has no endpoint ${path.slice(0, 200)}`)
  const allow = methods.map((method) => method.toUpperCase()).join(', ')
  return new HttpProblem({ status: 405, code: 'METHOD_NOT_ALLOWED' }, `it takes ${allow}`, { headers: { allow } })
}

export const endpointRoutes = (['get', 'post', 'put', 'patch', 'delete'] as const).map(endpointRoute)
