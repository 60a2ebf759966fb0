/**
 * Reconcile: starts the outstanding effects that are not in flight, aborts those in flight that are no longer
 * outstanding. The same call after a message, a result, a cancel and a crash.
 *
 * RC1 An effect of a key runs at most once at a time; its outcome counts only while it is the one in flight.
 * RC2 At most `maxParallelTools` calls run at once; one that waits for its turn is not counted. Effects start in the
 *     order given, so one that must wait before it starts holds back those behind it.
 * RC3 An effect that must wait until its cause is durable is held back, and asked again when that is so.
 * RC4 What starts in one turn of the event loop is bounded (LS1); what is behind it starts in a later one.
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend } from '../../backend/port.js'
import { abandonReason } from '../../core/effect.js'
import type { CallEffect, Effect } from '../../core/effect.js'
import type { Beginner, LoopShare } from '../../core/async/loop-share.js'
import type { DeltaEvent } from '../../core/records/event.js'
import type { EffectOwner, RunningEffect } from '../services.js'
import { tellDelta } from '../watch/topics.js'
import { CallOrder } from './call-order.js'

/** How effects are started. */
export interface EffectRunner {
  readonly loop: LoopShare
  /** Whether the effect may start now (RC3, pause); `running`: effects that run already. */
  ready(effect: Effect, running: number): boolean
  start(effect: Effect, owner: EffectOwner): RunningEffect
}

/** The thread whose effects they are. */
export interface EffectThread {
  readonly state: ThreadState
  hydrated(): Promise<void>
  /** A call waits for its turn: it does nothing until the calls before it are settled. */
  callWaits(key: string): void
  land(landing: Landing, key: string): void
  failed(thrown: unknown): void
}

interface ReconcilerOptions {
  readonly backend: Pick<Backend, 'signals'>
  readonly runner: EffectRunner
  readonly maxParallelTools: number
}

/** One effect in flight, and the way back into its thread. A class: thousands are made a second. */
class EffectInFlight implements EffectOwner {
  readonly effect: Effect
  readonly state: ThreadState
  readonly #reconciler: Reconciler
  running: RunningEffect | undefined = undefined
  /** The call does nothing but wait for its turn. */
  waiting = false

  constructor(effect: Effect, reconciler: Reconciler) {
    this.effect = effect
    this.state = reconciler.thread.state
    this.#reconciler = reconciler
  }

  hydrated(): Promise<void> {
    return this.#reconciler.thread.hydrated()
  }

  speak(make: () => DeltaEvent): void {
    this.#reconciler.speak(make)
  }

  whenItsTurn(index: number): Promise<void> {
    return this.#reconciler.whenItsTurn(this, index)
  }

  land(landing: Landing): void {
    if (this.#reconciler.remove(this)) this.#reconciler.thread.land(landing, this.effect.key)
  }

  storeFailed(thrown: unknown): void {
    this.#reconciler.thread.failed(thrown)
  }
}

/** Not written to: threads without any share them. */
const noneInFlight: EffectInFlight[] = []
const nothingToStart: readonly Effect[] = []

export class Reconciler implements Beginner {
  readonly thread: EffectThread
  readonly #backend: Pick<Backend, 'signals'>
  readonly #runner: EffectRunner
  readonly #maxParallelTools: number
  readonly #order: CallOrder
  /** An array and no Map: most threads have one or two, and a host has thousands of threads. */
  #inFlight = noneInFlight
  /** Model and tool calls in flight, and hooks; the tool calls of these. */
  #running = 0
  #calls = 0
  /** Calls in flight that wait for their turn. */
  #waiting = 0
  /** Calls whose turn has come, and that wait until fewer than `maxParallelTools` run. */
  #continuing: { readonly inFlight: EffectInFlight; readonly resolve: () => void }[] | undefined
  /** Effects that are to start, from `#next` on. */
  #backlog = nothingToStart
  #next = 0
  loopTurn = 0
  begun = 0
  /** Goes on in a later turn of the event loop. */
  #pausing = false
  /** The thread has left this host: nobody is told anything by it any more. */
  #left = false

  constructor(thread: EffectThread, { backend, runner, maxParallelTools }: ReconcilerOptions) {
    this.thread = thread
    this.#backend = backend
    this.#runner = runner
    this.#maxParallelTools = maxParallelTools
    this.#order = new CallOrder(thread.state)
  }

  /** Model and tool calls in flight, and hooks. Deadlines and schedules keep nobody awake. */
  get running(): number {
    return this.#running
  }

  get calls(): readonly CallEffect[] {
    return this.#inFlight.map(({ effect }) => effect).filter((effect) => effect.kind === 'call')
  }

