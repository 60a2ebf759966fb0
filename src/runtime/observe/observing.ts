/**
 * Observing: makes observations of what threads of this host record, and tells them to the observers when the records
 * are durable. Loaded only where there is an observer.
 *
 * - Nothing is told of a record that was not committed, nor of one that another host has committed (TH1).
 * - An observer that throws costs nobody anything: it is told of once, and asked again.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import { runWithin } from '../../core/trace/active-trace.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { traceBelow } from '../../core/trace/trace.js'
import type { HostGauges, Observation, ObservedHost, Observer } from '../../observe/port.js'
import type { ObservedThread, Observing, Warn } from '../services.js'
import { observationsOf, stateBefore } from './observations.js'

export class Observers implements Observing {
  readonly traced: true | undefined
  readonly #observers: readonly Observer[]
  readonly #warn: Warn
  readonly #broken = new Set<Observer>()

  constructor(observers: readonly Observer[], host: ObservedHost) {
    this.#observers = observers
    this.#warn = (what, thrown) => host.warn(what, thrown)
    for (const observer of observers) observer.begin?.(host)
    this.traced = observers.some(({ traces }) => traces) ? true : undefined
  }

  of(state: ThreadState): ObservedThread {
    return new Watched(state, this)
  }

  within<Value>(state: ThreadState, key: string, call: () => Promise<Value>): Promise<Value> {
    const trace = this.traceOf(state, key)
    return trace === undefined ? call() : runWithin(trace, call)
  }

  traceOf({ id, turn }: ThreadState, key: string): string | undefined {
    return this.traced && turn?.trace !== undefined ? traceBelow(turn.trace, id, key) : undefined
  }

  observed(observation: Observation): void {
    this.#tell((observer) => observer.observed?.(observation))
  }

  committed(ms: number, records: number): void {
    this.#tell((observer) => observer.committed?.(ms, records))
  }

  /** Prometheus text; undefined where no observer counts. */
  metrics(gauges: HostGauges): string | undefined {
    const texts = this.#observers.flatMap((observer) => observer.metrics?.(gauges) ?? [])
    return texts.length > 0 ? texts.join('') : undefined
  }

  async close(): Promise<void> {
    const closed = await Promise.allSettled(this.#observers.map((observer) => observer.close?.()))
    for (const each of closed) if (each.status === 'rejected') this.#warn('an observer did not close', each.reason)
  }

  #tell(tell: (observer: Observer) => void): void {
    for (const observer of this.#observers) {
      try {
        tell(observer)
      } catch (thrown) {
        if (!this.#broken.has(observer)) this.#warn('an observer threw; what it was told of is lost to it', thrown)
        this.#broken.add(observer)
      }
    }
  }
}

interface Untold {
  readonly seq: number
  readonly observation: Observation
}

class Watched implements ObservedThread {
  readonly #state: ThreadState
  readonly #observers: Observers
  #untold: Untold[] = []

  constructor(state: ThreadState, observers: Observers) {
    this.#state = state
    this.#observers = observers
  }

  fold(record: ThreadRecord, fold: () => void): void {
    const before = stateBefore(this.#state, record)
    fold()
    const { seq } = record
    for (const observation of observationsOf(before, this.#state, record)) this.#untold.push({ seq, observation })
  }

  committed(durable: number): void {
    if (this.#untold.length === 0) return
    const told = this.#untold.filter(({ seq }) => seq <= durable)
    this.#untold = this.#untold.filter(({ seq }) => seq > durable)
    for (const { observation } of told) this.#observers.observed(observation)
  }
}
