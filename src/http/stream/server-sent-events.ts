/**
 * Server-sent events: a stream of events of Skein as text for `EventSource`.
 *
 * - `id:` is a cursor and stands on durable events alone: a client that reconnects sends the last one
 *   (`Last-Event-ID`) and goes on after it. Deltas have none.
 * - A client that reads slowly is told so (`lagging`) and cut off; it resumes by its cursor. Nothing grows with it.
 * - A client that goes away ends its stream and nothing else.
 */
import { SkeinError } from '../../index.js'
import type { SkeinEvent } from '../../index.js'
import type { Clock } from '../../core/clock.js'
import { toProblem } from '../problem.js'

export interface EventStreamOptions {
  readonly clock: Clock
  /** How often the server says what time it is. */
  readonly heartbeatMs: number
  /** Ends the stream. */
  readonly signal: AbortSignal
}

/** One event of a stream: its name, its data as JSON, and the cursor to go on from where it is durable. */
export interface StreamedEvent {
  readonly event: string
  readonly data: unknown
  readonly id?: string
}

export function toStreamed(event: SkeinEvent): StreamedEvent {
  const id = 'cursor' in event ? { id: event.cursor } : {}
  return { event: event.type === 'tree.reset' ? 'reset' : event.type, data: event, ...id }
}

/** No event of Skein has a line break in its name or cursor; its data is JSON, which has none either. */
function textOf({ event, data, id }: StreamedEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies that buffer would hold events back.
  'x-accel-buffering': 'no',
}

type Turn = { readonly ticked: true } | { readonly next: IteratorResult<StreamedEvent> }

/** The answer begins at once, also where nothing has happened yet. */
export function eventStream(events: AsyncIterable<StreamedEvent>, options: EventStreamOptions): Response {
  const iterator = events[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  let pending: Promise<Turn> | undefined
  const beat = createBeat(options)
  const clockText = (): string => textOf({ event: 'clock', data: { now: options.clock.now() } })
  const stop = (): void => {
    beat.end()
    void iterator.return?.()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(`retry: 1000\n\n${clockText()}`))
        options.signal.addEventListener('abort', stop, { once: true })
      },
      async pull(controller) {
        try {
          pending ??= iterator.next().then((next) => ({ next }))
          const turn = await Promise.race([pending, beat.next()])
          if ('ticked' in turn) return controller.enqueue(encoder.encode(clockText()))
          pending = undefined
          if (turn.next.done) {
            // A server that closes ends its streams too, but they have not come to their end.
            if (!options.signal.aborted) controller.enqueue(encoder.encode(textOf({ event: 'end', data: {} })))
            return finish(controller)
          }
          controller.enqueue(encoder.encode(textOf(turn.next.value)))
        } catch (thrown) {
          controller.enqueue(encoder.encode(textOf(lastWord(thrown))))
          finish(controller)
        }
      },
      cancel: stop,
    },
    // A slow client holds one chunk here; what waits for it is counted where the events come from.
    { highWaterMark: 1 },
  )
  const finish = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    options.signal.removeEventListener('abort', stop)
    beat.end()
    controller.close()
  }
  return new Response(body, { headers })
}

/** When it is time to say what time it is: one timer for a stream, however many events come in between. */
function createBeat({ clock, heartbeatMs }: EventStreamOptions) {
  let cancel: () => void = () => undefined
  let waiting: Promise<Turn> | undefined
  return {
    next(): Promise<Turn> {
      waiting ??= new Promise((resolve) => {
        cancel = clock.wakeAt(clock.now() + heartbeatMs, () => {
          waiting = undefined
          resolve({ ticked: true })
        })
      })
      return waiting
    },
    end: () => cancel(),
  }
}

/** Why a stream ends before its time: the client may resume after `lagging`, and should look at `error`. */
function lastWord(thrown: unknown): StreamedEvent {
  if (SkeinError.is(thrown, 'STREAM_LAGGED')) return { event: 'lagging', data: { code: thrown.code } }
  const { code, message } = toProblem(thrown)
  return { event: 'error', data: { code, detail: message } }
}
