/**
 * Reconcile: starts what is wanted and does not run, aborts what runs and is no longer wanted. The same call
 * after a message, a result, a cancel and a crash.
 *
 * RC1 An effect of a key runs at most once at a time; its outcome counts only while it is the one in flight.
 * RC2 At most `maxParallelTools` calls run at once. Effects start in the order given, so one that must wait
 *     holds back those behind it.
 * RC3 An effect that must wait until its cause is durable is held back, and asked again when that is so.
 */
import type { Effect } from '../core/effect.js'

export interface Started {
  /** Ends the effect; what it gives after that is dropped. */
  abort(reason: string): void
}

export interface Starter {
  /** Begins the effect; `done` takes it out of flight and says whether its outcome still counts. */
  start(effect: Effect, done: () => boolean): Started
  /** Whether the effect may begin now (RC3, pause). */
  ready(effect: Effect): boolean
}

export interface Reconciler {
  /** `wanted` is the whole list of effects that the state waits for. */
  reconcile(wanted: readonly Effect[]): void
  /** Starts what was held back and has become ready. */
  startReady(): void
  /** Aborts everything (of one kind) and forgets what was held back. */
  abortAll(reason: string, kind?: Effect['kind']): void
  /** Effects in flight, deadlines not counted: those hold nothing. */
  readonly running: number
}

export function createReconciler(starter: Starter, maxParallelTools: number): Reconciler {
  const inFlight = new Map<string, { readonly effect: Effect; started?: Started }>()
  const counts = { model: 0, call: 0, deadline: 0 }
  let backlog: readonly Effect[] = []
  let next = 0

  function launch(effect: Effect): void {
    const flight: { readonly effect: Effect; started?: Started } = { effect }
    inFlight.set(effect.key, flight)
    counts[effect.kind]++
    flight.started = starter.start(effect, () => inFlight.get(effect.key) === flight && land(effect))
  }

  function land({ key, kind }: Effect): boolean {
    inFlight.delete(key)
    counts[kind]--
    return true
  }

  function abort(key: string, reason: string): void {
    const flight = inFlight.get(key)
    if (!flight) return
    land(flight.effect)
    flight.started?.abort(reason)
  }

  function startReady(): void {
    for (; next < backlog.length; next++) {
      const effect = backlog[next]
      if (!effect || (effect.kind === 'call' && counts.call >= maxParallelTools) || !starter.ready(effect)) return
      launch(effect)
    }
  }

  return {
    reconcile(wanted) {
      const keys = new Set(wanted.map(({ key }) => key))
      for (const key of [...inFlight.keys()]) if (!keys.has(key)) abort(key, 'no longer wanted')
      backlog = wanted.filter(({ key }) => !inFlight.has(key))
      next = 0
      startReady()
    },
    startReady,
    abortAll(reason, kind) {
      backlog = []
      next = 0
      for (const { effect } of [...inFlight.values()]) if (!kind || effect.kind === kind) abort(effect.key, reason)
    },
    get running() {
      return counts.model + counts.call
    },
  }
}
