/**
 * What definitions say about a reply: the rules by which the thread decides what it means (actors/thread/decide/
 * replies.ts), and calls that are answered and never made, because the reply ended before their args were whole.
 */
import type { ReplyRules } from '../../../actors/thread/decide/replies.js'
import { defined } from '../../core/defined.js'
import { conditionsOf } from '../../agent/stop.js'
import { failure } from '../../core/failure.js'
import { toJson } from '../../core/json.js'
import type { RecordedCall } from '../../core/records/record.js'
import type { ModelReply, ModelRequest, RequestedCall } from '../../models/port.js'
import type { AgentSetup } from './agent-setup.js'

export function replyRules({ once, side, response, prompt }: AgentSetup, maxSteps: number): ReplyRules {
  const { toolChoice, name } = prompt
  const tool = typeof toolChoice === 'object' ? toolChoice.tool : undefined
  return {
    maxSteps,
    once,
    continues: side.stopOnResponse === false,
    needsOutput: response !== undefined,
    stopWhen: conditionsOf(prompt.stopWhen),
    ...(isForced(toolChoice) && { forces: { prompt: name, ...defined({ tool }) } }),
  }
}

export function isForced(choice: ModelRequest['toolChoice']): boolean {
  return choice === 'required' || typeof choice === 'object'
}

/** The call with its refusal, where the reply ended before its args did. */
export function cutCall({ finish }: ModelReply, { tool, args }: RequestedCall): RecordedCall | undefined {
  if ((finish !== 'length' && finish !== 'content_filter') || typeof args !== 'string' || isWhole(args))
    return undefined
  const why =
    finish === 'length' ? 'your reply was cut at its limit of output tokens' : 'your reply was cut off by the provider'
  const message =
    `${tool} was not run: ${why} before the args of this call were whole. Send them again, shorter ` +
    `or in several calls.`
  return { tool, args: toJson(args), refused: failure('TOOL_INPUT_INVALID', message, { data: { finish } }) }
}

/** Empty text may be the beginning of an object, too. */
function isWhole(args: string): boolean {
  try {
    JSON.parse(args)
    return true
  } catch {
    // Not JSON: it ended in the middle.
    return false
  }
}
