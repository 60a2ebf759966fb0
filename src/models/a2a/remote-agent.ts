/**
 * A remote agent over A2A 1.0 (JSON-RPC): its card, its methods and its streams, by `fetch` alone.
 *
 * - Headers go to the origin of the address that was given, and to no other: a card cannot send them elsewhere.
 * - What goes wrong is an error of a model (MP3), so retries and time limits are those of models.
 */
import type { z } from 'zod'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { cardSchema, streamResult } from './remote-task.js'
import type { StreamResult } from './remote-task.js'
import { rpcAnswer } from './rpc-answer.js'

export type A2aHeaders = Readonly<Record<string, string>>

export interface RemoteAddress {
  readonly name: string
  readonly url: string
  /** A function is asked for every request, on the host. */
  readonly headers?: A2aHeaders | (() => A2aHeaders | Promise<A2aHeaders>)
}

interface Endpoint {
  readonly url: URL
  readonly streams: boolean
}

export interface RpcCall {
  readonly method: string
  readonly params: object
  readonly signal: AbortSignal
}

export class RemoteAgent {
  readonly #address: RemoteAddress
  #endpoint: Promise<Endpoint> | undefined
  #asked = 0

  constructor(address: RemoteAddress) {
    this.#address = address
  }

  async streams(signal: AbortSignal): Promise<boolean> {
    return (await this.#find(signal)).streams
  }

  async call<Of extends z.ZodType>(form: Of, asked: RpcCall): Promise<z.output<Of>> {
    const response = await this.#post(asked, 'application/json')
    return this.#checked(form, this.#resultIn(await this.#json(response)))
  }

  async *stream(asked: RpcCall): AsyncGenerator<StreamResult, void, undefined> {
    const response = await this.#post(asked, 'text/event-stream')
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      yield this.#checked(streamResult, this.#resultIn(await this.#json(response)))
      return
    }
    for await (const data of dataOf(response)) yield this.#checked(streamResult, this.#resultIn(parsed(data)))
  }

  /** The card is read once; where that fails, the next call tries again. */
  #find(signal: AbortSignal): Promise<Endpoint> {
    this.#endpoint ??= this.#readCard(signal).catch((thrown: unknown) => {
      this.#endpoint = undefined
      throw thrown
    })
    return this.#endpoint
  }

  async #readCard(signal: AbortSignal): Promise<Endpoint> {
    const base = new URL(this.#address.url.replace(/\/*$/, '/'))
    const response = await this.#fetch(new URL('.well-known/agent-card.json', base), { signal })
    const card = this.#checked(cardSchema, await this.#json(response))
    const found = card.supportedInterfaces.find(
      ({ protocolBinding, protocolVersion }) =>
        protocolBinding === 'JSONRPC' && /^1(\.|$)/.test(protocolVersion || '1'),
    )
    if (!found) throw this.#rejected('its card names no interface of A2A 1.0 over JSON-RPC')
    const url = new URL(found.url, base)
    if (url.origin !== base.origin)
      throw this.#rejected(`its card names ${url.origin}, and fromA2A was given ${base.origin}; give it the right url`)
    return { url, streams: card.capabilities?.streaming === true }
  }

  async #post({ method, params, signal }: RpcCall, accept: string): Promise<Response> {
    const { url } = await this.#find(signal)
    this.#asked += 1
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#asked, method, params })
    return this.#fetch(url, { method: 'POST', body, signal, headers: { 'content-type': 'application/json', accept } })
  }

  async #fetch(url: URL, init: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
    const { headers = {} } = this.#address
    const own = typeof headers === 'function' ? await headers() : headers
    let response
    try {
      const all = { ...own, ...Object.fromEntries(new Headers(init.headers)), 'a2a-version': '1.0' }
      response = await fetch(url, { ...init, headers: all, redirect: 'error' })
    } catch (thrown) {
      init.signal.throwIfAborted()
      throw this.#unavailable(reasonOf(thrown))
    }
    const { status } = response
    if (response.ok || (status === 400 && isJson(response))) return response
    await response.body?.cancel()
    if (status === 429) throw this.#limited(response)
    if (status >= 500) throw this.#unavailable(`it answered ${status}`)
    const advice = status === 401 || status === 403 ? '; check the headers of fromA2A' : ''
    throw this.#rejected(`it answered ${status}${advice}`)
  }

  async #json(response: Response): Promise<unknown> {
    try {
      return await response.json()
    } catch (thrown) {
      throw this.#unavailable(`its answer is no JSON (${reasonOf(thrown)})`)
    }
  }

  #resultIn(answer: unknown): unknown {
    const { data } = rpcAnswer.safeParse(answer)
    if (!data) throw this.#rejected('its answer is none of JSON-RPC')
    if (!data.error) return data.result
    const { code, message } = data.error
    const text = `${message} (${code})`
    throw code === internalError ? this.#unavailable(text) : this.#rejected(text, code)
  }

  #checked<Of extends z.ZodType>(form: Of, value: unknown): z.output<Of> {
    const checked = form.safeParse(value)
    if (checked.success) return checked.data
    const [issue] = checked.error.issues
    throw this.#rejected(`its answer is none of A2A 1.0 (${issue?.path.join('.')}: ${issue?.message})`)
  }

  #rejected(why: string, code?: number): SkeinError {
    const data = { agent: this.#address.name, ...defined({ code }) }
    return new SkeinError('MODEL_REJECTED', `the A2A agent ${this.#address.name}: ${why.slice(0, 500)}`, { data })
  }

  #unavailable(why: string): SkeinError {
    const text = `the A2A agent ${this.#address.name} could not be reached: ${why.slice(0, 500)}`
    return new SkeinError('MODEL_UNAVAILABLE', text, { retry: true, data: { agent: this.#address.name } })
  }

  #limited(response: Response): SkeinError {
    const seconds = Number(response.headers.get('retry-after'))
    const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined
    const data = { agent: this.#address.name, ...defined({ retryAfterMs }) }
    const text = `the A2A agent ${this.#address.name} limits how often it is asked (429)`
    return new SkeinError('MODEL_RATE_LIMITED', text, { retry: true, data })
  }
}

const internalError = -32_603

function isJson(response: Response): boolean {
  return /\bjson\b/.test(response.headers.get('content-type') ?? '')
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause instanceof Error ? `${thrown.message}: ${thrown.cause.message}` : thrown.message
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

/** The data of server-sent events; names and ids are not needed. */
async function* dataOf(response: Response): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true }).replaceAll('\r', '')
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n')
      rest = rest.slice(end + 2)
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart())
      if (data.length > 0) yield data.join('\n')
    }
  }
}
