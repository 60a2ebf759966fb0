/**
 * Reconcile: starts what is wanted and does not run, aborts what runs and is no longer wanted. The same call
 * after a message, a result, a cancel and a crash.
 *
 * RC1 An effect of a key runs at most once at a time; its outcome counts only while it is the one in flight.
 * RC2 At most `maxParallelTools` calls run at once; one that waits for its turn is not counted. Effects start in the
 *     order given, so one that must wait before it starts holds back those behind it.
 * RC3 An effect that must wait until its cause is durable is held back, and asked again when that is so.
 */
import type { CallEffect, Effect } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'

export interface RunningEffect {
  /** Ends the effect; what it gives after that is dropped. */
  abort(reason: string): void
  /** Its thread leaves this host: true when it goes on without it, false when it is to be aborted. */
  leave?(): boolean
  /** What it has told so far, for a watcher that comes in the middle. */
  soFar?(): readonly DeltaEvent[]
}

/** What an effect in flight is known by. */
export interface EffectTicket {
  readonly effect: Effect
  /** Takes it out of flight, and says whether its outcome still counts (RC1). */
  done(): boolean
}

export interface EffectRunner {
  start(ticket: EffectTicket): RunningEffect
  /** Whether the effect may begin now (RC3, pause). */
  ready(effect: Effect): boolean
}

/** A class: thousands are made a second. */
class Flight implements EffectTicket {
  readonly effect: Effect
  readonly #land: (flight: Flight) => boolean
  started: RunningEffect | undefined = undefined
  /** The call does nothing but wait for its turn. */
  waiting = false

  constructor(effect: Effect, land: (flight: Flight) => boolean) {
    this.effect = effect
    this.#land = land
  }

  done(): boolean {
    return this.#land(this)
  }
}

export class Reconciler {
  readonly #starter: EffectRunner
  readonly #maxParallelTools: number
  readonly #inFlight = new Map<string, Flight>()
  readonly #counts = { model: 0, call: 0, deadline: 0, schedule: 0, removal: 0 }
  #waiting = 0
  /** Calls whose turn has come, and that wait for a place. */
  readonly #goingOn: { readonly key: string; readonly resolve: () => void }[] = []
  #backlog: readonly Effect[] = []
  #next = 0

  constructor(starter: EffectRunner, maxParallelTools: number) {
    this.#starter = starter
    this.#maxParallelTools = maxParallelTools
  }

  /** Effects in flight, deadlines not counted: those hold nothing. */
  get running(): number {
    return this.#counts.model + this.#counts.call
  }

  /** Calls in flight. */
  get calls(): readonly CallEffect[] {
    return [...this.#inFlight.values()].map(({ effect }) => effect).filter((effect) => effect.kind === 'call')
  }

  /** `wanted` is the whole list of effects that the state waits for. */
  reconcile(wanted: readonly Effect[]): void {
    if (this.#inFlight.size === 0) this.#backlog = wanted
    else {
      const keys = new Set(wanted.map(({ key }) => key))
      for (const key of [...this.#inFlight.keys()]) if (!keys.has(key)) this.#abort(key, 'no longer wanted')
      this.#backlog = wanted.filter(({ key }) => !this.#inFlight.has(key))
    }
    this.#next = 0
    this.startReady()
  }

  /** Starts what was held back and has become ready. */
  startReady(): void {
    while (this.#goingOn.length > 0 && !this.#full) {
      const next = this.#goingOn.shift()
      const flight = next && this.#inFlight.get(next.key)
      if (!next || !flight?.waiting) continue
      flight.waiting = false
      this.#waiting--
      next.resolve()
    }
    while (this.#next < this.#backlog.length) {
      const effect = this.#backlog[this.#next]
      if (!effect || (effect.kind === 'call' && this.#full) || !this.#starter.ready(effect)) return
      // First: what starts may wait at once, and ask for the next.
      this.#next++
      this.#launch(effect)
    }
  }

  get #full(): boolean {
    return this.#counts.call - this.#waiting >= this.#maxParallelTools
  }

  #launch(effect: Effect): void {
    const flight = new Flight(effect, this.#land)
    this.#inFlight.set(effect.key, flight)
    this.#counts[effect.kind]++
    flight.started = this.#starter.start(flight)
  }

  /** RC1 */
  readonly #land = (flight: Flight): boolean => {
    const {
      effect: { key, kind },
      waiting,
    } = flight
    if (this.#inFlight.get(key) !== flight) return false
    if (waiting) this.#waiting--
    this.#inFlight.delete(key)
    this.#counts[kind]--
    return true
  }

  /** The call does nothing but wait for its turn: it needs no place. */
  rest(key: string): void {
    const flight = this.#inFlight.get(key)
    if (!flight || flight.waiting) return
    flight.waiting = true
    this.#waiting++
    this.startReady()
  }

  /**
   * Its turn has come: it gets the next place, before anything new starts. One that was ended meanwhile is never told.
   */
  goOn(key: string, resolve: () => void): void {
    this.#goingOn.push({ key, resolve })
  }

  /** Aborts everything (of one kind) and forgets what was held back. */
  abortAll(reason: string, kind?: Effect['kind']): void {
    this.#backlog = []
    this.#next = 0
    for (const { effect } of [...this.#inFlight.values()])
      if (!kind || effect.kind === kind) this.#abort(effect.key, reason)
  }

  /** The thread leaves this host: what can go on without it does, the rest is aborted. */
  leaveAll(reason: string): void {
    for (const flight of this.#inFlight.values()) if (!flight.waiting && flight.started?.leave?.()) this.#land(flight)
    this.abortAll(reason)
  }

  /** Ends the calls that wait for their turn. */
  abortWaiting(reason: string): void {
    for (const { effect, waiting } of [...this.#inFlight.values()]) if (waiting) this.#abort(effect.key, reason)
  }

  #abort(key: string, reason: string): void {
    const flight = this.#inFlight.get(key)
    if (!flight) return
    this.#land(flight)
    flight.started?.abort(reason)
  }

  /** What the effects in flight have told so far. */
  soFar(): readonly DeltaEvent[] {
    return [...this.#inFlight.values()].flatMap(({ started }) => started?.soFar?.() ?? [])
  }
}