  /** `outstanding`: all effects that the state waits for. */
  reconcile(outstanding: readonly Effect[]): void {
    if (this.#inFlight.length === 0) this.#backlog = outstanding
    else {
      const keys = new Set(outstanding.map(({ key }) => key))
      for (const each of [...this.#inFlight]) if (!keys.has(each.effect.key)) this.#abort(each, abandonReason)
      for (const { effect } of this.#inFlight) keys.delete(effect.key)
      this.#backlog = outstanding.filter(({ key }) => keys.has(key))
    }
    this.#next = 0
    this.startReady()
  }

  /** Starts effects that were held back and have become ready. */
  startReady(): void {
    while (this.#continuing && this.#continuing.length > 0 && !this.#full) {
      const next = this.#continuing.shift()
      if (!next?.inFlight.waiting) continue
      next.inFlight.waiting = false
      this.#waiting--
      next.resolve()
    }
    while (this.#next < this.#backlog.length) {
      const effect = this.#backlog[this.#next]
      if (!effect || (effect.kind === 'call' && this.#full) || !this.#runner.ready(effect, this.running)) return
      if (this.#pausing || !this.#runner.loop.take(this)) return this.#pause()
      // Before it starts: an effect may wait for its turn at once, and so make room for the next.
      this.#next++
      this.#start(effect)
    }
    this.#backlog = nothingToStart
    this.#next = 0
  }

  #pause(): void {
    if (this.#pausing) return
    this.#pausing = true
    this.#runner.loop.wait(() => {
      this.#pausing = false
      this.startReady()
    })
  }

  get #full(): boolean {
    return this.#calls - this.#waiting >= this.#maxParallelTools
  }

  #start(effect: Effect): void {
    const inFlight = new EffectInFlight(effect, this)
    if (this.#inFlight.length === 0) this.#inFlight = [inFlight]
    else this.#inFlight.push(inFlight)
    this.#count(effect, 1)
    inFlight.running = this.#runner.start(effect, inFlight)
  }

  /**
   * Takes an effect out of flight. False when it was not in flight: its outcome does not count (RC1: only one runs).
   */
  remove(inFlight: EffectInFlight): boolean {
    const index = this.#inFlight.indexOf(inFlight)
    if (index < 0) return false
    if (inFlight.waiting) this.#waiting--
    inFlight.waiting = false
    if (this.#inFlight.length === 1) this.#inFlight = noneInFlight
    else this.#inFlight.splice(index, 1)
    this.#count(inFlight.effect, -1)
    return true
  }

  #count({ kind }: Effect, by: 1 | -1): void {
    if (kind === 'call') this.#calls += by
    if (kind === 'call' || kind === 'model' || kind === 'context' || kind === 'hook') this.#running += by
  }

  /** Resolves when the calls before this one are settled. A call that is aborted while it waits is never resumed. */
  whenItsTurn(inFlight: EffectInFlight, index: number): Promise<void> {
    if (this.#order.hasCome(index)) return Promise.resolve()
    return new Promise((resolve) => {
      this.#order.wait(index, () => (this.#continuing ??= []).push({ inFlight, resolve }))
      this.#wait(inFlight)
      this.thread.callWaits(inFlight.effect.key)
    })
  }

  #wait(inFlight: EffectInFlight): void {
    if (inFlight.waiting || !this.#inFlight.includes(inFlight)) return
    inFlight.waiting = true
    this.#waiting++
    this.startReady()
  }

  /** To be called after every record: finds the calls whose turn has come. They continue with `startReady`. */
  advance(): void {
    this.#order.advance()
  }

  /** Indexes of the calls of this step that wait for their turn. */
  get waitingCalls(): readonly number[] {
    return this.#order.waiting
  }

  /** Tells watchers of the tree what an effect says. */
  speak(make: () => DeltaEvent): void {
    if (this.#left) return
    const { state } = this.thread
    tellDelta(this.#backend, state, () => ({ kind: 'spoken', after: state.seq, event: make() }))
  }

  /** Tells again what the effects in flight have said so far, for watchers that come late. */
  speakAgain(): void {
    for (const { running } of [...this.#inFlight]) for (const event of running?.soFar?.() ?? []) this.speak(() => event)
  }

  /** Aborts everything (of one kind) and forgets what was held back. */
  abortAll(reason: string, kind?: Effect['kind']): void {
    this.#backlog = nothingToStart
    this.#next = 0
    for (const each of [...this.#inFlight]) if (!kind || each.effect.kind === kind) this.#abort(each, reason)
  }

  abortWaiting(reason: string): void {
    for (const each of [...this.#inFlight]) if (each.waiting) this.#abort(each, reason)
  }

  /** The thread leaves this host: effects that can continue without it do, the others are aborted. */
  leaveAll(reason: string): void {
    this.#left = true
    for (const inFlight of [...this.#inFlight])
      if (!inFlight.waiting && inFlight.running?.leave?.()) this.remove(inFlight)
    this.abortAll(reason)
  }

  #abort(inFlight: EffectInFlight, reason: string): void {
    if (this.remove(inFlight)) inFlight.running?.abort(reason)
  }
}
