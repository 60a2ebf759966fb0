/**
 * Outcomes of effects on the world that no commit holds yet: the world knows them, so they must not be forgotten (OR1).
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { createCancel } from '../../core/async/cancel.js'
import { idempotencyKeyOf } from '../resolve/tool-calls.js'
import type { OrphanedCall, OrphanedCalls } from '../effects/orphaned-calls.js'

export class UncommittedOutcomes {
  #kept: { readonly seq: number; readonly orphan: OrphanedCall }[] | undefined

  /** Called before the landing is recorded. */
  keep({ id, step: now, slots, seq }: ThreadState, landing: Landing): void {
    if (landing.kind !== 'returned') return
    const { step, index } = landing
    const slot = step === now ? slots.items[index] : undefined
    if (!slot?.began) return
    const orphan: OrphanedCall = {
      thread: id,
      step,
      index,
      key: idempotencyKeyOf(id, landing, slot.call),
      work: Promise.resolve(landing),
      cancel: createCancel(),
    }
    ;(this.#kept ??= []).push({ seq: seq + 1, orphan })
  }

  /** The journal holds all up to this record. */
  committed(durable: number): void {
    if (this.#kept) this.#kept = this.#kept.filter(({ seq }) => seq > durable)
  }

  leave(orphans: OrphanedCalls): void {
    for (const { orphan } of this.#kept ?? []) orphans.leave(orphan)
  }
}
