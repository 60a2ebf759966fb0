/**
 * Routes as data. One table of them makes the handler, the check of scopes, the OpenAPI document, the page of the
 * routes, and the test that sends hostile values to every one.
 *
 * - What comes in is checked with zod before `run` sees it: parameters of the path, the query, the body.
 * - A route decides nothing about threads itself; it calls the public API and gives what that gives.
 */
import type { z } from 'zod'
import type { Skein, SkeinClient } from '../index.js'
import { badRequest, issuesText } from './problem.js'
import type { HttpProblem } from './problem.js'
import { defined } from '../core/defined.js'
import type { Clock } from '../core/clock.js'
import type { Principal, Scope } from './auth/principal.js'
import type { TreeTokens } from './auth/tree-tokens.js'
import type { TreeFeeds } from './stream/tree-feeds.js'
import type { Views } from './view/views.js'

export type HttpMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** What a server serves: a host, or a client of hosts elsewhere. Only a host knows the definitions. */
export type ServedSkein = SkeinClient &
  Partial<Pick<Skein, 'agents' | 'definitions' | 'endpoints' | 'host' | 'metrics'>>

/** What a route gets besides its checked input. */
export interface RouteScene {
  readonly skein: ServedSkein
  readonly principal: Principal
  readonly request: Request
  /** Aborted when the client has gone or the server closes. */
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Whether the principal may give a tree this tag: it may let others in. */
  mayTag(tag: string): boolean
  /** A face asks for what it serves: it gives ids that clients may not give. */
  readonly makesIds?: true
  /** Absent where the server has no keys of its own. */
  readonly tokens?: TreeTokens
  /** How the server streams. */
  readonly streams: StreamLimits
  /** What the page looks at. */
  readonly views: Views
  /** The address by which others reach the server, where it is not the one that they ask. */
  readonly publicUrl?: string
  /** Called with what could not be done for a reason that clients are not told. */
  readonly warn: (what: string, thrown: unknown) => void
  /** The whole table, for what is made of it. */
  readonly routes: readonly Route[]
}

export interface StreamLimits {
  readonly heartbeatMs: number
  /** Events that may wait for a client that reads slowly. */
  readonly maxBuffered: number
  /** Counts one more stream of who asks, or throws; returns what is called at its end. */
  readonly enter: () => () => void
  readonly feeds: TreeFeeds
}

/** A request before it is checked. */
export interface RawRequest extends RouteScene {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The parsed JSON body; undefined where there is none. */
  readonly body: unknown
}

type Shape = Readonly<Record<string, z.ZodType>>
type Parsed<Of extends Shape> = { readonly [Name in keyof Of]: z.output<Of[Name]> }

export interface RouteAnswer {
  /** The status of success. */
  readonly status: 200 | 201 | 202 | 204
  readonly description: string
  /** JSON of this form; absent: as `type` says. */
  readonly schema?: z.ZodType
  /** Default `json`, or none for 204. */
  readonly type?: 'json' | 'events' | 'bytes' | 'text'
}

/** What is the same for all that is made of the table. */
interface RouteFacts {
  readonly method: HttpMethod
  /** `/threads/{thread}/messages`; the last part may be `{path*}`, which stands for any number of parts. */
  readonly path: string
  /** A verb and a noun, unique: the operation's id, and the name of the tool for MCP clients where there is one. */
  readonly name: string
  readonly summary: string
  /** Undefined: everybody may. */
  readonly scope: Scope | undefined
  /** Where what is asked for says so itself, in place of `scope`. */
  readonly scopeOf?: (skein: ServedSkein, params: Readonly<Record<string, string>>) => Scope | undefined
  readonly answer: RouteAnswer
  /** Offered to MCP clients as a tool. */
  readonly isTool?: true
  /** What a problem says besides, for clients that read errors in a form of their own. */
  readonly errorOf?: (problem: HttpProblem) => object
}

