/**
 * What a reply means for its turn, by the rules of its agent and prompt. Decided once and recorded.
 *
 * - A reply that was cut, withheld or paused is told apart from one that is whole, and none of its calls is made
 *   whose args are not whole.
 * - A turn of an agent whose prompt has an `outputSchema` is completed with a value of that form and with nothing
 *   else: a reply without one is asked again, and then the turn has failed.
 * - A forced call is forced until it was made.
 */
import type { PromptDefinition } from '../../agent/define.js'
import { failure } from '../../core/failure.js'
import { toJson } from '../../core/json.js'
import type { FinishReason, ModelReplied, RecordedCall, StopReason } from '../../core/records/record.js'
import type { ModelReply, ModelRequest, RequestedCall } from '../../models/port.js'
import type { AgentSetup } from './model-request.js'

type Meaning = Pick<ModelReplied, 'stop' | 'goesOn' | 'ends' | 'asks' | 'failure' | 'relaxes'>

interface Replied {
  readonly reply: ModelReply
  readonly calls: readonly RecordedCall[]
  /** How often it was asked again in this turn. */
  readonly asked: number
  /** No further step is allowed. */
  readonly last: boolean
}

/** How often a model is asked again for what its turn must end with. */
const mostAsked = 2

const unfinished: Partial<Record<FinishReason, StopReason>> = {
  length: 'reply_cut',
  content_filter: 'reply_filtered',
  paused: 'reply_paused',
}

export function meaningOf(brief: AgentSetup, replied: Replied): Meaning {
  const { reply, calls, last } = replied
  if (calls.some((call) => call.tool === 'response' && call.answered !== undefined && !call.session))
    return { stop: 'completed' }
  const ends = calls.length > 0 ? undefined : unfinished[reply.finish]
  // Its caller is told what it gave, and what it did not (S10).
  if (brief.once) return { stop: ends ?? (calls.length === 0 && reply.text === '' ? 'empty_reply' : 'completed') }
  if (calls.length > 0) return { ...(last && { stop: 'max_steps' }), ...forcedIn(brief.prompt, calls) }
  const goesOn = reply.text !== '' && brief.side.stopOnResponse === false
  if (ends && (ends === 'reply_filtered' || !goesOn)) return { ends }
  if (goesOn) return { goesOn: true, ...(last && { stop: 'max_steps' }) }
  return brief.response ? withoutOutput(replied) : {}
}

const wanted =
  'Your turn ends with a call of the tool `response`, and with nothing else: call it now, with your final answer ' +
  'as its args.'

function withoutOutput({ reply, asked, last }: Replied): Meaning {
  if (last) return { stop: 'max_steps' }
  if (asked < mostAsked) return { asks: wanted }
  const said =
    reply.text === ''
      ? 'nothing'
      : JSON.stringify(reply.text.length > 200 ? `${reply.text.slice(0, 200)}…` : reply.text)
  const missed = `the model did not call \`response\`, though it was asked ${mostAsked} times; it last said ${said}`
  const why = `the prompt has an outputSchema, and ${missed}. Another model, or a prompt that says what to answer, may help`
  return { stop: 'failed', failure: failure('OUTPUT_MISSING', why) }
}

export function isForced(choice: ModelRequest['toolChoice']): boolean {
  return choice === 'required' || typeof choice === 'object'
}

/** MM3; a call that was refused was not made. */
function forcedIn(
  { toolChoice: choice, name }: PromptDefinition,
  calls: readonly RecordedCall[],
): Pick<Meaning, 'relaxes'> {
  if (!isForced(choice)) return {}
  const made = calls.some(({ tool, refused }) => !refused && (typeof choice !== 'object' || choice.tool === tool))
  return made ? { relaxes: name } : {}
}

/** The call, answered and never made, where the reply ended before its args did. */
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

/** An object says by itself where it ends; no text at all may be the beginning of one. */
function isWhole(args: string): boolean {
  try {
    JSON.parse(args)
    return true
  } catch {
    // Not JSON: it ended in the middle.
    return false
  }
}
