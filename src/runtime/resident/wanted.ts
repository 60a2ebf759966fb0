/** An effect in flight, as its thread wants it: what comes of it counts while it is the one in flight (RC1). */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { DeltaEvent } from '../../core/records/event.js'
import type { EffectOwner } from '../effects/model-call.js'
import type { EffectTicket } from './reconcile.js'

/** The thread. */
interface Wanter {
  readonly state: ThreadState
  hydrated(): Promise<void>
  speak(make: () => DeltaEvent): void
  turn(key: string, index: number): Promise<void>
  land(landing: Landing, key: string): void
  failed(thrown: unknown): void
}

/** A class: thousands are made a second. */
export class ResidentEffect implements EffectOwner {
  readonly state: ThreadState
  readonly #wanter: Wanter
  readonly #ticket: EffectTicket

  constructor(wanter: Wanter, ticket: EffectTicket) {
    this.state = wanter.state
    this.#wanter = wanter
    this.#ticket = ticket
  }

  hydrated(): Promise<void> {
    return this.#wanter.hydrated()
  }

  speak(make: () => DeltaEvent): void {
    this.#wanter.speak(make)
  }

  turn(index: number): Promise<void> {
    return this.#wanter.turn(this.#ticket.effect.key, index)
  }

  land(landing: Landing): void {
    if (this.#ticket.done()) this.#wanter.land(landing, this.#ticket.effect.key)
  }

  storeFailed(thrown: unknown): void {
    this.#wanter.failed(thrown)
  }
}
