/**
 * The effects of one thread on the world, record by record: what was begun, how often, and what came of it. Read off
 * the thread's own fold.
 */
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import { defined } from '../../../core/defined.js'
import type { Outcome } from '../../../core/effect.js'
import { callId, revertedBy } from '../../../core/records/message.js'
import type { CallBegan, ThreadRecord } from '../../../core/records/record.js'
import { Projector } from '../../watch/projection.js'
import type { RunCall } from '../../watch/projection.js'
import type { SideEffect } from './thread-effects.js'

type Listed = Omit<SideEffect, 'thread' | 'path' | 'id'>

/** An effect, with the last record about it; `revert`: its tool said how it is undone. */
export interface ListedEffect {
  readonly effect: Listed
  readonly last: number
  readonly revert: boolean
}

export class EffectList {
  readonly #projector: Projector
  readonly #effects = new Map<string, Listed>()
  readonly #last = new Map<string, number>()
  readonly #revertible = new Set<string>()

  constructor(thread: string) {
    this.#projector = new Projector(createState(thread), { keepMessages: false })
  }

  get seq(): number {
    return this.#projector.state.seq
  }

  get all(): SideEffect[] {
    const { id: thread, path } = this.#projector.state
    return this.listed.map(({ effect }) => ({ id: `${thread}/${effect.call}`, thread, path, ...effect }))
  }

  get state(): ThreadState {
    return this.#projector.state
  }

  /** In the order in which they were begun. */
  get listed(): readonly ListedEffect[] {
    const effects = [...this.#effects.values()]
    const undone = new Set(effects.flatMap(({ state, reverts }) => (state === 'done' ? (reverts ?? []) : [])))
    return effects.map((effect) => ({
      effect: undone.has(effect.call) ? { ...effect, undone: true } : effect,
      last: this.#last.get(effect.call) ?? 0,
      revert: this.#revertible.has(effect.call),
    }))
  }

  take(record: ThreadRecord): void {
    const { calls } = this.#projector.take(record)
    if ('index' in record && record.index !== undefined) this.#takeOfCall(record, callId(record.step, record.index))
    for (const call of calls) this.#answer(call, record.seq)
  }

  #takeOfCall(record: ThreadRecord, call: string): void {
    const before = this.#effects.get(call)
    if (record.type === 'call.began') this.#begin(record, call)
    else if (!before) return
    else if (record.type === 'call.unbegun') this.#effects.delete(call)
    else if (record.type === 'call.held' && record.why === 'approval')
      this.#effects.set(call, { ...before, state: 'unknown', asks: true })
    else if (record.type === 'effect.resolved') {
      const { happened, value, comment, resolvedBy: by, at } = record
      const resolution = { happened, at, ...defined({ value, comment, by }) }
      const { asks: _, ...rest } = before
      this.#effects.set(call, { ...rest, state: happened ? 'done' : 'failed', resolution })
    }
  }

  #begin({ step, index, at, seq }: CallBegan & { readonly at: number; readonly seq: number }, call: string): void {
    const { state } = this.#projector
    const slot = step === state.step ? state.slots.items[index] : undefined
    if (slot?.beganAt !== at) return
    const { tool, args } = slot.call
    this.#last.set(call, seq)
    if (slot.call.revert === true) this.#revertible.add(call)
    const begins = (this.#effects.get(call)?.begins ?? 0) + 1
    const reverts = revertedBy(slot.call)
    this.#effects.set(call, { call, tool, args, state: 'running', beganAt: at, begins, ...defined({ reverts }) })
  }

  /** An outcome that counts. */
  #answer({ id, outcome }: RunCall, seq: number): void {
    const before = this.#effects.get(id)
    if (!before || !outcome) return
    const { asks: _, ...rest } = before
    this.#last.set(id, seq)
    this.#effects.set(id, { ...rest, state: stateOf(outcome), outcome })
  }
}

function stateOf(outcome: Outcome): SideEffect['state'] {
  if (outcome.ok) return 'done'
  return outcome.failure.code === 'EFFECT_UNKNOWN' ? 'unknown' : 'failed'
}
