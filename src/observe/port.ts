/**
 * The observer port: what a host tells of its threads to whoever traces, counts or logs. Observations are made of
 * records, after these are durable, by the host that has committed them: none is told twice.
 *
 * - Text in an observation comes of records, so secrets are masked in it already.
 * - An observer must not throw and must not wait; one that throws is told of, and the thread goes on.
 */
import type { Failure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { CallSettled, FinishReason, StopReason } from '../core/records/record.js'
import type { Took } from '../core/records/took.js'
import type { Usage } from '../core/usage.js'

/** A stretch of time in the life of a thread, which is over. */
export interface Observation {
  /** `wait`: for a person, or for variables. */
  readonly kind: 'turn' | 'model' | 'call' | 'wait' | 'context' | 'hook'
  /** Unique in its thread for good: the span id is made of both. */
  readonly key: string
  /** The agent, model (empty: it never answered) or tool; of a wait, what for; of hooks, where. */
  readonly name: string
  readonly thread: string
  readonly root: string
  readonly agent: string
  readonly run: string
  readonly step?: number
  /** Of a call, or what is part of one: which call of the step. */
  readonly index?: number
  /** The trace of the turn, as a W3C `traceparent`: its span is the one above the turn, or zeros. */
  readonly trace?: string
  readonly startedAt: number
  readonly endedAt: number
  readonly failure?: Failure
  /** Of a turn. */
  readonly reason?: StopReason
  readonly usage?: Usage
  readonly finish?: FinishReason
  readonly verdict?: CallSettled['verdict']
  readonly took?: Took
  /** What was said: text of a reply or turn, args and result of a call. Large. */
  readonly content?: { readonly text?: string; readonly args?: Json; readonly result?: Json }
}

/** How a host stands at this moment. */
export interface HostGauges {
  readonly threadsAwake: number
  readonly threadsBusy: number
  readonly workers?: number
  /** By model: calls in line for a rate limit. */
  readonly modelWaits?: Readonly<Record<string, number>>
}

/** What an observer may know of its host, and whom it tells what is wrong. */
export interface ObservedHost {
  readonly name: string
  readonly app?: string
  readonly appVersion?: string
  /** Skein's own version. */
  readonly skein: string
  warn(what: string, thrown: unknown): void
}

export interface Observer {
  /** Called once, before anything is observed. */
  begin?(host: ObservedHost): void
  /** Turns get a trace, which travels with messages to children. */
  readonly traces?: true
  observed?(observation: Observation): void
  /** A commit took so long; it held so many records. */
  committed?(ms: number, records: number): void
  /** What an operator should know. True: it was shown, and needs no process warning. */
  warned?(what: string, thrown: unknown): boolean
  /** The host got or lost partitions, lost its server or has it again. */
  happened?(event: { readonly type: string }): void
  /** Prometheus text. */
  metrics?(gauges: HostGauges): string
  /** The host closes: sends what is left. */
  close?(): Promise<void>
}
