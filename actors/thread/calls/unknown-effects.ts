/**
 * Unknown effects: calls that may have changed the world, of which nobody knows whether they did. They stay listed
 * until a person has found out (turn/effect-resolution.ts).
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import type { SideName } from '../../../src/core/records/message.js'
import { withEntry } from '../../../src/core/lists.js'
import type { ThreadState } from '../state.js'
import type { Slot } from './slots.js'

export interface UnknownEffect {
  readonly tool: string
  /** When its outcome was given up. */
  readonly at: number
  /** Whose call it was, where there are two sides. */
  readonly side?: SideName
}

interface TakenCall {
  readonly call: string
  readonly at: number
  readonly outcome: Outcome
}

/** Lists a call that is taken, if nobody knows what it did. */
export function noteUnknown(state: ThreadState, { call: made, began }: Slot, { call, at, outcome }: TakenCall): void {
  if (!began || !made.sideEffect || outcome.ok || outcome.failure.code !== 'EFFECT_UNKNOWN') return
  const unknown = { tool: made.tool, at, ...defined({ side: state.slots.side }) }
  state.unknownEffects = withEntry(state.unknownEffects, call, unknown)
}
