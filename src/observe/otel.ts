/**
 * Spans for the app's own OpenTelemetry SDK: given to a span processor of it, by structure, so that Skein needs none of
 * its packages. The processor sees spans that have ended, with the ids that Skein computes.
 */
import { z } from 'zod'
import { isObject } from '../core/json.js'
import { checkOptions } from '../core/options.js'
import type { Observer } from './port.js'
import { spanOf } from './span.js'
import type { TraceSpan, SpanOptions } from './span.js'

type HrTime = [number, number]

interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

/** `ReadableSpan` of `@opentelemetry/sdk-trace-base`, versions 1 and 2. */
export interface EndedSpan {
  readonly name: string
  readonly kind: number
  readonly spanContext: () => SpanContext
  readonly parentSpanContext?: SpanContext
  /** As version 1 has it. */
  readonly parentSpanId?: string
  readonly startTime: HrTime
  readonly endTime: HrTime
  readonly duration: HrTime
  readonly ended: boolean
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: object
  readonly links: readonly object[]
  readonly events: readonly object[]
  readonly resource: object
  readonly instrumentationScope: { readonly name: string; readonly version?: string }
  /** As version 1 has it. */
  readonly instrumentationLibrary?: { readonly name: string; readonly version?: string }
  readonly droppedAttributesCount: number
  readonly droppedEventsCount: number
  readonly droppedLinksCount: number
}

export interface OtelOptions extends SpanOptions {
  /** A span processor, as `new BatchSpanProcessor(exporter)`. Skein flushes it when the host closes. */
  readonly processor: { onEnd(span: EndedSpan): void; forceFlush?(): Promise<void> }
  /** As `resourceFromAttributes({ 'service.name': 'shop' })`. Default: none. */
  readonly resource?: object
}

const schema = z.strictObject({
  content: z.boolean().optional(),
  processor: z.custom<object>(
    (value) => isObject(value) && typeof value['onEnd'] === 'function',
    'must be a span processor, as new BatchSpanProcessor(exporter)',
  ),
  resource: z.custom<object>((value) => typeof value === 'object' && value !== null).optional(),
})

const kinds = { internal: 0, client: 2 } as const
const noResource = { attributes: {}, asyncAttributesPending: false, getRawAttributes: () => [] }

/** Gives the spans of threads to a span processor of the app's own OpenTelemetry SDK. */
export function otel(options: OtelOptions): Observer {
  checkOptions(schema, options, 'otel')
  const { processor, resource = noResource, content = false } = options
  let version = ''
  return {
    traces: true,
    begin({ skein }) {
      version = skein
    },
    observed(observation) {
      const span = spanOf(observation, { content })
      if (span) processor.onEnd(toEnded(span, resource, version))
    },
    close: async () => processor.forceFlush?.(),
  }
}

function toEnded(span: TraceSpan, resource: object, version: string): EndedSpan {
  const { traceId, spanId, parentId, name, kind, startMs, endMs, attributes, error } = span
  const scope = { name: 'skein', version }
  return {
    name,
    kind: kinds[kind],
    spanContext: () => ({ traceId, spanId, traceFlags: 1 }),
    ...(parentId !== undefined && {
      parentSpanId: parentId,
      parentSpanContext: { traceId, spanId: parentId, traceFlags: 1 },
    }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(endMs - startMs),
    ended: true,
    status: error === undefined ? { code: 0 } : { code: 2, message: error },
    attributes: { ...attributes },
    links: [],
    events: [],
    resource,
    instrumentationScope: scope,
    instrumentationLibrary: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)]
}
