/**
 * Traces by OTLP over HTTP, in JSON, without a package: any OpenTelemetry collector takes them.
 *
 * - Spans are sent in batches, one request at a time. What may wait is bounded: past that, spans are dropped and
 *   counted. A thread never waits for a collector.
 * - A collector that is away or busy is tried again with growing pauses; one that refuses a batch loses that batch.
 */
import { idleClock } from '../../core/clock.js'
import { SkeinError } from '../../core/failure.js'
import { textOf } from '../../core/json.js'
import type { Observation, ObservedHost, Observer } from '../port.js'
import { spanOf } from '../span.js'
import type { TraceSpan } from '../span.js'
import { encodeSpans } from './encode.js'
import type { Resource } from './encode.js'
import { otlpSettings } from './settings.js'
import type { OtlpOptions, OtlpSettings } from './settings.js'

const batchSize = 512
const pausesMs = [1_000, 2_000, 4_000, 8_000]
const retried: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Sends the spans of threads to a collector. Options override the standard `OTEL_*` variables. */
export function otlp(options: OtlpOptions = {}): Observer {
  const settings = otlpSettings(options)
  return settings.isOn ? new OtlpTraces(settings) : { close: async () => undefined }
}

class OtlpTraces implements Observer {
  readonly traces = true
  readonly #settings: OtlpSettings
  #resource: Resource = {}
  #version = ''
  #warn: ObservedHost['warn'] = () => undefined
  #queue: TraceSpan[] = []
  #dropped = 0
  #isFailing = false
  #closing = false
  #sending: Promise<void> | undefined
  #stopTimer: (() => void) | undefined
  /** Ends the pause before another attempt. */
  #endPause: (() => void) | undefined

  constructor(settings: OtlpSettings) {
    this.#settings = settings
  }

  begin({ name, app, appVersion, skein, warn }: ObservedHost): void {
    this.#resource = {
      'service.name': app ?? 'skein',
      'service.instance.id': name,
      ...(appVersion !== undefined && { 'service.version': appVersion }),
      ...this.#settings.resource,
    }
    this.#version = skein
    this.#warn = warn
  }

  observed(observation: Observation): void {
    const span = spanOf(observation, { content: this.#settings.isContent })
    if (!span) return
    if (this.#queue.length >= this.#settings.maxQueued) {
      this.#dropped++
      return
    }
    this.#queue.push(span)
    if (this.#queue.length >= batchSize) this.#send()
    else this.#sendSoon()
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#stopTimer?.()
    this.#endPause?.()
    await this.#sending
    await this.#sendAll()
  }

  #sendSoon(): void {
    if (this.#sending || this.#stopTimer) return
    this.#stopTimer = idleClock.wakeAt(idleClock.now() + this.#settings.delayMs, () => this.#send())
  }

  #send(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
      if (this.#queue.length > 0 && !this.#closing) this.#sendSoon()
    })
  }

  /** What comes while a batch is on its way waits again, unless there is enough for another. */
  async #sendAll(): Promise<void> {
    do {
      const batch = this.#queue.slice(0, batchSize)
      if (batch.length === 0) return
      const failed = await this.#post(batch)
      this.#queue.splice(0, batch.length)
      this.#report(failed, batch.length)
    } while (this.#closing || this.#queue.length >= batchSize)
  }

  /** Told once for each outage, not for each batch. */
  #report(failed: unknown, count: number): void {
    const dropped = this.#dropped + (failed === undefined ? 0 : count)
    this.#dropped = 0
    if (dropped > 0 && !this.#isFailing)
      this.#warn(`${dropped} spans were not sent to ${this.#settings.url}; threads are not affected`, failed)
    this.#isFailing = dropped > 0
  }

  /** Undefined: it was taken. */
  async #post(batch: readonly TraceSpan[]): Promise<unknown> {
    const body = encodeSpans(batch, this.#resource, this.#version)
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#request(body)
      const pauseMs = pausesMs[attempt]
      if (answer.taken) return undefined
      if (!answer.again || pauseMs === undefined || this.#closing) return answer.why
      await this.#pause(pauseMs)
    }
  }

  #pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = idleClock.wakeAt(idleClock.now() + pauseMs, resolve)
      this.#endPause = () => {
        stop()
        resolve()
      }
    })
  }

  async #request(body: string): Promise<Answer> {
    const { url, headers, timeoutMs } = this.#settings
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      })
      await response.body?.cancel()
      if (response.ok) return { taken: true }
      const why = new SkeinError('BAD_OPTION', `the collector answered with status ${response.status}`)
      return { taken: false, again: retried.has(response.status), why }
    } catch (thrown) {
      return { taken: false, again: true, why: new Error(reasonOf(thrown)) }
    }
  }
}

type Answer = { readonly taken: true } | { readonly taken: false; readonly again: boolean; readonly why: Error }

/** `fetch failed` says nothing: its cause does. */
function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown
  return cause instanceof Error ? cause.message || cause.name : textOf(cause)
}
