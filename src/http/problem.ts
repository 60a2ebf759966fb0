/**
 * Errors over HTTP: `application/problem+json` with the stable code of the failure. Nothing of the process is told: no
 * stack, no path of the server, and of a failure's data only what is listed here.
 */
import type { z } from 'zod'
import { SkeinError } from '../index.js'
import { jsonResponse } from './answer.js'
import type { FailureCode } from '../index.js'

/** Codes that only the server has. */
type HttpCode = 'UNAUTHENTICATED' | 'FORBIDDEN' | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'TOO_LARGE' | 'TOO_MANY_REQUESTS'

export type ProblemCode = FailureCode | HttpCode | 'INTERNAL'

export interface ProblemData {
  readonly [field: string]: unknown
}

export class HttpProblem extends Error {
  readonly status: number
  readonly code: ProblemCode
  readonly data: ProblemData | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    { status, code }: { readonly status: number; readonly code: ProblemCode },
    detail: string,
    { data, headers = {} }: { readonly data?: ProblemData; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(detail)
    this.status = status
    this.code = code
    this.data = data
    this.headers = headers
  }
}

export function badRequest(detail: string, data?: ProblemData): HttpProblem {
  return new HttpProblem({ status: 400, code: 'BAD_OPTION' }, detail, data ? { data } : {})
}

/** What is wrong with a value, in one line. */
export function issuesText({ issues }: z.ZodError): string {
  const texts = issues
    .slice(0, 8)
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return texts.join('; ')
}

/** The same words for what is not there and for what the caller may not see. */
export function unknownThread(thread: string): HttpProblem {
  return new HttpProblem({ status: 404, code: 'UNKNOWN_THREAD' }, `there is no thread ${JSON.stringify(thread)}`)
}

const statuses: Partial<Record<FailureCode, number>> = {
  UNKNOWN_THREAD: 404,
  UNKNOWN_AGENT: 404,
  UNKNOWN_RUN: 404,
  UNKNOWN_REQUEST: 404,
  UNKNOWN_TOOL: 404,
  BLOB_MISSING: 404,
  BAD_OPTION: 400,
  RESERVED_NAME: 400,
  VARIABLES_REQUIRED: 400,
  TOOL_INPUT_INVALID: 400,
  TOOL_INPUT_TOO_LARGE: 413,
  TOOL_PATH_INVALID: 400,
  TOOL_PATH_ESCAPE: 400,
  FILES_QUOTA: 413,
  COMMAND_REFUSED: 409,
  EFFECTS_CROSSED: 409,
  REVERT_FAILED: 409,
  QUOTA_REACHED: 429,
  MODEL_RATE_LIMITED: 503,
  STREAM_LAGGED: 503,
  // The command is kept and will be carried out.
  COMMAND_UNANSWERED: 202,
  STORE_IN_USE: 503,
  STORE_CLOSED: 503,
  STORE_FAILED: 503,
  THREAD_PARKED: 503,
  SECRET_UNREADABLE: 503,
  JOURNAL_CORRUPT: 503,
  RECORD_FROM_FUTURE: 503,
  INVARIANT: 500,
}

/** Codes of a thread's files, as Node has them. */
const fileStatuses: Readonly<Record<string, number>> = {
  ENOENT: 404,
  ENOTDIR: 404,
  EISDIR: 409,
  EEXIST: 409,
  ENOTEMPTY: 409,
  EINVAL: 400,
  ELOOP: 400,
  EBUSY: 400,
  ENAMETOOLONG: 400,
  EDQUOT: 413,
}

/** Fields of a failure's data that a client may see. */
const toldFields: ReadonlySet<string> = new Set([
  'thread',
  'request',
  'missing',
  'required',
  'issues',
  'tag',
  'limit',
  'hosted',
  'crossing',
])

/** Whatever was thrown, as a problem; what is none of ours tells nothing about itself. */
export function toProblem(thrown: unknown): HttpProblem {
  if (thrown instanceof HttpProblem) return thrown
  if (SkeinError.is(thrown)) {
    const { code, message, data } = thrown
    const status = statuses[code] ?? 400
    const told = Object.entries(data ?? {}).filter(([field]) => toldFields.has(field))
    const kept = code === 'COMMAND_UNANSWERED' ? { kept: true } : {}
    return new HttpProblem({ status, code }, message, {
      data: { ...Object.fromEntries(told), ...kept },
      ...(status === 503 && { headers: { 'retry-after': '1' } }),
    })
  }
  const code = fileCodeOf(thrown)
  if (code !== undefined && thrown instanceof Error)
    return new HttpProblem({ status: fileStatuses[code] ?? 400, code: 'BAD_OPTION' }, thrown.message, {
      data: { file: code },
    })
  return new HttpProblem({ status: 500, code: 'INTERNAL' }, 'the server could not do this; its operator was told why')
}

function fileCodeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return typeof code === 'string' && Object.hasOwn(fileStatuses, code) ? code : undefined
}

const titles: Readonly<Record<number, string>> = {
  202: 'Accepted',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
}

/** `more`: fields for clients that read errors in a form of their own. */
export function problemResponse({ status, code, message, data, headers }: HttpProblem, more: object = {}): Response {
  const body = {
    type: `urn:skein:problem:${code}`,
    title: titles[status] ?? 'Error',
    status,
    code,
    detail: message,
    retry: status === 503 || status === 429,
    ...(data && Object.keys(data).length > 0 && { data }),
    ...more,
  }
  return jsonResponse(body, {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  })
}
