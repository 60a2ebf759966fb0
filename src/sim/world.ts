/**
 * The world outside Skein in a simulation: time to wait for, and services that do things and keep a ledger of what
 * they did. A service may refuse a request, or do what was asked and lose the answer.
 */
import type { ManualClock } from '../core/manual-clock.js'
import { SkeinError } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { Life } from './life.js'
import type { SeededRandom } from './seeded-random.js'

export interface ServiceOptions {
  /** How long a request takes: from, to. Default 1 to 50. */
  readonly latencyMs?: readonly [number, number]
  /** How often it does the thing and loses the answer. */
  readonly loses?: number
  /** How often it refuses before it does anything. */
  readonly refuses?: number
  /** What it answers. Default: `{ ok: true, number }`, the how-manieth thing it did. */
  readonly answer?: (request: Json, number: number) => Json
}

export interface LedgerEntry {
  readonly request: Json
  /** The idempotency key that came with it. */
  readonly key: string | undefined
  readonly at: number
  /** The process that asked for it. */
  readonly by: string
}

export interface Ledger {
  /** All that was done, in order. With a key that was seen before nothing is done. */
  readonly entries: readonly LedgerEntry[]
  /** Different requests among them. */
  readonly distinct: number
}

export type Service = (request: Json, options?: { readonly key?: string }) => Promise<Json>

export interface WorldBase {
  /** Waits, by the clock of the simulation. */
  sleep(ms: number): Promise<void>
  now(): number
  ledger(service: string): Ledger
}

export type World<Names extends string = string> = WorldBase & { readonly [Name in Names]: Service }

export interface WorldOptions<Names extends string> {
  readonly clock: ManualClock
  readonly random: SeededRandom
  readonly services: Readonly<Record<Names, ServiceOptions>>
  /** Nothing goes wrong any more. */
  readonly calm: () => boolean
  /** Told of each request that was refused, and of each answer that was lost. */
  readonly onFault?: () => void
}

export function createWorld<Names extends string>(options: WorldOptions<Names>): World<Names> {
  const { clock } = options
  const ledgers = new Map<string, LedgerEntry[]>()
  const base: WorldBase = {
    sleep: (ms) => sleepBy(clock, ms),
    now: () => clock.now(),
    ledger(service) {
      const entries = ledgers.get(service)
      if (!entries) throw new SkeinError('BAD_OPTION', `the simulation has no service ${JSON.stringify(service)}`)
      return { entries, distinct: new Set(entries.map(({ request }) => JSON.stringify(request))).size }
    },
  }
  const names = Object.keys(options.services) as Names[]
  for (const name of names) ledgers.set(name, [])
  const services = Object.fromEntries(
    names.map((name) => [name, createService(name, options, ledgers.get(name) ?? [])]),
  )
  return { ...base, ...(services as Record<Names, Service>) }
}

/** For whoever waits: a dead process waits for ever. */
export function sleepBy(clock: ManualClock, ms: number): Promise<void> {
  const life = Life.current()
  return new Promise((resolve) => {
    clock.wakeAt(clock.now() + ms, () => (life ? life.run(resolve) : resolve()))
  })
}

function createService<Names extends string>(
  name: Names,
  { clock, random, services, calm, onFault }: WorldOptions<Names>,
  entries: LedgerEntry[],
): Service {
  const { latencyMs = [1, 50], loses = 0, refuses = 0, answer = answerNumber } = services[name]
  const draws = random.stream(`service/${name}`)
  const answers = new Map<string, Json>()
  const act = (request: Json, key: string | undefined, by: string): Json => {
    const before = key === undefined ? undefined : answers.get(key)
    if (before !== undefined) return before
    entries.push({ request, key, at: clock.now(), by })
    const answered = answer(request, entries.length)
    if (key !== undefined) answers.set(key, answered)
    return answered
  }
  return (request, { key } = {}) => {
    const life = Life.current()
    const [there, back] = [draws.between(...latencyMs), draws.between(...latencyMs)]
    const [refused, lost] = [draws.chance(refuses), draws.chance(loses)]
    // The request is on its way: it is carried out even if whoever sent it dies meanwhile.
    return new Promise((resolve, reject) => {
      const reply = (tell: () => void): void =>
        void clock.wakeAt(clock.now() + back, () => (life ? life.run(tell) : tell()))
      clock.wakeAt(clock.now() + there, () => {
        const fail = (why: string): void => {
          onFault?.()
          reply(() => reject(new Error(why)))
        }
        if (refused && !calm()) return fail(`${name} refused the request; nothing was done`)
        const answered = act(request, key, life?.name ?? 'scenario')
        if (lost && !calm()) return fail(`the connection to ${name} broke; was it done?`)
        reply(() => resolve(answered))
      })
    })
  }
}

function answerNumber(_request: Json, number: number): Json {
  return { ok: true, number }
}
