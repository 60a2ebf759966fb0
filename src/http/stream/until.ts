/** An answer that is streamed for as long as who asked for it has the right to it. */
import type { Clock } from '../../core/clock.js'
import { chunksUntil } from '../answer.js'

/**
 * What comes after that time is not given, and the answer is cut. It has no timer: streams have heartbeats. An answer
 * of a known length was complete when it was asked for, and stays so.
 */
export function streamedUntil(response: Response, ends: number, clock: Clock): Response {
  if (chunksUntil(response, ends, clock) || !response.body || response.headers.has('content-length')) return response
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done && clock.now() < ends) return controller.enqueue(value)
        controller.close()
        if (!done) await reader.cancel()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}
