/**
 * Limits: where a turn stops, and which calls are not made. Decided from records: what a turn may spend is written when it
 * starts.
 *
 * LM1 Before every model call it is asked whether anything is left: a turn goes past its limit by one model call at most.
 * LM2 A call past the limit is answered and never made. A turn with none left whose model asks for more ends.
 * LM3 A turn that stops keeps what it has: its text, and a result for every call.
 */
import { nanoUsdOf, tokensOf } from '../../src/core/budget.js'
import { failure } from '../../src/core/failure.js'
import type { ModelReplied, RecordedCall, StopReason } from '../../src/core/record.js'
import type { ThreadState, Turn } from './state.js'

interface Stop {
  readonly reason: StopReason
  readonly detail: string
}

/** LM1. Asked when a step is done, so that nothing that comes while the model speaks can end what it says. */
export function stopAtLimit({ turn }: ThreadState): void {
  const stop = turn && !turn.stop && spent(turn)
  if (!stop) return
  turn.stop = stop.reason
  turn.detail = stop.detail
}

function spent({ limits = {}, usage, steps: done }: Turn): Stop | undefined {
  const { tokens = Infinity, nanoUsd = Infinity, steps = Infinity } = limits
  if (done >= steps) return { reason: 'max_steps', detail: `${done} steps of ${steps}` }
  if (tokensOf(usage) >= tokens) return { reason: 'max_tokens', detail: `${tokensOf(usage)} tokens of ${tokens}` }
  if (nanoUsdOf(usage.costUsd) >= nanoUsd) return { reason: 'max_cost', detail: `$${usage.costUsd} of $${nanoUsd / 1e9}` }
  return undefined
}

export function callsSpent({ calls, limits }: Turn): string {
  return `${calls} calls of ${limits?.toolCalls ?? calls}`
}

/** Whether it counts: not one that cannot be made, and not the turn's last word. */
export function isCounted({ tool, refused }: RecordedCall): boolean {
  return !refused && tool !== 'response'
}

/** LM2: the calls as they are recorded. */
export function withinLimit({ turn }: ThreadState, calls: readonly RecordedCall[]): readonly RecordedCall[] {
  const { toolCalls } = turn?.limits ?? {}
  if (!turn || toolCalls === undefined) return calls
  let counted = turn.calls
  return calls.map((call) => (isCounted(call) && ++counted > toolCalls ? skipped(call, toolCalls) : call))
}

/** LM2: a model's reply as it is recorded. */
export function limited(state: ThreadState, reply: Omit<ModelReplied, 'type'>): Omit<ModelReplied, 'type'> {
  if (state.turn?.limits?.toolCalls === undefined) return reply
  const calls = withinLimit(state, reply.calls)
  const none = state.turn !== undefined && state.turn.calls >= (state.turn.limits?.toolCalls ?? Infinity) && reply.calls.some(isCounted)
  return { ...reply, calls, ...(none && !reply.stop && { stop: 'max_tool_calls' }) }
}

function skipped({ tool, args }: RecordedCall, most: number): RecordedCall {
  return { tool, args, refused: failure('TOOL_SKIPPED', `${tool} was not run: ${most === 1 ? 'one call is' : `${most} calls are`} allowed in one turn; answer with what you have`) }
}
