/**
 * Rules of a turn: what definitions and settings say about its steps, recorded when the turn starts, so that the fold
 * needs no definition. An agent that takes over in the middle brings its own, with the reply that hands over.
 */
import type { SideName } from './message.js'

/** After how many equal calls, of the last 32 of the turn, it stops. */
export interface RepetitionRule {
  /** Equal calls that failed. */
  readonly failing: number
  /** Equal calls, whatever came of them. */
  readonly same: number
}

/** When a view of the conversation is reduced, and to how much, in tokens. */
export interface ContextRule {
  readonly of: string
  readonly trigger: number
  readonly target: number
}

/** The rules for the steps of one side. */
export interface StepRules {
  readonly context?: ContextRule
  readonly repetition?: RepetitionRule
  /** Hooks are asked before each step, and before the turn ends. */
  readonly hooks?: { readonly step?: true; readonly stop?: true }
  /** A turn that a rule stops is asked once more, without tools. */
  readonly lastAnswer?: true
}

/** By side; a turn without sides has those of `a`. */
export interface TurnRules {
  readonly a: StepRules
  readonly b?: StepRules
}

const none: StepRules = {}

/** The rules for the steps of the side that speaks now. */
export function stepRules(turn: {
  readonly rules: TurnRules | undefined
  readonly session: { readonly side: SideName } | undefined
}): StepRules {
  const { rules, session } = turn
  return (session?.side === 'b' ? rules?.b : rules?.a) ?? none
}
