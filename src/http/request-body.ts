/**
 * Bodies of requests, within their limit: JSON as a value, or the whole request for code of the app.
 *
 * - Services often parse JSON before they look at the path: then nothing is left to be read, and what they parsed is
 *   taken.
 */
import { HttpProblem, badRequest } from './problem.js'

export class RequestBodies {
  readonly #most: number
  /** Bodies that a parser of the service has read before. */
  readonly #parsed = new WeakMap<Request, unknown>()

  constructor(mostBytes: number) {
    this.#most = mostBytes
  }

  noteParsed(request: Request, incoming: object): void {
    if ('body' in incoming && incoming.body !== undefined && 'readableEnded' in incoming && incoming.readableEnded)
      this.#parsed.set(request, incoming.body)
  }

  async json(request: Request): Promise<unknown> {
    if (this.#parsed.has(request)) {
      checkJson(request)
      return this.#parsed.get(request)
    }
    const text = await this.#textOf(request)
    if (text === '') return undefined
    checkJson(request)
    try {
      return JSON.parse(text)
    } catch {
      throw badRequest('the body is no JSON')
    }
  }

  /** For code of the app: a request of the platform, with the body as it may be, or as it was parsed before. */
  whole(request: Request): Request {
    const { url, method, headers, signal } = request
    const parts = { method, headers, signal }
    if (this.#parsed.has(request))
      return new Request(url, { ...parts, body: JSON.stringify(this.#parsed.get(request)) })
    if (method === 'GET' || method === 'HEAD' || !request.body) return new Request(url, parts)
    const limit = this.#limit()
    if (Number(headers.get('content-length') ?? 0) > this.#most) throw limit
    let left = this.#most
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= chunk.length
        if (left < 0) controller.error(limit)
        else controller.enqueue(chunk)
      },
    })
    return new Request(url, { ...parts, body: request.body.pipeThrough(counted), duplex: 'half' })
  }

  #limit(): HttpProblem {
    return new HttpProblem(
      { status: 413, code: 'TOO_LARGE' },
      `a body has at most ${this.#most} bytes; files are written with PUT /threads/{thread}/files/{path}`,
    )
  }

  async #textOf(request: Request): Promise<string> {
    const bytes = await this.#bytesOf(request)
    try {
      return decoder.decode(bytes)
    } catch {
      throw badRequest('the body is no UTF-8')
    }
  }

  /** A body whose length was said is read without a stream of its own, which would cost more than most routes. */
  async #bytesOf(request: Request): Promise<ArrayBuffer | Uint8Array> {
    const length = request.headers.get('content-length')
    if (Number(length ?? 0) > this.#most) throw this.#limit()
    if (length !== null && request.headers.get('transfer-encoding') === null) {
      const bytes = await request.arrayBuffer()
      if (bytes.byteLength > this.#most) throw this.#limit()
      return bytes
    }
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of request.body ?? []) {
      size += chunk.length
      if (size > this.#most) throw this.#limit()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** A form of another site could send other types without asking first. */
function checkJson(request: Request): void {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(type))
    throw badRequest(
      `the body must be JSON: send the header "content-type: application/json", not ${JSON.stringify(type)}`,
    )
}
