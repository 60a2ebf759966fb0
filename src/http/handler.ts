/**
 * The handler: a `fetch` function and a listener of `node:http` that serve the routes of a skein, under any path of an
 * existing service.
 *
 * - A request is authenticated, then its scope and its tree are checked, then its input; nothing has happened before.
 * - A handler has no state but its open streams and the views that they tell: several may serve one skein, and
 *   several skeins have several handlers.
 */
import { ServerResponse } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { z } from 'zod'
import { systemClock } from '../core/clock.js'
import type { Clock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError } from '../index.js'
import { dropBody, jsonResponse, platformResponse, writeAnswer } from './answer.js'
import { createAuthenticator } from './auth/authenticate.js'
import type { Auth, Authenticator } from './auth/authenticate.js'
import { checkSite } from './auth/foreign-site.js'
import { checkAccess, everyone } from './auth/principal.js'
import type { Principal } from './auth/principal.js'
import { OpenRequests } from './open-requests.js'
import { createOpenApi } from './openapi.js'
import { servePage } from './page-files.js'
import { HttpProblem, badRequest, problemResponse, toProblem } from './problem.js'
import { RequestBodies } from './request-body.js'
import type { Route, ServedSkein, StreamLimits } from './route.js'
import { OpenStreams } from './stream/open-streams.js'
import { TreeFeeds } from './stream/tree-feeds.js'
import { streamedUntil } from './stream/until.js'
import { routes } from './table.js'
import { Views } from './view/views.js'

export interface HandlerOptions {
  /** Who may use it. There is no default: `'none'` must be said. */
  readonly auth: Auth
  /** The path below which it is mounted, where the service does not take it off: `/api/skein`. Default: none. */
  readonly basePath?: string
  /** The largest JSON body in bytes. Files are streamed and have no such limit. Default 1,048,576. */
  readonly maxBodyBytes?: number
  /** Origins of other sites whose pages may use it. Default: none. */
  readonly cors?: readonly string[]
  /** The address by which others reach it, for the cards of agents; `https://example.com/api/skein`. */
  readonly publicUrl?: string
  /** How often a stream tells the server's time. Default 5,000. */
  readonly heartbeatMs?: number
  /** Events, of some megabytes, that may wait for a client that reads slowly, before it is cut off. Default 50,000. */
  readonly maxBuffered?: number
  /** Streams that one key may have open. Default 1,000. */
  readonly maxStreams?: number
  /** Called with what the server could not do; clients are told only that it could not. Default: a process warning. */
  readonly warn?: (what: string, thrown: unknown) => void
  readonly clock?: Clock
}

const optionsSchema = z.looseObject({
  basePath: z
    .string()
    .regex(/^(\/[\w.~-]+)+$/, 'must look like /api/skein')
    .optional(),
  maxBodyBytes: z.number().int().positive().optional(),
  cors: z.array(z.url()).optional(),
  publicUrl: z.url({ protocol: /^https?$/ }).optional(),
  heartbeatMs: z.number().int().min(100).optional(),
  maxBuffered: z.number().int().positive().optional(),
  maxStreams: z.number().int().positive().optional(),
})

const known: ReadonlySet<string> = new Set([
  'auth',
  'basePath',
  'maxBodyBytes',
  'cors',
  'publicUrl',
  'heartbeatMs',
  'maxBuffered',
  'maxStreams',
  'warn',
  'clock',
])

