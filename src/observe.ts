/** The door for observers: traces by OpenTelemetry, metrics for Prometheus, structured logs. */
export { log } from './observe/log.js'
export { metrics } from './observe/metrics.js'
export { otel } from './observe/otel.js'
export { otlp } from './observe/otlp/otlp.js'

export type { Logger, LogOptions } from './observe/log.js'
export type { MetricsOptions } from './observe/metrics.js'
export type { EndedSpan, OtelOptions } from './observe/otel.js'
export type { OtlpOptions } from './observe/otlp/settings.js'
export type { HostGauges, Observation, ObservedHost, Observer } from './observe/port.js'
export type { SpanOptions } from './observe/span.js'
