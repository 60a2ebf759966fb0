/**
 * Limits: where a turn stops, and which calls are not made. Decided from records: what a turn may spend is recorded
 * when it starts.
 *
 * - Before every model call it is checked whether anything is left: a turn exceeds its limit by one model call at most.
 * - A call past the limit is answered and never made. A turn with no call left whose model asks for more ends.
 * - A turn that stops keeps what it has: its text, and a result for every call.
 */
import { nanoUsdOf, tokensOf } from '../../../src/core/budget.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import type { ModelReplied, RecordedCall, StopReason } from '../../../src/core/records/record.js'
import { noUsage } from '../../../src/core/usage.js'
import { isCounted, exhaustedKinds } from '../budget/budget.js'
import type { ThreadState, Turn } from '../state.js'

interface Stop {
  readonly reason: StopReason
  readonly detail: string
}

/** Asked when a step is done, so that nothing that comes while the model speaks can end what it says. */
export function stopAtLimit(state: ThreadState): void {
  const { turn } = state
  const stop = turn && !turn.stop && (spent(turn) ?? budgetSpent(state))
  if (!stop) return
  turn.stop = stop.reason
  turn.detail = stop.detail
}

/** Tokens, cost or the budget are spent, whatever else stops the turn. */
export function isSpent(state: ThreadState): boolean {
  const { limits = {}, usage } = state.turn ?? { usage: noUsage }
  const { tokens = Infinity, nanoUsd = Infinity } = limits
  return tokensOf(usage) >= tokens || nanoUsdOf(usage.costUsd) >= nanoUsd || exhaustedKinds(state) !== undefined
}

function spent({ limits = {}, usage, steps: done }: Turn): Stop | undefined {
  const { tokens = Infinity, nanoUsd = Infinity, steps = Infinity } = limits
  if (done >= steps) return { reason: 'max_steps', detail: `${done} steps of ${steps}` }
  if (tokensOf(usage) >= tokens) return { reason: 'max_tokens', detail: `${tokensOf(usage)} tokens of ${tokens}` }
  if (nanoUsdOf(usage.costUsd) >= nanoUsd)
    return { reason: 'max_cost', detail: `$${nanoUsdOf(usage.costUsd) / 1e9} of $${nanoUsd / 1e9}` }
  return undefined
}

function budgetSpent(state: ThreadState): Stop | undefined {
  const what = exhaustedKinds(state)
  return what === undefined ? undefined : { reason: 'budget_spent', detail: `nothing is left of ${what}` }
}

interface Room {
  /** Calls that may still be made. */
  readonly calls: number
  readonly reason: 'max_tool_calls' | 'budget_spent'
  readonly why: Failure
}

/** The nearer of the turn's limit and the thread's budget; undefined where neither limits calls. */
function roomOf({ turn, budget }: ThreadState): Room | undefined {
  const limit = turn?.limits?.toolCalls
  const left = budget?.left.toolCalls
  const ofTurn = limit === undefined ? Infinity : Math.max(0, limit - (turn?.calls ?? 0))
  const ofBudget = left === undefined ? Infinity : Math.max(0, left)
  if (ofTurn === Infinity && ofBudget === Infinity) return undefined
  if (ofBudget < ofTurn)
    return {
      calls: ofBudget,
      reason: 'budget_spent',
      why: failure('BUDGET_SPENT', 'no call is left in the budget; answer with what you have'),
    }
  return {
    calls: ofTurn,
    reason: 'max_tool_calls',
    why: failure(
      'TOOL_SKIPPED',
      `${limit === 1 ? 'one call is' : `${limit ?? 0} calls are`} allowed in one turn; answer with what you have`,
    ),
  }
}

/** Calls as they are recorded: those past the limit are refused. */
export function withinLimit(state: ThreadState, calls: readonly RecordedCall[]): readonly RecordedCall[] {
  const room = roomOf(state)
  if (!room) return calls
  let counted = 0
  return calls.map((call) => (isCounted(call) && ++counted > room.calls ? skipped(call, room.why) : call))
}

function skipped({ tool, args }: RecordedCall, { code, message }: Failure): RecordedCall {
  return { tool, args, refused: failure(code, `${tool} was not run: ${message}`) }
}

/** A reply as it is recorded: its calls limited, and the turn stopped where none is left. */
export function limitReply(state: ThreadState, reply: Omit<ModelReplied, 'type'>): Omit<ModelReplied, 'type'> {
  const room = roomOf(state)
  if (!room) return reply
  const none = room.calls === 0 && !reply.stop && reply.calls.some(isCounted)
  return { ...reply, calls: withinLimit(state, reply.calls), ...(none && { stop: room.reason }) }
}

const unfinished: Partial<Record<StopReason, string>> = {
  reply_cut: 'the reply was cut at its limit of output tokens',
  reply_filtered: "the provider's filter withheld the reply",
  reply_paused: 'the provider paused the reply; `resume` goes on with it',
}

/** The detail of a stop that the reply itself caused. */
export function detailOf({ calls, limits }: Turn, stop: StopReason): string | undefined {
  const ofReply = unfinished[stop]
  if (ofReply !== undefined) return ofReply
  if (stop === 'budget_spent') return 'nothing is left of toolCalls'
  return stop === 'max_tool_calls' ? `${calls} calls of ${limits?.toolCalls ?? calls}` : undefined
}
