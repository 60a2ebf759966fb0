/**
 * The last answer (R3): a turn that a rule stopped in the middle of its work is asked once more, without tools, where
 * its prompt says so. The reason of the stop stays, and the text of that reply is the answer.
 *
 * - Part of the fold: a crash before or after the question changes nothing.
 * - Not where an amount is spent: one model call past a limit is allowed, not two.
 */
import { stepRules } from '../../../src/core/records/rules.js'
import type { StopReason } from '../../../src/core/records/record.js'
import { isSpent } from '../decide/limits.js'
import type { ThreadState, Turn } from '../state.js'

/** Reasons after which there may be more to say than the turn has said. */
const cutShort: ReadonlySet<StopReason> = new Set([
  'max_steps',
  'max_tool_calls',
  'max_tool_rounds',
  'stop_when',
  'repetition',
] as const)

/** The step is done: a turn that stops here is asked for its last answer, once. */
export function wantLastAnswer(state: ThreadState): void {
  const { turn } = state
  if (!turn?.stop || turn.last || !cutShort.has(turn.stop)) return
  if (stepRules(turn).lastAnswer && !isSpent(state)) turn.last = 'wanted'
}

/** Something was spent before the question: there is none where that was the rest. */
export function forgoLastAnswer(state: ThreadState): void {
  const { turn } = state
  if (turn?.last === 'wanted' && isSpent(state)) turn.last = 'given'
}

/** No model is asked in this turn any more. */
export function isStopped({ stop, last }: Turn): boolean {
  return stop !== undefined && last !== 'wanted'
}
