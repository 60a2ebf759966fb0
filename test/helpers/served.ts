/** A skein behind real HTTP: a server on a free port of loopback, and a client that asks with a key. */
import { hashKey, serve } from '../../src/server.js'
import type { Auth, HandlerOptions, SkeinServer } from '../../src/server.js'
import type { SkeinClient } from '../../src/index.js'

export const keys = {
  admin: 'key-admin',
  writer: 'key-writer',
  reader: 'key-reader',
  approver: 'key-approver',
} as const

export const keyAuth: Auth = {
  secret: 'a secret of at least thirty-two characters',
  keys: [
    { name: 'ada', sha256: hashKey(keys.admin), scopes: ['admin'] },
    { name: 'will', sha256: hashKey(keys.writer), scopes: ['write'] },
    { name: 'rita', sha256: hashKey(keys.reader), scopes: ['read'] },
    { name: 'april', sha256: hashKey(keys.approver), scopes: ['read', 'approve'] },
  ],
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface Asked {
  readonly method?: string
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Served {
  readonly url: string
  ask(path: string, options?: Asked): Promise<Answer>
  stream(path: string, options?: Asked & { readonly signal?: AbortSignal }): Promise<AsyncGenerator<Sent>>
  close(): Promise<void>
}

/** One server-sent event. */
export interface Sent {
  readonly event: string
  readonly id?: string
  readonly data: unknown
}

export async function served(skein: SkeinClient, options: Partial<HandlerOptions> = {}): Promise<Served> {
  const server: SkeinServer = await serve(skein, { port: 0, auth: keyAuth, ...options })
  return { ...asking(server.url), close: () => server.close() }
}

export function asking(url: string): Omit<Served, 'close'> {
  const request = (path: string, { method, key = keys.admin, body, headers }: Asked, signal?: AbortSignal) =>
    fetch(`${url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  return {
    url,
    async ask(path, options = {}) {
      const response = await request(path, options)
      const text = await response.text()
      const isJson = (response.headers.get('content-type') ?? '').includes('json')
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
    },
    async stream(path, { signal, ...options } = {}) {
      const response = await request(path, options, signal)
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
      return parseEvents(response.body)
    },
  }
}

async function* parseEvents(body: AsyncIterable<Uint8Array> | null): AsyncGenerator<Sent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      text = text.slice(end + 2)
      const id = fields.get('id')
      if (fields.has('data'))
        yield {
          event: fields.get('event') ?? 'message',
          data: JSON.parse(fields.get('data') ?? 'null'),
          ...(id !== undefined && { id }),
        }
    }
  }
}