export interface Route extends RouteFacts {
  readonly params: Shape
  readonly query: Shape
  readonly body?: z.ZodType
  /** The body is bytes, which the route reads itself. */
  readonly takesBytes?: true
  /** Query and body are the app's own: neither is checked here, but for the size of the body. */
  readonly takesAny?: true
  /** Fields of the query that may be given several times; their values arrive with commas between them. */
  readonly lists?: readonly string[]
  call(raw: RawRequest): Promise<unknown>
}

interface RouteInput<Params extends Shape, Query extends Shape, Body extends z.ZodType> extends RouteFacts {
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly takesBytes?: true
  readonly takesAny?: true
  readonly lists?: readonly string[]
  /** A value is sent as JSON with the status of `answer`; a `Response` as it is. */
  readonly run: (
    scene: RouteScene & {
      readonly params: Parsed<Params>
      readonly query: Parsed<Query>
      readonly body: z.output<Body>
    },
  ) => Promise<unknown>
}

type Nothing = Readonly<Record<never, never>>

export function route<
  Params extends Shape = Nothing,
  Query extends Shape = Nothing,
  Body extends z.ZodType = z.ZodUndefined,
>(input: RouteInput<Params, Query, Body>): Route {
  const { run, params, query, body, ...facts } = input
  return {
    ...facts,
    params: params ?? {},
    query: query ?? {},
    ...(body && { body }),
    async call({ params: rawParams, query: rawQuery, body: rawBody, ...scene }) {
      return run({
        ...scene,
        params: parseFields(params, rawParams, 'the path'),
        query: parseFields(query, facts.takesAny ? {} : rawQuery, 'the query'),
        body: parseBody(body, rawBody),
      })
    },
  }
}

function parseFields<Of extends Shape>(shape: Of | undefined, raw: Readonly<Record<string, string>>, where: string) {
  const unknown = Object.keys(raw).filter((name) => !Object.hasOwn(shape ?? {}, name))
  if (unknown.length > 0)
    throw badRequest(
      `${where} has ${unknown.map((name) => JSON.stringify(name.slice(0, 64))).join(', ')}, which this route does ` +
        `not take; it takes: ${Object.keys(shape ?? {}).join(', ') || 'nothing'}`,
    )
  const parsed: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(shape ?? {})) parsed[name] = parseOne(schema, raw[name], { where, name })
  // The loop has parsed every field of the shape with its own schema.
  return parsed as Parsed<Of>
}

function parseBody<Body extends z.ZodType>(schema: Body | undefined, raw: unknown): z.output<Body> {
  // A route without a body has the type of undefined, which this is.
  return (schema ? parseOne(schema, raw, { where: 'the body' }) : undefined) as z.output<Body>
}

/** `name`: of a parameter; a body has none. */
interface InputPlace {
  readonly where: string
  readonly name?: string
}

function parseOne(schema: z.ZodType, raw: unknown, { where, name }: InputPlace): unknown {
  const place = name === undefined ? where : `${where}, ${name}`
  const checked = parseQuietly(schema, raw)
  if (!checked) throw badRequest(`${place}: it is nested too deeply`)
  if (checked.success) return checked.data
  const issues = checked.error.issues
    .slice(0, 8)
    .map(({ path, message }) => ({ path: [name ?? [], ...path].flat().join('.'), message }))
  throw badRequest(`${place}: ${issuesText(checked.error)}`, { issues })
}

/** Undefined: the stack is too short for what was sent. */
function parseQuietly(schema: z.ZodType, raw: unknown): ReturnType<z.ZodType['safeParse']> | undefined {
  try {
    return schema.safeParse(raw)
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined
    throw thrown
  }
}

/** The trace that a message of this request is part of, as an option of `send`. */
export function traceOf({ skein, request }: Pick<RouteScene, 'skein' | 'request'>): { readonly trace?: string } {
  return defined({ trace: skein.traceparent(request.headers.get('traceparent')) })
}
