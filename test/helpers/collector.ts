/** A collector of traces on loopback: takes OTLP in JSON and in nothing else, and keeps every byte that it was sent. */
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const anyValue = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.union([z.string().regex(/^-?\d+$/), z.number().int()]) }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }) }),
])
const attributes = z.array(z.strictObject({ key: z.string(), value: anyValue }))
const nanos = z.union([z.string().regex(/^\d{19}$/), z.strictObject({ low: z.number(), high: z.number() })])
const spanSchema = z.looseObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
  name: z.string().min(1),
  kind: z.number().int().min(1).max(5),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  status: z.looseObject({ code: z.number().int().optional(), message: z.string().optional() }).optional(),
})
const exportSchema = z.strictObject({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes }),
      scopeSpans: z.array(z.looseObject({ scope: z.looseObject({ name: z.string() }), spans: z.array(spanSchema) })),
    }),
  ),
})

export interface SeenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | undefined
  readonly name: string
  readonly kind: number
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly error: string | undefined
  readonly host: unknown
  readonly scope: string
}

export interface Collector {
  readonly url: string
  /** All bytes of all requests, heads included. */
  readonly bytes: string
  readonly requests: number
  readonly spans: readonly SeenSpan[]
  /** The answers to the next requests; 200 after these. */
  answers: number[]
  close(): Promise<void>
}

export async function startCollector(): Promise<Collector> {
  const seen = { bytes: '', requests: 0, spans: [] as SeenSpan[], answers: [] as number[] }
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      seen.requests++
      seen.bytes += `${request.method} ${request.url}\n${JSON.stringify(request.rawHeaders)}\n${body}\n`
      const status = seen.answers.shift() ?? take(request, body)
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function take(request: IncomingMessage, body: string): number {
    if (request.method !== 'POST' || request.url !== '/v1/traces') return 404
    if (request.headers['content-type'] !== 'application/json') return 415
    const parsed = exportSchema.safeParse(JSON.parse(body))
    if (!parsed.success) return 400
    for (const { resource, scopeSpans } of parsed.data.resourceSpans) {
      const host = valuesOf(resource.attributes)['service.instance.id']
      for (const { scope, spans } of scopeSpans)
        for (const span of spans) seen.spans.push({ ...toSeen(span), host, scope: scope.name })
    }
    return 200
  }

  const { port } = server.address() as AddressInfo
  return Object.assign(seen, {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function toSeen(span: z.infer<typeof spanSchema>): Omit<SeenSpan, 'host' | 'scope'> {
  const { traceId, spanId, parentSpanId: parent, name, kind, status } = span
  return {
    traceId,
    spanId,
    parent,
    name,
    kind,
    startMs: msOf(span.startTimeUnixNano),
    endMs: msOf(span.endTimeUnixNano),
    attributes: valuesOf(span.attributes),
    error: status?.code === 2 ? (status.message ?? '') : undefined,
  }
}

function msOf(time: z.infer<typeof nanos>): number {
  return typeof time === 'string' ? Number(BigInt(time) / 1_000_000n) : 0
}

function valuesOf(list: z.infer<typeof attributes>): Record<string, unknown> {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      if ('arrayValue' in value) return [key, value.arrayValue.values.map(({ stringValue }) => stringValue)]
      if ('intValue' in value) return [key, Number(value.intValue)]
      return [key, Object.values(value)[0]]
    }),
  )
}

/** The spans as a tree: names, indented below their parents, in order of time. */
export function treeOf(spans: readonly SeenSpan[], parent?: string, depth = 0): string[] {
  const known = new Set(spans.map(({ spanId }) => spanId))
  const isBelow = (span: SeenSpan): boolean =>
    parent === undefined ? span.parent === undefined || !known.has(span.parent) : span.parent === parent
  return spans
    .filter(isBelow)
    .toSorted((a, b) => a.startMs - b.startMs || orderOf(a) - orderOf(b) || (a.name < b.name ? -1 : 1))
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.name}${span.error === undefined ? '' : ' ✗'}`,
      ...treeOf(spans, span.spanId, depth + 1),
    ])
}

/** Of spans that begin at once: a step before its calls. */
function orderOf({ attributes: { 'skein.effect.key': key } }: SeenSpan): number {
  const [, step = 0, kind = '', index = 0] = /^step\/(\d+)\/(\w+)\/?(\d*)/.exec(String(key)) ?? []
  return Number(step) * 1_000 + (kind === 'call' ? 1 + Number(index) : 0)
}
