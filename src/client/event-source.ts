/**
 * Server-sent events of a server of Skein, through connections that break.
 *
 * - Each event is given once: a new connection goes on after the last cursor, or, where a stream has no cursor to begin
 *   with, passes over what was given before.
 * - A stream ends when the server says so (`end`), with an error that stays, or when its reader leaves. A connection
 *   that ends otherwise, says `lagging` or falls silent is made again.
 */
import { systemClock } from '../core/clock.js'
import { SkeinError } from '../core/failure.js'
import { createIteration } from '../core/async/iteration.js'
import { toError } from './transport.js'
import type { Transport } from './transport.js'

/** One event as it was sent. */
interface Sent {
  readonly event: string
  readonly data: string
  readonly id?: string
}

export interface StreamRequest {
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  /** Undefined: all of it comes with each connection, in the same order. */
  readonly cursor?: { readonly from?: string | undefined }
  readonly signal?: AbortSignal | undefined
  /** What must be waited for before it can be opened. */
  readonly ready?: () => Promise<void>
}

/** Servers say what time it is every 5 s, unless they are told otherwise. */
const longestSilenceMs = 60_000
const longestPauseMs = 5_000

/** The data of the events, without those about the stream itself. */
export function followEvents<Data>(transport: Transport, request: StreamRequest): AsyncIterable<Data> {
  return createIteration(
    (ended) => new Following<Data>(transport, request, ended).events(),
    [request.signal, transport.closed],
  )
}

class Following<Data> {
  readonly #transport: Transport
  readonly #request: StreamRequest
  readonly #ended: AbortSignal
  #cursor: string | undefined
  /** The cursor of the last event that was given before this connection, where all of them come again. */
  #passing: string | undefined
  #opened = false
  #failures = 0

  constructor(transport: Transport, request: StreamRequest, ended: AbortSignal) {
    this.#transport = transport
    this.#request = request
    this.#ended = ended
    this.#cursor = request.cursor?.from
  }

  async *events(): AsyncGenerator<Data, void, undefined> {
    await this.#request.ready?.()
    while (!this.#ended.aborted) {
      try {
        for await (const sent of this.#connection()) {
          if (sent.event === 'end') return
          if (sent.event === 'lagging') break
          if (this.#isNew(sent)) yield JSON.parse(sent.data)
        }
      } catch (thrown) {
        if (this.#ended.aborted) return
        // The first connection tells its caller what is wrong with it.
        if (!this.#opened || !passes(thrown)) throw thrown
      }
      await backOff(this.#failures++, this.#ended)
    }
  }

  #isNew({ event, id, data }: Sent): boolean {
    this.#failures = 0
    if (event === 'clock') return false
    if (event === 'error') throw errorOf(data)
    if (event === 'reset') this.#cursor = undefined
    if (id === undefined) return true
    if (this.#passing !== undefined) {
      if (id === this.#passing) this.#passing = undefined
      return false
    }
    this.#cursor = id
    return true
  }

  async *#connection(): AsyncGenerator<Sent, void, undefined> {
    const { path, query = {}, cursor } = this.#request
    const silence = new AbortController()
    const leave = (): void => silence.abort()
    this.#ended.addEventListener('abort', leave, { once: true })
    if (!cursor) this.#passing = this.#cursor
    const from = cursor ? this.#cursor : undefined
    let stop = systemClock.wakeAt(systemClock.now() + longestSilenceMs, leave)
    try {
      const { body } = await this.#transport.open(path, { query: { ...query, from }, signal: silence.signal })
      this.#opened = true
      const take = createParser()
      const reader = body?.getReader()
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        stop()
        if (done || !value) return
        yield* take(value)
        stop = systemClock.wakeAt(systemClock.now() + longestSilenceMs, leave)
      }
    } finally {
      stop()
      this.#ended.removeEventListener('abort', leave)
      silence.abort()
    }
  }
}

function errorOf(data: string): SkeinError {
  const { code = 'INTERNAL', detail = '' }: { readonly code?: string; readonly detail?: string } = JSON.parse(data)
  return toError(code, detail, { retry: code === 'STORE_CLOSED' || code === 'STORE_FAILED' })
}

/** Whether it may be otherwise later. What breaks while it is read is no error of Skein. */
export function passes(thrown: unknown): boolean {
  return SkeinError.is(thrown) ? thrown.retry : !('code' in Object(thrown))
}

/** At once the first time, then longer and longer. */
export function backOff(failures: number, ended: AbortSignal | undefined): Promise<void> {
  const pauseMs = failures === 0 ? 0 : Math.min(longestPauseMs, 50 * 2 ** failures)
  return new Promise((resolve) => {
    const over = (): void => {
      stop()
      ended?.removeEventListener('abort', over)
      resolve()
    }
    const stop = systemClock.wakeAt(systemClock.now() + pauseMs, over)
    ended?.addEventListener('abort', over, { once: true })
    if (ended?.aborted) over()
  })
}

function createParser(): (chunk: Uint8Array) => Generator<Sent, void, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  return function* (chunk) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(fieldOf))
      const [event, data, id] = [fields.get('event'), fields.get('data'), fields.get('id')]
      if (event !== undefined && data !== undefined) yield { event, data, ...(id !== undefined && { id }) }
    }
  }
}

function fieldOf(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