export interface SkeinHandler {
  fetch(request: Request): Promise<Response>
  node(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** The OpenAPI 3.1 document. */
  readonly openapi: { readonly [field: string]: unknown }
  /** Ends open streams; requests after it are refused. Turns go on. */
  close(): void
}

export function createHandler(skein: ServedSkein, options: HandlerOptions): SkeinHandler {
  checkOptions(options)
  const server = new RouteServer(skein, options)
  skein.directory() // lists and the inbox answer from memory as soon as it has read all threads
  const app = new Hono()
  for (const each of routes)
    app.on(each.method.toUpperCase(), honoPath(each.path), (context) => server.serve(each, context))
  app.get('/openapi.json', async ({ req }) => jsonResponse(openapiOf((await server.knows(req.raw)) ? skein : {})))
  for (const path of ['/ui', '/ui/*'])
    app.get(path, ({ req }) => pageAt(req.path.slice(`${options.basePath ?? ''}/ui`.length), req.raw))
  app.notFound((context) => problemResponse(notFound(context)))
  const base = options.basePath === undefined ? app : new Hono().route(options.basePath, app)
  if (base !== app) base.notFound((context) => problemResponse(notFound(context)))
  const answer = async (request: Request): Promise<Response> => server.withCors(request, () => base.fetch(request))
  const listen = getRequestListener(
    async (request, { incoming, outgoing }) => {
      server.bodies.noteParsed(request, incoming)
      if (!isPlain(outgoing)) return platformResponse(await answer(request))
      server.requests.enter(request, outgoing)
      const response = await answer(request)
      return writeAnswer(response, outgoing) ? RESPONSE_ALREADY_SENT : response
    },
    { overrideGlobalObjects: false },
  )
  return {
    fetch: async (request) => platformResponse(await answer(request)),
    node: listen,
    get openapi() {
      return openapiOf(skein)
    },
    close: () => server.close(),
  }
}

/** Not one of HTTP/2, whose answers have another form. */
function isPlain(outgoing: object): outgoing is ServerResponse {
  return outgoing instanceof ServerResponse
}

/** With the endpoints of the app, as it is now. */
function openapiOf({ endpoints }: Pick<ServedSkein, 'endpoints'>): SkeinHandler['openapi'] {
  return createOpenApi(routes, { title: 'Skein', version: '1', endpoints: endpoints?.list() ?? [] })
}

async function pageAt(path: string, request: Request): Promise<Response> {
  try {
    return await servePage(path, request)
  } catch (thrown) {
    return problemResponse(toProblem(thrown))
  }
}

function checkOptions(options: HandlerOptions): void {
  const unknown = Object.keys(options).find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new SkeinError('BAD_OPTION', `createHandler has no option ${JSON.stringify(unknown)}`)
  const checked = optionsSchema.safeParse(options)
  if (!checked.success) throw new SkeinError('BAD_OPTION', `createHandler: ${z.prettifyError(checked.error)}`)
}

type Params = Readonly<Record<string, string>>

/** `{path*}` takes any number of parts, also none. */
function honoPath(path: string): string {
  return path.replace('{path*}', '*').replaceAll(/\{(\w+)\}/g, ':$1')
}

function notFound({ req }: Context): HttpProblem {
  const methods = routes.filter(({ path }) => matches(path, req.path)).map(({ method }) => method.toUpperCase())
  if (methods.length === 0)
    return new HttpProblem(
      { status: 404, code: 'NOT_FOUND' },
      `there is no route ${req.method} ${req.path.slice(0, 200)}; /openapi.json lists them`,
    )
  return new HttpProblem({ status: 405, code: 'METHOD_NOT_ALLOWED' }, `it takes ${methods.join(', ')}`, {
    headers: { allow: methods.join(', ') },
  })
}

/** Whether the end of a request's path could be a route, whatever it is mounted below. */
function matches(path: string, requested: string): boolean {
  const pattern = path.replace('/{path*}', '(/.*)?').replaceAll(/\{\w+\}/g, '[^/]+')
  return new RegExp(`${pattern}$`).test(requested)
}

class RouteServer {
  readonly #skein: ServedSkein
  readonly #authenticator: Authenticator
  readonly #clock: Clock
  readonly #limits: Omit<StreamLimits, 'enter'>
  readonly #open: OpenStreams
  readonly bodies: RequestBodies
  readonly requests = new OpenRequests()
  readonly #publicUrl: string | undefined
  readonly #origins: ReadonlySet<string>
  readonly #warn: (what: string, thrown: unknown) => void
  readonly #closed = new AbortController()
  readonly #views: Views

  constructor(skein: ServedSkein, options: HandlerOptions) {
    const { auth, maxBodyBytes = 2 ** 20, clock = systemClock } = options
    this.#skein = skein
    this.#authenticator = createAuthenticator(skein, auth, clock)
    this.#clock = clock
    this.#views = new Views(skein, clock)
    const { heartbeatMs = 5_000, maxBuffered = 50_000, maxStreams = 1_000 } = options
    const feeds = new TreeFeeds(skein, { maxBuffered })
    this.#limits = { heartbeatMs, maxBuffered, feeds }
    this.#open = new OpenStreams(maxStreams)
    this.bodies = new RequestBodies(maxBodyBytes)
    this.#publicUrl = options.publicUrl?.replace(/\/+$/, '')
    this.#origins = new Set(options.cors)
    this.#warn = options.warn ?? ((what, thrown) => process.emitWarning(`${what}: ${String(thrown)}`))
  }

