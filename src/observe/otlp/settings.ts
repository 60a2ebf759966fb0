/**
 * Where spans are sent: the options of `otlp()`, under them the standard variables of OpenTelemetry
 * (`OTEL_EXPORTER_OTLP_ENDPOINT` and others), under them the defaults of a collector on this machine.
 */
import { z } from 'zod'
import { SkeinError } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import type { SpanOptions } from '../span.js'

export interface OtlpOptions extends SpanOptions {
  /** The collector, as `http://127.0.0.1:4318`; `/v1/traces` is added. Default: the environment's, or this one. */
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What the spans are of. Default: `service.name` is the app's name. */
  readonly resource?: Readonly<Record<string, string>>
  /** Spans are sent together, after so long. Default 1,000. */
  readonly delayMs?: number
  /** How long one request may take. Default 10,000. */
  readonly timeoutMs?: number
  /** Spans that may wait; more are dropped, and told of. Default 8,192. */
  readonly maxQueued?: number
  /** Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** `process.env` is no plain object, which a record of zod must be. */
const envSchema = z.custom<Env>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => each === undefined || typeof each === 'string'),
  'must be texts by name, as process.env',
)

const schema = z.strictObject({
  content: z.boolean().optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  resource: z.record(z.string(), z.string()).optional(),
  delayMs: z.number().min(0).optional(),
  timeoutMs: z.number().int().positive().optional(),
  maxQueued: z.number().int().positive().optional(),
  env: envSchema.optional(),
})

export interface OtlpSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource: Readonly<Record<string, string>>
  readonly delayMs: number
  readonly timeoutMs: number
  readonly maxQueued: number
  readonly isContent: boolean
  /** False: `OTEL_SDK_DISABLED`. */
  readonly isOn: boolean
}

export function otlpSettings(options: OtlpOptions): OtlpSettings {
  checkOptions(schema, options, 'otlp')
  const { env = process.env, headers, resource, delayMs, timeoutMs, maxQueued = 8_192, content = false } = options
  checkProtocol(env)
  return {
    url: tracesUrl(options.url, env),
    headers: {
      ...pairs(env['OTEL_EXPORTER_OTLP_HEADERS']),
      ...pairs(env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']),
      ...headers,
    },
    resource: { ...pairs(env['OTEL_RESOURCE_ATTRIBUTES']), ...serviceName(env), ...resource },
    delayMs: delayMs ?? numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY') ?? 1_000,
    timeoutMs: timeoutMs ?? timeoutOf(env) ?? 10_000,
    maxQueued,
    isContent: content,
    isOn: env['OTEL_SDK_DISABLED']?.toLowerCase() !== 'true',
  }
}

type Env = Readonly<Record<string, string | undefined>>

function tracesUrl(url: string | undefined, env: Env): string {
  const whole = url === undefined ? env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] : undefined
  if (whole) return checkedUrl(whole, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const base = url ?? (env['OTEL_EXPORTER_OTLP_ENDPOINT'] || 'http://localhost:4318')
  return `${checkedUrl(base, 'OTEL_EXPORTER_OTLP_ENDPOINT').replace(/\/+$/, '')}/v1/traces`
}

function checkedUrl(url: string, from: string): string {
  if (URL.canParse(url) && /^https?:/.test(url)) return url
  throw new SkeinError('BAD_OPTION', `${from}: ${JSON.stringify(url)} is no http or https URL`)
}

function checkProtocol(env: Env): void {
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL']
  if (protocol === 'grpc')
    throw new SkeinError(
      'BAD_OPTION',
      'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and otlp() sends JSON over HTTP: set http/json and the port for HTTP ' +
        '(4318), or give spans to an exporter of your own with otel({ processor })',
    )
}

function serviceName(env: Env): Readonly<Record<string, string>> {
  const name = env['OTEL_SERVICE_NAME']
  return name ? { 'service.name': name } : {}
}

function timeoutOf(env: Env): number | undefined {
  return numberOf(env, 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') ?? numberOf(env, 'OTEL_EXPORTER_OTLP_TIMEOUT')
}

/** A wrong number in the environment is not ours to refuse: the default is used, as SDKs do. */
function numberOf(env: Env, name: string): number | undefined {
  const value = Number(env[name] ?? NaN)
  return Number.isFinite(value) && value > 0 ? value : undefined
}

/** `key=value,other=value`, percent-encoded. */
function pairs(text = ''): Readonly<Record<string, string>> {
  const entries = text.split(',').flatMap((pair): (readonly [string, string])[] => {
    const at = pair.indexOf('=')
    return at > 0 ? [[decoded(pair.slice(0, at).trim()), decoded(pair.slice(at + 1).trim())]] : []
  })
  return Object.fromEntries(entries)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // not encoded, as many write it
  }
}
