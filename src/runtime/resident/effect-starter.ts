/**
 * Starts the effects of a resident, each when it may: decides from the state, the journal and the ledger whether an
 * effect may start now, and knows what does the work of each kind.
 */
import { mayStart, outstanding } from '../../../actors/thread/outstanding.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { CallEffect, Effect } from '../../core/effect.js'
import { runsOnHost } from '../../pool/pool.js'
import type { LoopShare } from '../../core/async/loop-share.js'
import { mutants } from '../../core/mutants.js'
import { HookCall } from '../effects/hook-call.js'
import { ContextReduction } from '../effects/reduce-context.js'
import { ModelCall } from '../effects/model-call.js'
import { readPast } from '../effects/read-past.js'
import type { TreeRemoval } from '../effects/remove-tree.js'
import { awaitDeadline, awaitSchedule } from '../effects/timers.js'
import { RunningCall } from '../effects/tool-call.js'
import type { EffectOwner, RunningEffect, Services, HostSettings } from '../services.js'
import type { CallLedger } from './call-ledger.js'
import type { Outbox } from './outbox.js'
import type { EffectRunner } from './reconcile.js'
import { Recovery } from './recovery.js'
import type { LastTries, RecoveryServices } from './recovery.js'

export interface EffectStarterOptions {
  readonly services: Services
  readonly settings: HostSettings
  readonly lastTries: LastTries
  readonly removeTree: (removal: TreeRemoval) => RunningEffect
  /** Copies the other threads of a forked tree. */
  readonly copyTree: (owner: EffectOwner) => RunningEffect
}

/** The thread whose effects are started. */
export interface StarterThread {
  readonly state: ThreadState
  /** Whether effects are started at all. */
  readonly open: boolean
  readonly ledger: CallLedger
  readonly outbox: Outbox
  /** The last record in the journal; undefined while the thread has something to do. */
  idleAt(): number | undefined
  failed(thrown: unknown): void
}

export class EffectStarter implements EffectRunner {
  readonly #options: EffectStarterOptions
  readonly #thread: StarterThread
  #recovery: Recovery | undefined

  constructor(options: EffectStarterOptions, thread: StarterThread) {
    this.#options = options
    this.#thread = thread
  }

  get loop(): LoopShare {
    return this.#options.services.loop
  }

  /** Another host had the thread before: calls that it had under way are counted before they start again. */
  recover(decisions: Pick<RecoveryServices, 'record' | 'land'>): void {
    const { lastTries, settings, services } = this.#options
    const { state, outbox } = this.#thread
    const runsHere = (tool: string): boolean => runsOnHost(services.app, tool)
    this.#recovery = new Recovery({ ...decisions, state, outbox, lastTries, settings, runsHere })
    this.#recovery.begin(outstanding(state))
  }

  /** The call has an outcome, or waits for its turn. */
  callEnded(key: string): void {
    this.#recovery?.callEnded(key)
  }

  /** No call is left to be tried: the turn or the residence has ended. */
  endRecovery(): void {
    this.#recovery?.end()
  }

  ready(effect: Effect, running: number): boolean {
    switch (effect.kind) {
      case 'deadline':
      case 'schedule':
        return true
      case 'rewind':
        return this.#mayStart && this.#thread.outbox.allDurable
      case 'copy':
      case 'removal':
        return this.#thread.open && this.#thread.outbox.allDurable
      case 'model':
      case 'hook':
      case 'context':
        return this.#mayStart && this.#modelReady()
      case 'call':
        return this.#mayStart && this.#callReady(effect, running)
    }
  }

  get #mayStart(): boolean {
    return this.#thread.open && mayStart(this.#thread.state)
  }

  /** TH2: a model, and a hook, reads no outcome that could still be lost. */
  #modelReady(): boolean {
    const { state, outbox, ledger } = this.#thread
    if (outbox.allDurable || mutants.asksEarly) return true
    // What hooks decided before the step is asked for again together with the model.
    if (ledger.onlyHooksSince(outbox.durable)) return true
    const firstStep = (state.turn?.steps ?? 0) === 0
    return firstStep && ledger.outcomesDurable(outbox.durable)
  }

  /**
   * TH2: no body runs in a thread that others cannot see yet, and none with a side effect before its intent is durable.
   */
  #callReady(effect: CallEffect, running: number): boolean {
    const { state, outbox } = this.#thread
    if (outbox.durable === 0) return false
    if (this.#recovery?.ready(effect, running) === false) return false
    return outbox.allDurable || !state.slots.items[effect.index]?.call.sideEffect
  }

  start(effect: Effect, owner: EffectOwner): RunningEffect {
    const { services, removeTree } = this.#options
    switch (effect.kind) {
      case 'model':
        return new ModelCall(services, owner, effect)
      case 'hook':
        return new HookCall(services, owner, effect)
      case 'context':
        return new ContextReduction(services, owner, effect)
      case 'call': {
        // The body of an intent that is not ours may have run already.
        const recovered = !this.#thread.ledger.takeIntent(effect.key)
        return new RunningCall(services, owner, { recovered, ...effect })
      }
      case 'deadline':
        return awaitDeadline(services, owner, effect)
      case 'schedule':
        return awaitSchedule(services, owner, effect)
      case 'rewind':
        return readPast(services, owner, effect)
      case 'copy':
        return this.#options.copyTree(owner)
      case 'removal':
        return removeTree({
          root: this.#thread.state.id,
          durable: () => this.#thread.idleAt(),
          failed: (thrown) => this.#thread.failed(thrown),
        })
    }
  }
}
