/**
 * Answers whose body is written by who serves them: a text, or chunks one after the other. On `node:http` they go to
 * the socket as they are; elsewhere a `Response` of the platform is made of them. Its streams cost more than most
 * routes, and as much memory as the rest of an idle stream.
 *
 * - Such an answer is a `Response` without a body until then: whoever reads one uses `platformResponse`.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../core/clock.js'

/** A body, chunk by chunk; undefined at its end. `next` is not called before it has answered. */
export interface Chunks {
  next(): Promise<Uint8Array | undefined>
  /** Nobody reads any more. */
  stop(): void
}

type Headers = Readonly<Record<string, string>>

const bodies = new WeakMap<Response, string | Chunks>()

export function jsonResponse(
  value: unknown,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: Headers } = {},
): Response {
  const response = new Response(null, { status, headers: { 'content-type': 'application/json', ...headers } })
  bodies.set(response, JSON.stringify(value))
  return response
}

export function chunkResponse(chunks: Chunks, headers: Headers): Response {
  const response = new Response(null, { headers })
  bodies.set(response, chunks)
  return response
}

/** The same answer with a body. */
export function platformResponse(response: Response): Response {
  const body = bodies.get(response)
  if (body === undefined) return response
  bodies.delete(response)
  return new Response(typeof body === 'string' ? body : streamOf(body), response)
}

function streamOf(chunks: Chunks): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await chunks.next()
        if (chunk === undefined) controller.close()
        else controller.enqueue(chunk)
      },
      cancel: () => chunks.stop(),
    },
    // A slow client holds one chunk here; what waits for it is counted where the events come from.
    { highWaterMark: 1 },
  )
}

/** Nobody will read it, nor leave it. */
export async function dropBody(response: Response): Promise<void> {
  const body = bodies.get(response)
  if (typeof body === 'object') {
    body.stop()
    bodies.delete(response)
  }
  await response.body?.cancel()
}

/** What comes after that time is not given, and the answer is cut. A text was complete when it was asked for. */
export function chunksUntil(response: Response, ends: number, clock: Clock): boolean {
  const body = bodies.get(response)
  if (body === undefined) return false
  if (typeof body === 'object')
    bodies.set(response, {
      async next() {
        const chunk = await body.next()
        if (chunk === undefined || clock.now() < ends) return chunk
        body.stop()
        return undefined
      },
      stop: () => body.stop(),
    })
  return true
}

/** Whether it was one of these, and is being written. */
export function writeAnswer(response: Response, outgoing: ServerResponse): boolean {
  const body = bodies.get(response)
  if (body === undefined) return false
  const headers = Object.fromEntries(response.headers)
  if (typeof body === 'string') {
    outgoing.writeHead(response.status, { ...headers, 'content-length': Buffer.byteLength(body) })
    outgoing.end(body)
    return true
  }
  outgoing.writeHead(response.status, headers)
  void pump(body, outgoing)
  return true
}

async function pump(chunks: Chunks, outgoing: ServerResponse): Promise<void> {
  outgoing.once('close', () => chunks.stop())
  try {
    for (let chunk = await chunks.next(); chunk && !outgoing.destroyed; chunk = await chunks.next())
      if (!outgoing.write(chunk)) await drained(outgoing)
    outgoing.end()
  } catch {
    // What it would say of it was said in its last chunk, if it could be.
    outgoing.destroy()
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.on('drain', done)
    outgoing.on('close', done)
    if (outgoing.destroyed) done()
  })
}
