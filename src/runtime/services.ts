/**
 * What a host, its threads and their effects are made with (types only): the settings of the host, the services that
 * effects use, and the two sides of a running effect. Belongs to no room, so that all of them may name it.
 */
import type { Landing } from '../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import type { Blobs, Journal } from '../backend/port.js'
import type { Amounts } from '../core/budget.js'
import type { LoopShare } from '../core/async/loop-share.js'
import type { Clock } from '../core/clock.js'
import type { DeltaEvent } from '../core/records/event.js'
import type { SideName } from '../core/records/message.js'
import type { ThreadRecord } from '../core/records/record.js'
import type { FileQuota } from '../core/tree/tree-usage.js'
import type { Model, ModelRequest } from '../models/port.js'
import type { Pool } from '../pool/port.js'
import type { OrphanedCalls } from './effects/orphaned-calls.js'
import type { HostEvent } from './host/host.js'
import type { Quotas } from './host/quotas.js'
import type { Resuming } from './host/unfinished.js'
import type { Hooks } from './hooks/ask-hooks.js'
import type { ChildLimits } from './resolve/child-calls.js'
import type { AgentSetup } from './resolve/agent-setup.js'
import type { RuleSettings, RulesOfAgent } from './resolve/turn-rules.js'
import type { Environments } from './secrets/environment.js'

export type Warn = (what: string, thrown: unknown) => void

/** Options of a host with their defaults filled in: made once, frozen, and passed on by reference. */
export interface HostSettings {
  /** Calls of one step that run at once. */
  readonly maxParallelTools: number
  /** How many hosts may die while a call is under way before it is given up. */
  readonly maxHostDeaths: number
  readonly maxWallClockMs?: number
  /** What a turn may spend. */
  readonly turnLimits?: Amounts
  /** What holds for the turns of all agents. */
  readonly rules: RuleSettings
  /** Resting threads that are kept in memory. */
  readonly maxResident: number
  /** Records after which a snapshot is written. */
  readonly snapshotEvery: number
  readonly resuming: Resuming
  /** How long running calls may go on after `close` was asked for. */
  readonly closeGraceMs: number
  readonly warn: Warn
  readonly onHostEvent: (event: HostEvent) => void
}

/** Who observes the threads of a host: spans, metrics, logs. */
export interface Observing {
  /** Turns are traced: one whose sender gave no trace begins one. */
  readonly traced: true | undefined
  /** A thread that wakes on this host. */
  of(state: ThreadState): ObservedThread
  /** Runs `call` as part of the trace, below the span of the effect: spans of others are then below it too. */
  within<Value>(state: ThreadState, key: string, call: () => Promise<Value>): Promise<Value>
  /** The trace below the span of the effect; undefined where the turn is not traced. */
  traceOf(state: ThreadState, key: string): string | undefined
  committed(ms: number, records: number): void
}

/** One thread as long as it is on this host. What a record ends is told when the record is durable. */
export interface ObservedThread {
  /** Folds the record. */
  fold(record: ThreadRecord, fold: () => void): void
  committed(durable: number): void
}

/** What effects need of the skein they run in. */
export interface Services {
  readonly app: App
  readonly pool: Pool
  readonly clock: Clock
  /** Of all threads of the host together. */
  readonly loop: LoopShare
  readonly blobs: Blobs
  /** What a model may be shown: the bytes of a hash. One function for all requests. */
  readonly readMedia: NonNullable<ModelRequest['read']>
  readonly journal: Pick<Journal, 'read'>
  readonly envs: Environments
  /** What the files of one thread may hold. */
  readonly quota: FileQuota
  readonly childLimits: ChildLimits
  readonly orphans: OrphanedCalls
  /** How long another host may still be at work on what it held (0: no other host can be). */
  readonly leaseMs: number
  readonly quotas?: Quotas
  /** Undefined where the app has none. */
  readonly hooks: Hooks | undefined
  /** Undefined where nobody observes: then nothing is measured, and nothing loaded. */
  readonly observing: Observing | undefined
  /** Throws where the agent is not defined. `disabled`: agents that may not be called now. */
  setupOf(agent: string, side?: SideName, disabled?: readonly string[]): AgentSetup
  readonly turnRules: RulesOfAgent
  /** A promise only the first time. */
  model(setup: AgentSetup): Model | Promise<Model>
}

/** An effect that was started, as its thread sees it. */
export interface RunningEffect {
  /** Ends the effect; its outcome is dropped. */
  abort(reason: string): void
  /** Its thread leaves this host: true when the effect continues without it, false when it is to be aborted. */
  leave?(): boolean
  /** What it has told so far, for a watcher that comes in the middle. */
  soFar?(): readonly DeltaEvent[]
}

/** The thread of an effect, as the effect sees it. */
export interface EffectOwner {
  readonly state: ThreadState
  /** Resolves when the whole transcript is in memory. */
  hydrated(): Promise<void>
  /** Tells watchers; `make` is called only if there are any. */
  speak(make: () => DeltaEvent): void
  /** Resolves when the calls before this one of the step are settled. */
  whenItsTurn(index: number): Promise<void>
  /** The outcome. It is dropped if the effect was aborted meanwhile (RC1: it counts while it is in flight). */
  land(landing: Landing): void
  /** What the effect needs to store or read could not be: its thread starts over from its journal. */
  storeFailed(thrown: unknown): void
}
