/**
 * What a reply means for its turn, by the rules of its agent and prompt. Decided once and recorded. Pure.
 *
 * - A reply that was cut, withheld or paused is told apart from one that is whole, and a call whose args are not
 *   whole is not made.
 * - A turn of an agent whose prompt has an `outputSchema` is completed by a value of that form alone: without one the
 *   model is asked again, and then the turn fails.
 * - A forced call is forced until it was made.
 */
import type { PromptDefinition } from '../../agent/define.js'
import { failure } from '../../core/failure.js'
import { toJson } from '../../core/json.js'
import type { FinishReason, ModelReplied, RecordedCall, StopReason } from '../../core/records/record.js'
import type { ModelReply, ModelRequest, RequestedCall } from '../../models/port.js'
import type { AgentSetup } from './agent-setup.js'

type Meaning = Pick<ModelReplied, 'stop' | 'goesOn' | 'ends' | 'asks' | 'failure' | 'relaxes'>

interface Replied {
  readonly reply: ModelReply
  readonly calls: readonly RecordedCall[]
  /** How often the model was asked again in this turn. */
  readonly asked: number
  /** No further step is allowed. */
  readonly last: boolean
}

/** How often a model is asked again for the output that its turn must end with. */
const mostAsked = 2

const unfinished: Partial<Record<FinishReason, StopReason>> = {
  length: 'reply_cut',
  content_filter: 'reply_filtered',
  paused: 'reply_paused',
}

export function meaningOf(setup: AgentSetup, replied: Replied): Meaning {
  const { reply, calls, last } = replied
  if (calls.some(isFinalAnswer)) return { stop: 'completed' }
  // A prompt tool ends with its first reply; its caller is told what it did not give (S10).
  if (setup.once) return { stop: stopOfOnly(reply, calls) }
  if (calls.length > 0) return { ...stopIf(last), ...forcedIn(setup.prompt, calls) }
  const ends = unfinished[reply.finish]
  const goesOn = reply.text !== '' && setup.side.stopOnResponse === false
  if (ends && (ends === 'reply_filtered' || !goesOn)) return { ends }
  if (goesOn) return { goesOn: true, ...stopIf(last) }
  return setup.response ? withoutOutput(replied) : {}
}

/** A side's answer ends its own turn and not that of the thread. */
function isFinalAnswer({ tool, answered, session }: RecordedCall): boolean {
  return tool === 'response' && answered !== undefined && !session
}

function stopOfOnly({ finish, text }: ModelReply, calls: readonly RecordedCall[]): StopReason {
  if (calls.length > 0) return 'completed'
  return unfinished[finish] ?? (text === '' ? 'empty_reply' : 'completed')
}

function stopIf(last: boolean): Pick<Meaning, 'stop'> {
  return last ? { stop: 'max_steps' } : {}
}

const reminder =
  'Your turn ends with a call of the tool `response`, and with nothing else: call it now, with your final answer ' +
  'as its args.'

function withoutOutput({ reply, asked, last }: Replied): Meaning {
  if (last) return { stop: 'max_steps' }
  if (asked < mostAsked) return { asks: reminder }
  const text = reply.text.length > 200 ? `${reply.text.slice(0, 200)}…` : reply.text
  const words = text === '' ? 'nothing' : JSON.stringify(text)
  const missed = `the model did not call \`response\`, though it was asked ${mostAsked} times; it last said ${words}`
  const advice = 'Another model, or a prompt that says what to answer, may help'
  return {
    stop: 'failed',
    failure: failure('OUTPUT_MISSING', `the prompt has an outputSchema, and ${missed}. ${advice}`),
  }
}

export function isForced(choice: ModelRequest['toolChoice']): boolean {
  return choice === 'required' || typeof choice === 'object'
}

/** A call that was refused was not made. */
function forcedIn(
  { toolChoice: choice, name }: PromptDefinition,
  calls: readonly RecordedCall[],
): Pick<Meaning, 'relaxes'> {
  if (!isForced(choice)) return {}
  const made = calls.some(({ tool, refused }) => !refused && (typeof choice !== 'object' || choice.tool === tool))
  return made ? { relaxes: name } : {}
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
