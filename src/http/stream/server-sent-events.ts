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

/** The answer begins at once, also where nothing has happened yet. */
export function eventStream(events: AsyncIterable<StreamedEvent>, options: EventStreamOptions): Response {
  const { clock, signal } = options
  const source = new TimedSource(events[Symbol.asyncIterator](), options)
  const encoder = new TextEncoder()
  const clockText = (): string => textOf({ event: 'clock', data: { now: clock.now() } })
  const stop = (): void => source.stop()
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(`retry: 1000\n\n${clockText()}`))
        signal.addEventListener('abort', stop, { once: true })
      },
      async pull(controller) {
        try {
          const next = await source.next()
          if (!next) return controller.enqueue(encoder.encode(clockText()))
          if (next.done) return finish(controller)
          controller.enqueue(encoder.encode(textOf(next.value)))
        } catch (thrown) {
          controller.enqueue(encoder.encode(textOf(lastWord(thrown))))
          finish(controller)
        }
      },
      cancel() {
        signal.removeEventListener('abort', stop)
        stop()
      },
    },
    // A slow client holds one chunk here; what waits for it is counted where the events come from.
    { highWaterMark: 1 },
  )
  const finish = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    signal.removeEventListener('abort', stop)
    controller.close()
  }
  return new Response(body, { headers })
}

type Arrived = { readonly next: IteratorResult<StreamedEvent> } | { readonly thrown: unknown }

/** Events, and the beats of a clock while there is none. It has one timer at most, and none between two questions. */
class TimedSource {
  readonly #events: AsyncIterator<StreamedEvent>
  readonly #options: EventStreamOptions
  #isAsked = false
  #arrived: Arrived | undefined
  #wake: (() => void) | undefined

  constructor(events: AsyncIterator<StreamedEvent>, options: EventStreamOptions) {
    this.#events = events
    this.#options = options
  }

  /** Undefined: it is time to say what time it is. Not asked again before it has answered. */
  async next(): Promise<IteratorResult<StreamedEvent> | undefined> {
    this.#ask()
    if (!this.#arrived) await this.#somethingOrTime()
    const arrived = this.#arrived
    this.#arrived = undefined
    if (arrived && 'thrown' in arrived) throw arrived.thrown
    return arrived?.next
  }

  #ask(): void {
    if (this.#isAsked || this.#arrived) return
    this.#isAsked = true
    const take = (arrived: Arrived): void => {
      this.#isAsked = false
      this.#arrived = arrived
      this.#wake?.()
    }
    this.#events.next().then(
      (next) => take({ next }),
      (thrown: unknown) => take({ thrown }),
    )
  }

  /** Not a race of promises: each would stay with the event that is waited for. */
  #somethingOrTime(): Promise<void> {
    const { clock, heartbeatMs } = this.#options
    return new Promise((resolve) => {
      const cancel = clock.wakeAt(clock.now() + heartbeatMs, () => this.#wake?.())
      this.#wake = () => {
        this.#wake = undefined
        cancel()
        resolve()
      }
    })
  }

  stop(): void {
    this.#arrived ??= { next: { done: true, value: undefined } }
    this.#wake?.()
    void this.#events.return?.()
  }
}

/** Why a stream ends before its time: the client may resume after `lagging`, and should look at `error`. */
function lastWord(thrown: unknown): StreamedEvent {
  if (SkeinError.is(thrown, 'STREAM_LAGGED')) return { event: 'lagging', data: { code: thrown.code } }
  const { code, message } = toProblem(thrown)
  return { event: 'error', data: { code, detail: message } }
}
