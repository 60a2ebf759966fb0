/**
 * Calls that were under way when their host died: they run again, and it is counted how often, so that none can kill
 * hosts for ever.
 *
 * RH1 A call that a host finds under way when it first wakes the thread is tried again only when that is in the journal
 *     (`call.tried`). The first start of a call costs nothing, nor does one that a host left in good order.
 * - If one of them is at its last try, the calls of its thread are tried one at a time, and one at a time of all such
 *   threads on a host. So none is blamed for its neighbour.
 * - A call whose host died `maxHostDeaths` times is answered with an error, and the operator is told. A body in a
 *   worker cannot end its host by itself, and whoever kills hosts in a row meets the same calls: it may be tried three
 *   times as often.
 * - A side effect that may not be done twice is not counted: it is not run again anyway (EX3: an unknown outcome is not
 *   silently repeated).
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { mayStart } from '../../../actors/thread/outstanding.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { CallEffect, Effect } from '../../core/effect.js'
import { failure } from '../../core/failure.js'
import type { CallTried } from '../../core/records/record.js'
import type { HostSettings } from '../services.js'
import type { Outbox } from './outbox.js'

/** Last tries on one host: one at a time. */
export class LastTries {
  #busy = false
  readonly #waiting = new Set<() => void>()

  /** Calls `tryIt` when no other last try is under way. The function that it returns ends the try, or withdraws it. */
  enter(tryIt: () => void): () => void {
    let ended = false
    const begin = (): void => {
      this.#busy = true
      tryIt()
    }
    if (this.#busy) this.#waiting.add(begin)
    else begin()
    return () => {
      if (ended) return
      ended = true
      if (!this.#waiting.delete(begin)) this.#next()
    }
  }

  #next(): void {
    this.#busy = false
    for (const begin of this.#waiting) {
      this.#waiting.delete(begin)
      return begin()
    }
  }
}

const triesInWorkers = 3

export interface RecoveryServices {
  readonly state: ThreadState
  readonly outbox: Pick<Outbox, 'allDurable'>
  readonly lastTries: LastTries
  readonly settings: HostSettings
  /** Whether bodies of the tool run in the host's own process. */
  readonly runsHere: (tool: string) => boolean
  /** Must be in the journal before the call that it counts starts. */
  record(fact: CallTried): void
  land(landing: Landing): void
}

export class Recovery {
  readonly #services: RecoveryServices
  /** Keys of the calls that were under way, and may not start before they are counted. */
  readonly #found = new Set<string>()
  /** One of them is at its last try: they are tried one at a time. */
  #alone = false
  /** The call whose last try it is, and whether that is counted yet: it may wait for last tries of other threads. */
  #entered: { readonly key: string; counted: boolean; leave: () => void } | undefined

  constructor(services: RecoveryServices) {
    this.#services = services
  }

  /** `wanted`: the outstanding effects of the thread as it wakes. */
  begin(wanted: readonly Effect[]): void {
    const { state, settings } = this.#services
    const { maxParallelTools } = settings
    if (!mayStart(state)) return
    // No more than could run at once can have been under way.
    const calls = wanted
      .filter((effect) => effect.kind === 'call')
      .filter(({ index }) => this.#counts(index))
      .slice(0, maxParallelTools)
    const left = ({ index }: CallEffect): number => this.#mostTries(index) - this.#triesOf(index)
    for (const effect of calls) if (left(effect) <= 0) this.#giveUp(effect)
    const tried = calls.filter((effect) => left(effect) > 0)
    this.#alone = tried.some((effect) => left(effect) === 1)
    for (const effect of tried) {
      this.#found.add(effect.key)
      if (!this.#alone) this.#count(effect)
    }
  }

  /** Whether its tries are counted. */
  #counts(index: number): boolean {
    const slot = this.#services.state.slots.items[index]
    return (
      slot !== undefined &&
      !slot.parked &&
      !slot.join &&
      (slot.call.sideEffect !== true || slot.call.idempotent === true)
    )
  }

  #mostTries(index: number): number {
    const { state, settings, runsHere } = this.#services
    const tool = state.slots.items[index]?.call.tool ?? ''
    return settings.maxHostDeaths * (runsHere(tool) ? 1 : triesInWorkers)
  }

  /** Its tries, with the one that is about to begin. */
  #triesOf(index: number): number {
    return (this.#services.state.slots.items[index]?.tries ?? 0) + 1
  }

  #count({ step, index }: CallEffect): void {
    this.#services.record({ type: 'call.tried', step, index, tries: this.#triesOf(index) })
  }

  #giveUp({ step, index }: CallEffect): void {
    const { state, settings, land } = this.#services
    const tries = this.#triesOf(index)
    const call = state.slots.items[index]?.call
    const name = call?.tool ?? 'a call'
    const effect = call?.sideEffect ? ' It may have happened.' : ''
    const why = failure(
      'CALL_KILLED_ITS_HOST',
      `${name} was under way when its host died, ${tries} times; it is not run again.${effect} Do not ask for the ` +
        `same again.`,
      { data: { tries } },
    )
    settings.warn(
      `thread ${state.id}: ${name} (step ${step}, call ${index}) was under way when its host died, ${tries} ` +
        `times; it was answered with an error`,
      undefined,
    )
    land({ kind: 'returned', step, index, landed: { outcome: { ok: false, failure: why } } })
  }

  /** Whether the call may start now. `running`: effects that run already. */
  ready(effect: CallEffect, running: number): boolean {
    const { outbox } = this.#services
    if (!this.#alone) return !this.#found.has(effect.key) || outbox.allDurable
    if (running > 0) return false
    if (!this.#entered) this.#enter(effect)
    return this.#entered?.key === effect.key && this.#entered.counted && outbox.allDurable
  }

  #enter(effect: CallEffect): void {
    const entered = { key: effect.key, counted: false, leave: (): void => undefined }
    this.#entered = entered
    entered.leave = this.#services.lastTries.enter(() => {
      entered.counted = true
      this.#count(effect)
    })
  }

  /** The call has an outcome, or waits for its turn: it can do this host no harm any more. */
  callEnded(key: string): void {
    this.#found.delete(key)
    if (this.#found.size === 0) this.#alone = false
    if (this.#entered?.key === key) this.#leave()
  }

  /** No call is left to be tried. */
  end(): void {
    this.#found.clear()
    this.#alone = false
    this.#leave()
  }

  #leave(): void {
    this.#entered?.leave()
    this.#entered = undefined
  }
}
