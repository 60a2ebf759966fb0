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
import { chunkResponse } from '../answer.js'
import type { Chunks } from '../answer.js'
import { toProblem } from '../problem.js'

export interface EventStreamOptions {
  readonly clock: Clock
  /** How often the server says what time it is. */
  readonly heartbeatMs: number
  /** Ends the stream. */
  readonly signal: AbortSignal
  /** Counts it, or throws; what it returns is called once, at the end of the stream. */
  readonly enter?: () => () => void
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

const encoder = new TextEncoder()

export function bytesOf(event: StreamedEvent): Uint8Array {
  return encoder.encode(textOf(event))
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies that buffer would hold events back.
  'x-accel-buffering': 'no',
}

/** How a stream is written: what it begins with, what it says when nothing happens, and its last words. */
interface Wording {
  readonly begin: string
  beat(): string
  /** Empty: nothing. */
  end(): string
  failed(thrown: unknown): string
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer begins at once, also where nothing has happened yet. */
export function eventStream(events: AsyncIterable<StreamedEvent>, options: EventStreamOptions): Response {
  return eventStreamOf(events, options, (event) => event)
}

/** The same of values that `tell` makes events of. A stream of its own for that would cost each client its memory. */
export function eventStreamOf<T>(
  events: AsyncIterable<T>,
  options: EventStreamOptions,
  tell: (event: T) => StreamedEvent,
): Response {
  const iterator = events[Symbol.asyncIterator]()
  const texts: Texts = {
    async next() {
      const { done, value } = await iterator.next()
      return done ? undefined : textOf(tell(value))
    },
    stop: () => void iterator.return?.(),
  }
  return eventTexts(texts, options)
}

/** The same of events that are written already. */
export function eventTexts(texts: Texts, options: EventStreamOptions): Response {
  const beat = (): string => textOf({ event: 'clock', data: { now: options.clock.now() } })
  return textStream(texts, options, {
    begin: `retry: 1000\n\n${beat()}`,
    beat,
    // A server that closes ends its streams too, but they have not come to their end.
    end: () => (options.signal.aborted ? '' : textOf({ event: 'end', data: {} })),
    failed: (thrown) => textOf(lastWord(thrown)),
  })
}

export interface DataStreamOptions extends EventStreamOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** What a client is told of a stream that breaks. */
  readonly failed: (thrown: unknown) => unknown
  /** The last line. Default `[DONE]`; empty: none. */
  readonly last?: string
}

/** Data without names and cursors, and `[DONE]` at its end, for clients that know no other streams. */
export function dataStream(
  begin: (signal: AbortSignal) => AsyncGenerator<unknown, void, undefined>,
  options: DataStreamOptions,
): Response {
  const { last = '[DONE]' } = options
  const doneText = last === '' ? '' : `data: ${last}\n\n`
  const dataText = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
  const left = new AbortController()
  const values = begin(AbortSignal.any([options.signal, left.signal]))
  const texts: Texts = {
    async next() {
      const { done, value } = await values.next()
      return done ? undefined : dataText(value)
    },
    stop: () => left.abort(),
  }
  return textStream(texts, options, {
    begin: '',
    beat: () => ': \n\n',
    end: () => doneText,
    failed: (thrown) => `${dataText(options.failed(thrown))}${doneText}`,
    headers: options.headers ?? {},
  })
}

/** What is written, piece by piece; undefined at its end. */
export interface Texts {
  next(): Promise<string | Uint8Array | undefined>
  stop(): void
}

function textStream(texts: Texts, options: EventStreamOptions, { headers: more = {}, ...wording }: Wording): Response {
  const leave = entered(texts, options)
  return chunkResponse(new EventChunks(texts, options, { ...wording, leave }), { ...headers, ...more })
}

interface Spoken extends Wording {
  /** Called at the end, however it ends. */
  leave(): void
}

/** Texts as chunks: what it begins with, then each as it comes, and its last word. */
class EventChunks implements Chunks {
  readonly #source: TimedTexts
  readonly #signal: AbortSignal
  readonly #spoken: Spoken
  #hasBegun = false
  #isOver = false

  constructor(texts: Texts, options: EventStreamOptions, spoken: Spoken) {
    this.#source = new TimedTexts(texts, options)
    this.#signal = options.signal
    this.#spoken = spoken
    this.#signal.addEventListener('abort', this.#end, { once: true })
  }

  async next(): Promise<Uint8Array | undefined> {
    const { begin, beat, failed } = this.#spoken
    const isFirst = !this.#hasBegun
    this.#hasBegun = true
    if (isFirst && begin !== '') return encoder.encode(begin)
    if (this.#isOver) return undefined
    try {
      const next = await this.#source.next()
      const text = next ? next.text : beat()
      if (text === undefined) return this.#ended()
      return typeof text === 'string' ? encoder.encode(text) : text
    } catch (thrown) {
      this.#finish()
      return encoder.encode(failed(thrown))
    }
  }

  readonly #end = (): void => this.#source.stop()

  #ended(): Uint8Array | undefined {
    this.#finish()
    const word = this.#spoken.end()
    return word === '' ? undefined : encoder.encode(word)
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#signal.removeEventListener('abort', this.#end)
    this.#spoken.leave()
  }

  stop(): void {
    this.#finish()
    this.#source.stop()
  }
}

/** What is open already ends where it is one too many. */
function entered(texts: Texts, { enter }: EventStreamOptions): () => void {
  try {
    return enter?.() ?? (() => undefined)
  } catch (thrown) {
    texts.stop()
    throw thrown
  }
}

type Arrived = { readonly text: string | Uint8Array | undefined } | { readonly thrown: unknown }

/** Texts, and the beats of a clock while there is none. It has one timer at most, and none between two questions. */
class TimedTexts {
  readonly #texts: Texts
  readonly #options: EventStreamOptions
  #isAsked = false
  #arrived: Arrived | undefined
  #wake: (() => void) | undefined

  constructor(texts: Texts, options: EventStreamOptions) {
    this.#texts = texts
    this.#options = options
  }

  /** Undefined: it is time to say what time it is. Not asked again before it has answered. */
  async next(): Promise<{ readonly text: string | Uint8Array | undefined } | undefined> {
    this.#ask()
    if (!this.#arrived) await this.#somethingOrTime()
    const arrived = this.#arrived
    this.#arrived = undefined
    if (arrived && 'thrown' in arrived) throw arrived.thrown
    return arrived
  }

  #ask(): void {
    if (this.#isAsked || this.#arrived) return
    this.#isAsked = true
    const take = (arrived: Arrived): void => {
      this.#isAsked = false
      this.#arrived = arrived
      this.#wake?.()
    }
    this.#texts.next().then(
      (text) => take({ text }),
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
    this.#arrived ??= { text: undefined }
    this.#wake?.()
    this.#texts.stop()
  }
}

/** Why a stream ends before its time: the client may resume after `lagging`, and should look at `error`. */
function lastWord(thrown: unknown): StreamedEvent {
  if (SkeinError.is(thrown, 'STREAM_LAGGED')) return { event: 'lagging', data: { code: thrown.code } }
  const { code, message } = toProblem(thrown)
  return { event: 'error', data: { code, detail: message } }
}
