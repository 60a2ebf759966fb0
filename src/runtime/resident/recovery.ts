/**
 * Calls that were under way when their host died: they run again, and it is counted how often, so that none can end
 * hosts for ever.
 *
 * RH1 A call that a host finds under way when it first wakes the thread is tried again only when that is in the journal
 *     (`call.tried`). The first start of a call costs nothing, nor does one that a host left in good order.
 * - Where one is at its last try, the calls of its thread are tried one at a time, and one at a time of all such
 *   threads on a host. So none is blamed for its neighbour.
 * - A call whose host died `maxHostDeaths` times is answered with an error, and the operator is told.
 * - A side effect that may not be done twice is not counted: it is not run again anyway (EX3).
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { mayStart } from '../../../actors/thread/outstanding.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { CallEffect, Effect } from '../../core/effect.js'
import { failure } from '../../core/failure.js'
import type { CallTried } from '../../core/records/record.js'

/** Last tries on one host: one at a time. */
export class LastTries {
  /** Hosts that one call may cost. */
  readonly maxHostDeaths: number
  #busy = false
  readonly #waiting = new Set<() => void>()

  constructor(maxHostDeaths: number) {
    this.maxHostDeaths = maxHostDeaths
  }

  /** Calls `go` when it may begin. Gives what ends it, or withdraws it. */
  enter(go: () => void): () => void {
    let over = false
    const begin = (): void => {
      this.#busy = true
      go()
    }
    if (this.#busy) this.#waiting.add(begin)
    else begin()
    return () => {
      if (over) return
      over = true
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

export interface RecoveryServices {
  readonly state: ThreadState
  readonly lastTries: LastTries
  readonly maxParallelTools: number
  warn(what: string, thrown: unknown): void
  /** To be in the journal before what waits for it starts. */
  record(fact: CallTried): void
  land(landing: Landing): void
  /** Whether all that was recorded is in the journal. */
  durable(): boolean
}

export class Recovery {
  readonly #means: RecoveryServices
  /** Calls that were under way, and may not start before they are counted. */
  readonly #found = new Set<string>()
  #alone = false
  #counted = false
  #entered: { readonly key: string; leave: () => void } | undefined

  constructor(means: RecoveryServices) {
    this.#means = means
  }

  /** `wanted`: what the thread waits for when it wakes. */
  begin(wanted: readonly Effect[]): void {
    const { state, maxParallelTools } = this.#means
    if (!mayStart(state)) return
    const calls = wanted
      .filter((effect) => effect.kind === 'call')
      .filter(({ index }) => this.#counts(index))
      .slice(0, maxParallelTools)
    for (const effect of calls.filter(({ index }) => this.#triesOf(index) >= this.#means.lastTries.maxHostDeaths))
      this.#giveUp(effect)
    const left = calls.filter(({ index }) => this.#triesOf(index) < this.#means.lastTries.maxHostDeaths)
    this.#alone = left.some(({ index }) => this.#triesOf(index) === this.#means.lastTries.maxHostDeaths - 1)
    for (const effect of left) {
      this.#found.add(effect.key)
      if (!this.#alone) this.#count(effect)
    }
  }

  #counts(index: number): boolean {
    const slot = this.#means.state.slots.items[index]
    return (
      slot !== undefined &&
      !slot.parked &&
      !slot.join &&
      (slot.call.sideEffect !== true || slot.call.idempotent === true)
    )
  }

  /** With the one that it is about. */
  #triesOf(index: number): number {
    return (this.#means.state.slots.items[index]?.tries ?? 0) + 1
  }

  #count({ step, index }: CallEffect): void {
    this.#means.record({ type: 'call.tried', step, index, tries: this.#triesOf(index) })
  }

  #giveUp({ step, index }: CallEffect): void {
    const { state, warn, land } = this.#means
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
    warn(
      `thread ${state.id}: ${name} (step ${step}, call ${index}) was under way when its host died, ${tries} ` +
        `times; it was answered with an error`,
      undefined,
    )
    land({ kind: 'returned', step, index, landed: { outcome: { ok: false, failure: why } } })
  }

  /** Whether the call may start now. `running`: what runs already. */
  ready(effect: CallEffect, running: number): boolean {
    if (!this.#alone) return !this.#found.has(effect.key) || this.#means.durable()
    if (running > 0) return false
    if (!this.#entered) this.#enter(effect)
    return this.#entered?.key === effect.key && this.#counted && this.#means.durable()
  }

  #enter(effect: CallEffect): void {
    this.#counted = false
    const entered = { key: effect.key, leave: (): void => undefined }
    this.#entered = entered
    entered.leave = this.#means.lastTries.enter(() => {
      this.#counted = true
      this.#count(effect)
    })
  }

  /** Its outcome is there, or it waits for its turn: it does no harm any more. */
  over(key: string): void {
    this.#found.delete(key)
    if (this.#found.size === 0) this.#alone = false
    if (this.#entered?.key === key) this.#leave()
  }

  /** There is nothing left to be tried. */
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
