/**
 * The trace that code runs in, if the app has an OpenTelemetry SDK: `@opentelemetry/api` keeps what was registered with
 * it in one global, under a symbol that all its 1.x versions share. So Skein needs no package to be part of it.
 *
 * - Without a registered context manager and propagator nothing happens.
 */
interface ContextManager {
  active(): object
  with<Value>(context: object, run: () => Value): Value
}

interface Propagator {
  inject(context: object, carrier: Record<string, string>, setter: Setter): void
  extract(context: object, carrier: Readonly<Record<string, string>>, getter: Getter): object
}

interface Setter {
  set(carrier: Record<string, string>, key: string, value: string): void
}

interface Getter {
  keys(carrier: Readonly<Record<string, string>>): string[]
  get(carrier: Readonly<Record<string, string>>, key: string): string | undefined
}

interface Registered {
  readonly context?: ContextManager
  readonly propagation?: Propagator
}

const registry = Symbol.for('opentelemetry.js.api.1')
const setter: Setter = { set: (carrier, key, value) => void (carrier[key] = value) }
const getter: Getter = { keys: (carrier) => Object.keys(carrier), get: (carrier, key) => carrier[key] }

function registered(): Required<Registered> | undefined {
  const { context, propagation }: Registered = Reflect.get(globalThis, registry) ?? {}
  return context && propagation ? { context, propagation } : undefined
}

/** Runs with `trace` (a W3C `traceparent`) as the trace that spans of the app's own SDK belong to. */
export function runWithin<Value>(trace: string, run: () => Value): Value {
  const api = registered()
  if (!api) return run()
  const { context, propagation } = api
  return context.with(propagation.extract(context.active(), { traceparent: trace }, getter), run)
}

/** The `traceparent` of the span that is active here. */
export function activeTrace(): string | undefined {
  const api = registered()
  if (!api) return undefined
  const carrier: Record<string, string> = {}
  api.propagation.inject(api.context.active(), carrier, setter)
  return carrier['traceparent']
}
