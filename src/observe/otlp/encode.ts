/** Spans as OTLP has them in JSON. */
import type { AttributeValue, TraceSpan } from '../span.js'

const kinds = { internal: 1, client: 3 } as const
const errorCode = 2

export interface Resource {
  readonly [attribute: string]: AttributeValue
}

export function encodeSpans(spans: readonly TraceSpan[], resource: Resource, version: string): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: encodeAttributes(resource) },
        scopeSpans: [{ scope: { name: 'skein', version }, spans: spans.map(encodeSpan) }],
      },
    ],
  })
}

function encodeSpan({ traceId, spanId, parentId, name, kind, startMs, endMs, attributes, error }: TraceSpan): object {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    flags: 1,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: encodeAttributes(attributes),
    ...(error !== undefined && { status: { code: errorCode, message: error } }),
  }
}

const nanos = (ms: number): string => `${Math.round(ms)}000000`

function encodeAttributes(attributes: Resource): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: encodeValue(value) }))
}

function encodeValue(value: AttributeValue): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } }
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
