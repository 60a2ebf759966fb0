/**
 * Requests of the page: JSON in and out, the key in a header, problems as what they say. The key is kept for this
 * tab's session alone, never in an address.
 */
import { signal } from '@preact/signals'
import { serviceBase } from './router.js'

export interface PageProblem {
  readonly status: number
  readonly code: string
  readonly detail: string
}

class ProblemError extends Error {
  readonly problem: PageProblem
  constructor(problem: PageProblem) {
    super(problem.detail)
    this.problem = problem
  }
}

const keyName = 'skein-key'

export const apiKey = signal<string>(sessionStorage.getItem(keyName) ?? '')
/** The server refuses the key, or wants one. */
export const needsKey = signal(false)

export function useKey(key: string): void {
  sessionStorage.setItem(keyName, key)
  apiKey.value = key
  needsKey.value = false
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly body?: unknown
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

function urlOf(path: string, query: NonNullable<ApiRequest['query']> = {}): string {
  const asked = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `${serviceBase}${path}${asked.length === 0 ? '' : `?${asked.join('&')}`}`
}

/** Parts of a path that come from elsewhere are encoded. */
export function pathTo(texts: TemplateStringsArray, ...parts: readonly string[]): string {
  return texts
    .map((text, index) => `${text}${index < parts.length ? encodeURIComponent(parts[index] ?? '') : ''}`)
    .join('')
}

export async function askService(path: string, request: ApiRequest = {}): Promise<Response> {
  const { method = 'GET', body, query, idempotencyKey, signal: ended } = request
  const key = apiKey.peek()
  const response = await fetch(urlOf(path, query), {
    method,
    headers: {
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(ended && { signal: ended }),
  }).catch((thrown: unknown) => {
    if (ended?.aborted) throw thrown
    throw new ProblemError({ status: 0, code: 'UNREACHABLE', detail: 'the server does not answer' })
  })
  if (response.ok) return response
  if (response.status === 401) needsKey.value = true
  throw new ProblemError(await problemOf(response))
}

async function problemOf(response: Response): Promise<PageProblem> {
  const { status } = response
  const body: unknown = await response.json().catch(() => undefined)
  const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body
  if (!isProblem) return { status, code: String(status), detail: response.statusText }
  return { status, code: String(body.code), detail: String(body.detail) }
}

export async function getJson<Value>(path: string, request: ApiRequest = {}): Promise<Value> {
  const value: Value = await (await askService(path, request)).json()
  return value
}

/** Gives the status: 202 says that it is kept, and not yet done. */
export async function sendJson(path: string, request: ApiRequest = {}): Promise<{ status: number; value: unknown }> {
  const response = await askService(path, { method: 'POST', ...request })
  const value: unknown = response.status === 204 ? undefined : await response.json()
  return { status: response.status, value }
}

export function toPageProblem(thrown: unknown): PageProblem {
  if (thrown instanceof ProblemError) return thrown.problem
  return { status: 0, code: 'PAGE', detail: thrown instanceof Error ? thrown.message : String(thrown) }
}
