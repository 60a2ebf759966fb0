/**
 * The gates of a host's models (L5), joined with those of other hosts by signals; and who waits before them, for
 * whoever asks.
 *
 * AY1 News of a limit may be lost: a host that missed it is limited itself. No result depends on it.
 * - It says for how long, not until when: clocks of hosts differ. Each host adds a random time of its own.
 * - News is passed on only by whom the provider told: it goes round once.
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

export interface ThreadWait extends ModelWait {
  readonly thread: string
}

export interface ModelGates {
  /** Of a model of the app. */
  gate(model: string): RateLimitGate
  close(): void
}

interface AdmissionMeans {
  readonly app: App
  readonly signals: Signals
  readonly clock: Clock
  readonly random: Random
}

const limitSchema = z.object({ model: z.string(), waitMs: z.number().min(0), from: z.string() })
const askSchema = z.object({ to: z.string() })
const waitSchema = z.object({ thread: z.string(), model: z.string(), place: z.number(), inMs: z.number() })

/** Of each model, in one answer. */
const mostListed = 1_000
/** How long hosts have to answer. */
const answeredWithinMs = 250

export function createModelGates({ app, signals, clock, random }: AdmissionMeans): ModelGates {
  const gates = new Map<string, RateLimitGate>()
  const me = random.id()

  function gate(model: string): RateLimitGate {
    const known = gates.get(model)
    if (known) return known
    const maxRetries = app.models.get(model)?.maxRetries
    const closed = (waitMs: number): void => signals.publish(limitsTopic, { model, waitMs, from: me })
    const made = new RateLimitGate(model, { clock, random, closed, ...defined({ maxRetries }) })
    gates.set(model, made)
    return made
  }

  const stops = [
    signals.subscribe(limitsTopic, (value) => {
      const { data: news } = limitSchema.safeParse(value)
      // Of a model that another version of the app has, nobody here asks.
      if (news && news.from !== me && app.models.has(news.model)) gate(news.model).heard(news.waitMs)
    }),
    signals.subscribe(waitsTopic, (value) => {
      const { data: asked } = askSchema.safeParse(value)
      const now = clock.now()
      const waits = [...gates.values()]
        .flatMap((each) => each.waiting(mostListed))
        .map(({ thread, model, place, until }) => ({ thread, model, place, inMs: Math.max(0, until - now) }))
      if (asked && waits.length > 0) signals.publish(asked.to, waits)
    }),
  ]
  return {
    gate,
    close: () => stops.forEach((stop) => stop()),
  }
}

/** Threads of all hosts that wait before a model's gate, the first 1,000 of each model and host. */
export async function askWaits({
  signals,
  clock,
  random,
}: Omit<AdmissionMeans, 'app'>): Promise<readonly ThreadWait[]> {
  const to = `${waitsTopic}/${random.id()}`
  const waits: ThreadWait[] = []
  const stop = signals.subscribe(to, (value: Json) => {
    const now = clock.now()
    for (const { inMs, ...wait } of z.array(waitSchema).safeParse(value).data ?? [])
      waits.push({ ...wait, until: now + inMs })
  })
  signals.publish(waitsTopic, { to })
  await new Promise<void>((resolve) => {
    clock.wakeAt(clock.now() + answeredWithinMs, resolve)
  })
  stop()
  return waits
}
