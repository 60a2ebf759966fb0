/**
 * Who listens to which signals: every process tells which topics it has begun and ceased to listen to, so that a host
 * need not make and send what nobody hears. Owns what the others have told.
 *
 * NG3 A topic counts as heard where that is not known: in a process that has just come or is back, until the others
 *     have had time to answer. A listener tells of itself before it sends anything else, so whoever acts on what it
 *     sends knows of it.
 * - All of it is told again from time to time, and a topic of which nobody tells any more is forgotten: a message that
 *   was lost costs one such interval, and listeners look for themselves meanwhile (NG2).
 */
import { nuid } from '@nats-io/transport-node'
import { z } from 'zod'
import { steadyClock } from '../../../core/clock.js'
import type { ServerConnection } from '../connection/connection.js'
import { every } from '../connection/timers.js'
import type { Subjects } from '../subjects.js'

/** Within this all others have answered, on a busy machine too. */
const answeredMs = 3_000
const repeatMs = 5_000
const forgottenMs = 3 * repeatMs
/** Topics in one message. */
const mostTopics = 1_000

const toldSchema = z.object({
  from: z.string(),
  on: z.array(z.string()).default([]),
  off: z.array(z.string()).default([]),
})

export interface Interest {
  /** Whether another process may listen. */
  heard(topic: string): boolean
  began(topic: string): void
  ended(topic: string): void
  stop(): void
}

/** For a host. */
export function createInterest(connection: ServerConnection, subjects: Subjects): Interest {
  const own = new OwnInterest(connection, subjects)
  const others = new OthersInterest()
  /** 0 when it is certain: this is asked with every commit. */
  let certainAt = 0
  const ask = (): void => {
    certainAt = steadyClock.now() + answeredMs
    connection.nc.publish(subjects.interestAsked)
  }
  const subscription = connection.subscribe(subjects.interestTold, ({ data }) => others.take(data))
  const stopAsking = connection.onReconnect(ask)
  const stopSweeping = every(repeatMs, () => others.sweep())
  ask()
  const isUncertain = (): boolean => {
    if (certainAt > 0 && steadyClock.now() >= certainAt) certainAt = 0
    return certainAt > 0
  }
  return {
    heard: (topic) => others.heard(topic) || isUncertain(),
    began: (topic) => own.began(topic),
    ended: (topic) => own.ended(topic),
    stop() {
      stopAsking()
      stopSweeping()
      subscription.unsubscribe()
      own.stop()
    },
  }
}

/** For a client, which says little and never asks. */
export function createClientInterest(connection: ServerConnection, subjects: Subjects): Interest {
  const own = new OwnInterest(connection, subjects)
  return {
    heard: () => true,
    began: (topic) => own.began(topic),
    ended: (topic) => own.ended(topic),
    stop: () => own.stop(),
  }
}

/** The topics that this process listens to. */
class OwnInterest {
  readonly #connection: ServerConnection
  readonly #subjects: Subjects
  readonly #id = nuid.next()
  readonly #topics = new Set<string>()
  readonly #stops: (() => void)[]
  #stopped = false

  constructor(connection: ServerConnection, subjects: Subjects) {
    this.#connection = connection
    this.#subjects = subjects
    const subscription = connection.subscribe(subjects.interestAsked, () => this.#tellAll())
    this.#stops = [
      () => subscription.unsubscribe(),
      connection.onReconnect(() => this.#tellAll()),
      every(repeatMs, () => this.#tellAll()),
    ]
  }

  began(topic: string): void {
    this.#topics.add(topic)
    this.#tell({ on: [topic] })
  }

  ended(topic: string): void {
    this.#topics.delete(topic)
    this.#tell({ off: [topic] })
  }

  stop(): void {
    this.#stopped = true
    for (const stop of this.#stops) stop()
  }

  #tellAll(): void {
    const all = [...this.#topics]
    for (let at = 0; at < all.length; at += mostTopics) this.#tell({ on: all.slice(at, at + mostTopics) })
  }

  #tell(told: { readonly on: readonly string[] } | { readonly off: readonly string[] }): void {
    if (this.#stopped) return
    this.#connection.nc.publish(this.#subjects.interestTold, JSON.stringify({ from: this.#id, ...told }))
  }
}

/** The topics that other processes listen to, and when each of them last said so. */
class OthersInterest {
  readonly #topics = new Map<string, Map<string, number>>()

  heard(topic: string): boolean {
    return this.#topics.has(topic)
  }

  take(data: Uint8Array): void {
    const told = parseTold(data)
    if (!told) return
    const now = steadyClock.now()
    for (const topic of told.on) {
      const listeners = this.#topics.get(topic) ?? new Map<string, number>()
      this.#topics.set(topic, listeners.set(told.from, now))
    }
    for (const topic of told.off) this.#remove(topic, told.from)
  }

  sweep(): void {
    const oldest = steadyClock.now() - forgottenMs
    for (const [topic, listeners] of this.#topics)
      for (const [from, at] of listeners) if (at < oldest) this.#remove(topic, from)
  }

  #remove(topic: string, from: string): void {
    const listeners = this.#topics.get(topic)
    listeners?.delete(from)
    if (listeners?.size === 0) this.#topics.delete(topic)
  }
}

/** Undefined for what was not sent by us. */
function parseTold(data: Uint8Array): z.infer<typeof toldSchema> | undefined {
  try {
    return toldSchema.parse(JSON.parse(Buffer.from(data).toString()))
  } catch {
    return undefined
  }
}
