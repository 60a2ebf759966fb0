/**
 * Records about variables: values as they are stored (sealed), and who waits for one.
 */
import type { EnvChange } from '../env.js'

/** Values of the thread were set or taken away, by someone or with its parent's: calls see it from the next step on. */
export interface EnvChanged extends EnvChange {
  readonly type: 'env.changed'
}

/** The agent or its prompt needs variables that have no value: the model is not asked before they have. */
export interface TurnHeld {
  readonly type: 'turn.held'
  readonly run: string
  readonly missing: readonly string[]
}

export interface TurnFreed {
  readonly type: 'turn.freed'
  readonly run: string
}
