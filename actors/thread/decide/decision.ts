/**
 * Decisions: what a thread makes of a command (commands.ts), of an outcome (landings.ts) or of its own state (due.ts).
 * A decision is a list of facts to commit, or a refusal; it changes nothing itself.
 *
 * CO1 Facts that a decision gives can always be folded: commands may be refused, records may not.
 * - A decision depends on the state, on what was asked and on the context alone. All three are plain data: equal
 *   input gives equal facts.
 */
import type { Amounts } from '../../../src/core/budget.js'
import { defined } from '../../../src/core/defined.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import type { Command } from '../../../src/core/records/command.js'
import type { AskedHook } from '../../../src/core/records/hook.js'
import type { Fact, RecordedCall, TurnEnded } from '../../../src/core/records/record.js'
import type { Past } from '../../../src/core/records/travel.js'
import type { FileQuota } from '../../../src/core/tree/tree-usage.js'
import type { TurnRules } from '../../../src/core/records/rules.js'
import { firstSide } from '../turn/session.js'
import type { ThreadState, Turn } from '../state.js'

export interface Refusal {
  readonly refused: Failure
}

export type Decision = { readonly facts: readonly Fact[] } | Refusal

/** Who has changed it, or failed. */
interface HookedMail {
  readonly hooks?: readonly AskedHook[]
}

/** A command as definitions resolve it: a call as it would be recorded. */
export type ResolvedCommand =
  | Exclude<Command, { readonly kind: 'call' | 'decide' | 'create' | 'message' | 'rewind' }>
  /** `past`: what it goes back to, unless something is undone first; `reverts`: the calls that do so. */
  | (Omit<Extract<Command, { readonly kind: 'rewind' }>, 'reverts'> & {
      readonly past?: Past
      readonly reverts?: readonly RecordedCall[]
    })
  | (Extract<Command, { readonly kind: 'message' }> & HookedMail)
  /** `stored`: messages that hooks give it besides. `past`: what a fork begins with. */
  | (Extract<Command, { readonly kind: 'create' }> &
      HookedMail & { readonly stored?: readonly string[]; readonly past?: Past })
  | { readonly kind: 'call'; readonly call: RecordedCall }
  | (Omit<Extract<Command, { readonly kind: 'decide' }>, 'args' | 'call'> & {
      readonly call: string
      readonly edited?: RecordedCall
    })

/** What the host knows at the moment of a decision. */
export interface DecisionContext {
  readonly now: number
  /** How long a turn may take; its deadline is fixed when it starts. */
  readonly maxWallClockMs?: number
  /** What a turn may spend; fixed when it starts. */
  readonly limits?: Amounts
  /** The thread's agent has two sides: a session begins with the turn. */
  readonly session?: { readonly maxTurns: number }
  /** What definitions say about the steps of a turn; fixed when it starts. */
  readonly rules?: TurnRules
  /** The host traces: a turn whose sender gave no trace begins one. */
  readonly traced?: true
  /** How much the thread's files may hold. Default: any amount. */
  readonly quota?: FileQuota
}

export const noFacts: Decision = { facts: [] }

export function refuse(code: Failure['code'], message: string): Refusal {
  return { refused: failure(code, message) }
}

export function turnStarted(
  state: ThreadState,
  run: string,
  { now, maxWallClockMs, limits, session, rules, traced }: DecisionContext,
): Fact {
  return {
    type: 'turn.started',
    run,
    ...(maxWallClockMs !== undefined && { deadlineAt: now + maxWallClockMs }),
    ...defined({ limits, rules, traced }),
    ...(session && { session: { side: firstSide(state, run), maxTurns: session.maxTurns } }),
  }
}

export function turnEnded({ run }: Turn, end: Omit<TurnEnded, 'type' | 'run'>): Fact {
  return { type: 'turn.ended', run, ...end }
}