  async serve(route: Route, context: Context): Promise<Response> {
    const request = context.req.raw
    try {
      if (this.#closed.signal.aborted)
        throw new HttpProblem({ status: 503, code: 'STORE_CLOSED' }, 'the server is closing')
      checkSite(request, this.#origins)
      const params = paramsOf(route, context)
      const principal = await this.#admit(route, params, context)
      const body = route.body ? await this.bodies.json(request) : undefined
      const { tokens, mayTag } = this.#authenticator
      const answer = await route.call({
        skein: this.#skein,
        principal,
        request: route.takesAny ? this.bodies.whole(request) : request,
        clock: this.#clock,
        signal: this.requests.signalOf(request) ?? AbortSignal.any([this.#closed.signal, request.signal]),
        streams: { ...this.#limits, enter: () => this.#open.enter(principal) },
        views: this.#views,
        warn: this.#warn,
        routes,
        params,
        query: route.takesAny ? {} : queryOf(request, route.lists),
        body,
        mayTag: (tag) => mayTag(principal, tag),
        ...defined({ tokens, publicUrl: this.#publicUrl }),
      })
      const whole = answer instanceof Response ? answer : answerOf(route, answer)
      const { ends } = principal
      const response = ends === undefined ? whole : streamedUntil(whole, ends, this.#clock)
      if (request.method === 'HEAD') await dropBody(response)
      return response
    } catch (thrown) {
      const problem = toProblem(thrown)
      if (problem.status === 500) this.#warn(`${route.name} could not be served`, thrown)
      return problemResponse(problem, route.errorOf?.(problem))
    }
  }

  /** Whether it comes from someone who has a key: what the app itself answers is for them. */
  async knows(request: Request): Promise<boolean> {
    return this.#authenticator.principalOf(request).then(
      () => true,
      () => false,
    )
  }

  /** Who asks, once it is known that they may. */
  async #admit({ scope, scopeOf }: Route, params: Params, { req }: Context): Promise<Principal> {
    if (scope === undefined) return everyone
    const principal = await this.#authenticator.principalOf(req.raw)
    const access = { scope: scopeOf?.(this.#skein, params) ?? scope }
    await checkAccess(this.#skein, principal, { ...access, ...defined({ thread: params['thread'] ?? params['root'] }) })
    return principal
  }

  /** Answers preflights of the sites that may use it, and names them; others get no header. */
  async withCors(request: Request, answer: () => Response | Promise<Response>): Promise<Response> {
    const origin = request.headers.get('origin')
    if (origin === null || !this.#origins.has(origin)) return answer()
    const headers = { 'access-control-allow-origin': origin, vary: 'origin' }
    if (request.method === 'OPTIONS')
      return new Response(null, {
        status: 204,
        headers: {
          ...headers,
          'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id, x-skein-thread',
          'access-control-max-age': '600',
        },
      })
    const response = await answer()
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    return response
  }

  close(): void {
    this.#closed.abort()
    this.requests.close()
    this.#views.close()
  }
}

function answerOf({ answer }: Route, value: unknown): Response {
  return answer.status === 204
    ? new Response(null, { status: 204 })
    : jsonResponse(value, { status: answer.status, headers: { 'cache-control': 'no-store' } })
}

/** Decoded once. What `{path*}` stands for is what follows the part before it. */
function paramsOf({ path, params, takesAny }: Route, { req }: Context): Params {
  const found: Record<string, string> = {}
  for (const name of Object.keys(params)) if (name !== 'path') found[name] = req.param(name) ?? ''
  if (!path.endsWith('{path*}')) return found
  // The thread may be encoded in any way.
  const form = new RegExp(`${path.replace('/{path*}', '(?:/(.*))?').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  const [, rest = ''] = form.exec(new URL(req.url).pathname) ?? []
  try {
    const decoded = decodeURIComponent(rest)
    // What is the app's own is taken apart before it is decoded: a part may have a slash.
    found['path'] = takesAny ? rest : decoded
  } catch {
    throw badRequest('the path is not encoded as it should be')
  }
  return found
}

function queryOf(request: Request, lists: readonly string[] = []): Record<string, string> {
  const query = new Map<string, string>()
  for (const [name, value] of new URL(request.url).searchParams) {
    const before = query.get(name)
    if (before !== undefined && !lists.includes(name))
      throw badRequest(`the query has ${JSON.stringify(name.slice(0, 64))} twice`)
    query.set(name, before === undefined ? value : `${before},${value}`)
  }
  // Each a field of its own, `__proto__` too.
  return Object.fromEntries(query)
}
