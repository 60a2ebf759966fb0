/**
 * Rounds of calls (R3): whether the calls of a reply are run, decided once, when it lands; and what of a last answer is
 * recorded.
 *
 * - The calls of a round too many are recorded with their args and a refusal, so that each has its one result.
 * - `response` is no round: it gives the answer, and one that does not fit can be corrected.
 * - A function of the app that throws, or gives no boolean, lets nothing run.
 */
import { addUsage, noUsage } from '../../core/usage.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { stepsOf } from '../../../actors/thread/turn/session.js'
import type { PromptDefinition } from '../../agent/define.js'
import type { MaxToolRounds, TurnSoFar } from '../../agent/stop.js'
import { failure, toFailure } from '../../core/failure.js'
import type { RecordedCall } from '../../core/records/record.js'
import type { ModelReply, RequestedCall } from '../../models/port.js'
import { sentArgs } from '../../tools/args.js'

/** Why the calls of the reply are not run, for people. */
export function noRoundLeft(
  { maxToolRounds }: PromptDefinition,
  reply: ModelReply,
  state: ThreadState,
): string | undefined {
  const { turn } = state
  const limit = turn?.messageRules?.maxToolRounds ?? maxToolRounds
  if (limit === undefined || !turn || !reply.calls.some(isOfRound)) return undefined
  if (typeof limit === 'function') return refusedBy(limit, reply, state)
  if (turn.rounds < limit) return undefined
  return limit === 1 ? '1 round of calls is allowed' : `${limit} rounds of calls are allowed`
}

function refusedBy(mayRun: Exclude<MaxToolRounds, number>, reply: ModelReply, state: ThreadState): string | undefined {
  try {
    const answer: unknown = mayRun(soFar(reply, state))
    if (typeof answer === 'boolean') return answer ? undefined : 'maxToolRounds allowed no further round of calls'
    return `maxToolRounds gave ${answer instanceof Promise ? 'a promise' : String(answer)} and no boolean`
  } catch (thrown) {
    return `maxToolRounds threw: ${toFailure(thrown, 'TOOL_THREW').message}`
  }
}

function soFar({ text, calls, usage, finish }: ModelReply, { id, turn }: ThreadState): TurnSoFar {
  return {
    thread: id,
    run: turn?.run ?? '',
    steps: turn ? stepsOf(turn) + 1 : 1,
    rounds: turn?.rounds ?? 0,
    usage: addUsage(turn?.usage ?? noUsage, usage),
    text,
    calls: calls.map(({ tool, args }) => ({ tool, args: sentArgs(args) })),
    finish,
  }
}

function isOfRound({ tool }: RequestedCall): boolean {
  return tool !== 'response'
}

/** The call with its refusal, where no further round may be run. */
export function skippedCall(noRound: string | undefined, call: RequestedCall): RecordedCall | undefined {
  if (noRound === undefined || !isOfRound(call)) return undefined
  const { tool, args } = call
  return { tool, args: sentArgs(args), refused: failure('TOOL_SKIPPED', `${tool} was not run: ${noRound}`) }
}

/**
 * Tools were not offered: what a model calls all the same is dropped, but for the output that the turn promises.
 * Provider data of a dropped call would not match the message.
 */
export function asLastAnswer(reply: ModelReply, hasOutput: boolean): ModelReply {
  const calls = reply.calls.filter((call) => hasOutput && !isOfRound(call))
  if (calls.length === reply.calls.length) return reply
  const { kept: _, ...rest } = reply
  return { ...rest, calls }
}
