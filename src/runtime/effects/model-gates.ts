/**
 * The rate-limit gates of a host's models (L5), joined with those of other hosts by signals; and which threads wait at
 * them.
 *
 * AY1 The signal of a limit may be lost: a host that missed it is limited itself. No result depends on it.
 * - It says for how long, not until when: clocks of hosts differ. Each host adds a random time of its own.
 * - Only the host that the provider has limited sends it: nobody passes it on.
 */
import { z } from 'zod'
import type { App } from '../../agent/app.js'
import type { Signals } from '../../backend/port.js'
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import type { Json } from '../../core/json.js'
import { RateLimitGate } from '../../models/rate-limit/gate.js'
import type { ModelWait } from '../../models/port.js'
import { limitsTopic, waitsTopic } from '../watch/topics.js'
import { lazy } from '../../core/schema.js'

export interface ThreadWait extends ModelWait {
  readonly thread: string
}

export interface ModelGates {
  /** The gate of a model of the app. */
  gate(model: string): RateLimitGate
  /** Calls of this host that wait, by model. */
  waits(): Readonly<Record<string, number>>
  close(): void
}

interface GateServices {
  /** The app that is served now. */
  readonly app: () => App
  readonly signals: Signals
  readonly clock: Clock
  readonly random: Random
}

const limitSchema = lazy(() => z.object({ model: z.string(), waitMs: z.number().min(0), from: z.string() }))
const askSchema = lazy(() => z.object({ to: z.string() }))
const waitSchema = lazy(() => z.object({ thread: z.string(), model: z.string(), place: z.number(), inMs: z.number() }))

/** Waiting threads of each model in one answer. */
const maxListed = 1_000
/** How long hosts have to answer. */
const answerMs = 250

export function createModelGates({ app, signals, clock, random }: GateServices): ModelGates {
  const gates = new Map<string, RateLimitGate>()
  const me = random.id()

  function gate(model: string): RateLimitGate {
    const known = gates.get(model)
    if (known) return known
    const maxRetries = app().models.get(model)?.maxRetries
    const closed = (waitMs: number): void => signals.publish(limitsTopic, { model, waitMs, from: me })
    const made = new RateLimitGate(model, { clock, random, closed, ...defined({ maxRetries }) })
    gates.set(model, made)
    return made
  }

  const stops = [
    signals.subscribe(limitsTopic, (value) => {
      const { data: limit } = limitSchema().safeParse(value)
      // Another version of the app may have a model that is not used here.
      if (limit && limit.from !== me && app().models.has(limit.model)) gate(limit.model).heard(limit.waitMs)
    }),
    signals.subscribe(waitsTopic, (value) => {
      const { data: request } = askSchema().safeParse(value)
      const now = clock.now()
      const waits = [...gates.values()]
        .flatMap((each) => each.waiting(maxListed))
        .map(({ thread, model, place, until }) => ({ thread, model, place, inMs: Math.max(0, until - now) }))
      if (request && waits.length > 0) signals.publish(request.to, waits)
    }),
  ]
  return {
    gate,
    waits: () => Object.fromEntries([...gates].map(([model, each]) => [model, each.waiting(maxListed).length])),
    close: () => stops.forEach((stop) => stop()),
  }
}

/** Threads of all hosts that wait at a gate, the first 1,000 of each model and host. */
export async function askWaits({ signals, clock, random }: Omit<GateServices, 'app'>): Promise<readonly ThreadWait[]> {
  const to = `${waitsTopic}/${random.id()}`
  const waits: ThreadWait[] = []
  const stop = signals.subscribe(to, (value: Json) => {
    const now = clock.now()
    for (const { inMs, ...wait } of z.array(waitSchema()).safeParse(value).data ?? [])
      waits.push({ ...wait, until: now + inMs })
  })
  signals.publish(waitsTopic, { to })
  await new Promise<void>((resolve) => {
    clock.wakeAt(clock.now() + answerMs, resolve)
  })
  stop()
  return waits
}
