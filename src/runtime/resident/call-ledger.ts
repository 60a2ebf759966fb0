/**
 * The call ledger: what a residence knows of its thread's calls beside the state. The state is what any host folds from
 * the journal; the ledger is what only the host that wrote the records can know. It ends with the residence, and a
 * thread that is woken again starts with an empty one:
 *
 * - Intents (`call.began`) recorded here whose bodies have not started: these have certainly not happened. Any other
 *   intent may have happened, on this host or another (T10).
 * - The last record that gave an outcome to a call, or changed what the model reads: a model call waits until that is
 *   durable (TH2).
 * - Outcomes of effects on the world that no commit holds yet: the world has them already, so they outlive the
 *   residence (OR1: they go to the thread's next owner).
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { createCancel } from '../../core/async/cancel.js'
import { callKey } from '../../core/effect.js'
import type { CallBegan, ThreadRecord } from '../../core/records/record.js'
import type { OrphanedCall, OrphanedCalls } from '../effects/orphaned-calls.js'
import { idempotencyKeyOf } from '../resolve/tool-calls.js'

export class CallLedger {
  /** By the keys of their effects. */
  #intents: Map<string, CallBegan> | undefined
  /** Its sequence number. */
  #lastOutcome = 0
  /** The last record that is not what hooks decided before a step. */
  #lastBesidesHooks = 0
  #uncommitted: { readonly seq: number; readonly orphan: OrphanedCall }[] | undefined

  /** To be called after every record. */
  note(record: ThreadRecord): void {
    if (record.type !== 'hook.decided' || record.point !== 'step') this.#lastBesidesHooks = record.seq
    switch (record.type) {
      case 'call.began':
        this.#intents ??= new Map()
        this.#intents.set(callKey(record.step, record.index), record)
        return
      case 'call.returned':
      case 'call.settled':
      case 'context.reduced':
        this.#lastOutcome = record.seq
        return
      case 'turn.ended':
        // It answers the calls that it leaves open.
        this.#lastOutcome = record.seq
        this.#intents = undefined
        return
      default:
    }
  }

  /** The outcome that came last: the number of its record. */
  get lastOutcome(): number {
    return this.#lastOutcome
  }

  /** The next record, of this number, rests on what another thread has not committed yet. */
  noteMail(seq: number): void {
    this.#lastOutcome = seq
  }

  /** The body of this call starts. True when its intent was recorded here and not started before. */
  takeIntent(key: string): boolean {
    return this.#intents?.delete(key) ?? false
  }

  get hasIntents(): boolean {
    return this.#intents !== undefined && this.#intents.size > 0
  }

  /** The intents, which are not going to be started any more. */
  takeIntents(): readonly CallBegan[] {
    const intents = [...(this.#intents?.values() ?? [])]
    this.#intents = undefined
    return intents
  }

  /** Whether the journal holds every outcome; `durable`: the last record in it. */
  outcomesDurable(durable: number): boolean {
    return this.#lastOutcome <= durable
  }

  /** Whether all that the journal lacks is what hooks decided before a step. */
  onlyHooksSince(durable: number): boolean {
    return this.#lastBesidesHooks <= durable
  }

  /** Keeps the outcome of an effect on the world until it is committed. To be called before it is recorded. */
  keepOutcome({ id, step: current, slots, seq }: ThreadState, landing: Landing): void {
    if (landing.kind !== 'returned') return
    const { step, index } = landing
    const slot = step === current ? slots.items[index] : undefined
    if (!slot?.began) return
    const orphan: OrphanedCall = {
      thread: id,
      step,
      index,
      key: idempotencyKeyOf(id, landing, slot.call),
      work: Promise.resolve(landing),
      cancel: createCancel(),
    }
    this.#uncommitted ??= []
    this.#uncommitted.push({ seq: seq + 1, orphan })
  }

  /** The journal holds everything up to this record. */
  committed(durable: number): void {
    if (this.#uncommitted) this.#uncommitted = this.#uncommitted.filter(({ seq }) => seq > durable)
  }

  /** The residence ends: outcomes that no commit holds are handed over. */
  leave(orphans: OrphanedCalls): void {
    for (const { orphan } of this.#uncommitted ?? []) orphans.leave(orphan)
  }
}
