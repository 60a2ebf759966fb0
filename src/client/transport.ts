/**
 * Requests to a server of Skein, by `fetch` alone: addresses, the key, time-outs, and problems as errors.
 *
 * - A problem becomes a `SkeinError` with its code; one of a thread's files an error with the code of Node, as in the
 *   local API. A server that cannot be reached is STORE_FAILED with `retry`.
 * - What got no answer is asked once more where asking twice is asking once: reads, whole values, and what has an id.
 */
import { SkeinError } from '../core/failure.js'
import type { FailureCode } from '../core/failure.js'

export interface RemoteOptions {
  /** A key of the server, or a token for a tree. */
  readonly key?: string
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch
  /** How long an answer may take; waits and streams may take longer. Default 30,000. */
  readonly timeoutMs?: number
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface RequestParts {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly query?: Query
  /** Sent as JSON. */
  readonly body?: unknown
  readonly bytes?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  readonly signal?: AbortSignal | undefined
  /** Besides the time that any answer may take. */
  readonly waitMs?: number
  /** Asking twice is asking once. Default: of GET and PUT. */
  readonly again?: boolean
}

/** Codes that only servers have, as those of the local API. */
const codes: Readonly<Record<string, FailureCode>> = {
  UNAUTHENTICATED: 'BAD_OPTION',
  FORBIDDEN: 'BAD_OPTION',
  NOT_FOUND: 'BAD_OPTION',
  METHOD_NOT_ALLOWED: 'BAD_OPTION',
  TOO_LARGE: 'BAD_OPTION',
  TOO_MANY_REQUESTS: 'QUOTA_REACHED',
  INTERNAL: 'STORE_FAILED',
}

const known: ReadonlySet<string> = new Set(['key', 'fetch', 'timeoutMs'])

export class Transport {
  readonly url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #fetch: typeof fetch
  readonly #timeoutMs: number
  readonly #closed = new AbortController()

  constructor(url: string, options: RemoteOptions) {
    checkKnown('connect', options, known)
    const { key, timeoutMs = 30_000 } = options
    if (!/^https?:\/\/[^/?#]+[^?#]*$/.test(url) || !URL.canParse(url))
      throw new SkeinError('BAD_OPTION', `connect: ${JSON.stringify(url)} is no address as http://127.0.0.1:4100`)
    this.url = url.replace(/\/+$/, '')
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    this.#fetch = options.fetch ?? ((...args) => fetch(...args))
    this.#timeoutMs = timeoutMs
  }

  /** Ends all streams and requests. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  close(): void {
    this.#closed.abort()
  }

  /** The form of an answer is that of the server's schemas, which are not loaded here. */
  async json<Answer>(path: string, asked: RequestParts = {}): Promise<Answer> {
    const response = await this.ask(path, asked)
    return (await response.json()) as Answer
  }

  /** For answers without a body, or with one that is not needed. */
  async done(path: string, asked: RequestParts): Promise<void> {
    const response = await this.ask(path, asked)
    await response.body?.cancel()
  }

  async ask(path: string, asked: RequestParts = {}): Promise<Response> {
    const { method = 'GET', again = method === 'GET' || method === 'PUT' } = asked
    try {
      return await this.#once(path, asked)
    } catch (thrown) {
      asked.signal?.throwIfAborted()
      if (!again || this.closed.aborted || !isUnanswered(thrown)) throw thrown
      return this.#once(path, asked)
    }
  }

  #once(path: string, { signal, waitMs = 0, ...asked }: RequestParts): Promise<Response> {
    const late = AbortSignal.timeout(this.#timeoutMs + waitMs)
    return this.open(path, { ...asked, signal: signal ? AbortSignal.any([late, signal]) : late })
  }

  /** An answer without a time-out: for streams. */
  async open(path: string, { method = 'GET', query = {}, body, bytes, signal }: RequestParts): Promise<Response> {
    const words = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    )
    const sent = body === undefined ? bytes : JSON.stringify(body)
    const response = await this.#send(`${path}${words.length > 0 ? `?${words.join('&')}` : ''}`, {
      method,
      headers: { ...this.#headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(sent !== undefined && { body: sent }),
      // What is sent as it comes is answered when all of it has come.
      ...(sent instanceof ReadableStream && { duplex: 'half' as const }),
      signal: signal ? AbortSignal.any([signal, this.closed]) : this.closed,
    })
    const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true
    // A command that no host has answered is a problem with status 202.
    if (response.ok && !isProblem) return response
    throw await problemOf(response, isProblem)
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(`${this.url}${path}`, init)
    } catch (thrown) {
      if (this.closed.aborted) throw new SkeinError('STORE_CLOSED', 'this client was closed', { cause: thrown })
      throw new SkeinError(
        'STORE_FAILED',
        `the server at ${this.url} did not answer: ${whyOf(thrown)}; \`skein serve\` starts one`,
        {
          retry: true,
          data: { unanswered: true },
          cause: thrown,
        },
      )
    }
  }
}

/** The message of `fetch` alone says only that it failed. */
function whyOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause instanceof Error && thrown.cause.message !== '' ? thrown.cause.message : thrown.message
}

function isUnanswered(thrown: unknown): boolean {
  return SkeinError.is(thrown, 'STORE_FAILED') && thrown.data?.['unanswered'] === true
}

interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly retry?: boolean
  readonly data?: Readonly<Record<string, unknown>>
}

async function problemOf(response: Response, isProblem: boolean): Promise<Error> {
  const { status } = response
  const text = await response.text()
  if (!isProblem)
    return new SkeinError('STORE_FAILED', `the server answered with status ${status}, and not as Skein does`, {
      retry: status >= 500,
      data: { status },
    })
  const { code = 'INTERNAL', detail = '', retry = false, data = {} }: Problem = JSON.parse(text)
  if (typeof data['file'] === 'string') return Object.assign(new Error(detail), { code: data['file'] })
  return toError(code, detail, {
    retry,
    data: { ...data, ...(Object.hasOwn(codes, code) && { problem: code, status }) },
  })
}

/** A code that a newer server may have stays as it is. */
export function toError(
  code: string,
  detail: string,
  options: { readonly retry?: boolean; readonly data?: Readonly<Record<string, unknown>> },
): SkeinError {
  return new SkeinError(
    (Object.hasOwn(codes, code) ? codes[code] : undefined) ?? (code as FailureCode),
    detail,
    options,
  )
}

/** The path of a route: every value is one part of it. */
export function at(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((path, text, index) => `${path}${encodePart(values[index - 1] ?? '')}${text}`)
}

/** `..` would be another address. */
export function encodePart(value: string): string {
  if (typeof value === 'string' && !['', '.', '..'].includes(value)) return encodeURIComponent(value)
  throw new SkeinError('BAD_OPTION', `${JSON.stringify(value)} is no id`)
}

/** `<thread>/<call>`, as lists give it. */
export function pairOf(id: string): readonly [thread: string, of: string] {
  const slash = id.lastIndexOf('/')
  if (slash > 0) return [id.slice(0, slash), id.slice(slash + 1)]
  throw new SkeinError('BAD_OPTION', `${JSON.stringify(id)} is no id of this list; one looks like <thread>/call_1_0`)
}

/** What the server would not take is refused here: it could only be ignored. */
export function checkKnown(what: string, options: object, names: ReadonlySet<string>): void {
  const unknown = Object.keys(options).find((name) => !names.has(name))
  if (unknown === undefined) return
  throw new SkeinError('BAD_OPTION', `${what} over HTTP has no option ${JSON.stringify(unknown)}`)
}

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}
