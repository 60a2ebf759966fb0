/**
 * What a model's reply means for its turn: whether the turn goes on, ends, or the model is asked again. Decided once,
 * from the reply and the rules that definitions give, and recorded with the reply.
 *
 * - A reply that was cut, withheld or paused by the provider ends the turn with that reason, not as completed.
 * - A turn that needs an output ends with one: a reply without it is asked for again, and then the turn has failed.
 * - A forced call is forced until it was made.
 */
import { failure } from '../../../src/core/failure.js'
import type { FinishReason, ModelReplied, RecordedCall, StopReason } from '../../../src/core/records/record.js'
import { stepsOf } from '../turn/session.js'
import type { Turn } from '../state.js'

/** What the agent, its prompt and its side say about replies. */
export interface ReplyRules {
  /** Steps that a turn may have; a side's turn, where there are two. Default: any number. */
  readonly maxSteps?: number
  /** There is one request, whatever comes of it: the agent is a prompt that was called as a tool (S10). */
  readonly once?: boolean
  /** A text without calls does not end the turn. */
  readonly continues?: boolean
  /** The turn ends with a call of `response`, and with nothing else. */
  readonly needsOutput?: boolean
  /** The prompt forces a call: of this tool, or of any. */
  readonly forces?: { readonly prompt: string; readonly tool?: string }
}

type Reply = Omit<ModelReplied, 'type'>

type Meaning = Pick<ModelReplied, 'stop' | 'goesOn' | 'ends' | 'asks' | 'failure' | 'relaxes'>

/** How often a model is asked again for the output that its turn must end with. */
const maxRequests = 2

const unfinished: Partial<Record<FinishReason, StopReason>> = {
  length: 'reply_cut',
  content_filter: 'reply_filtered',
  paused: 'reply_paused',
}

export function meaningOf(turn: Turn, reply: Reply, rules: ReplyRules): Meaning {
  const { calls } = reply
  if (calls.some(isOutput)) return { stop: 'completed' }
  if (rules.once) return { stop: stopOfOnly(reply) }
  const last = stepsOf(turn) + 1 >= (rules.maxSteps ?? Infinity)
  if (calls.length === 0) return meaningOfText(turn, reply, { last, ...rules })
  return { ...(last && { stop: 'max_steps' }), ...relaxed(rules, calls) }
}

/** The output of a side ends its turn and not the session. */
function isOutput({ tool, answered, session }: RecordedCall): boolean {
  return tool === 'response' && answered !== undefined && !session
}

/** The caller of a prompt reads what it gave and what it did not: there is no second request. */
function stopOfOnly({ calls, text, finish }: Reply): StopReason {
  if (calls.length > 0) return 'completed'
  return unfinished[finish] ?? (text === '' ? 'empty_reply' : 'completed')
}

/** `last`: no further step is allowed. */
function meaningOfText(
  turn: Turn,
  { text, finish }: Reply,
  { continues, needsOutput, last }: ReplyRules & { readonly last: boolean },
): Meaning {
  const goesOn = text !== '' && continues === true
  const ends = unfinished[finish]
  if (ends && (ends === 'reply_filtered' || !goesOn)) return { ends }
  if (goesOn) return { goesOn: true, ...(last && { stop: 'max_steps' }) }
  return needsOutput ? withoutOutput(turn, text, last) : {}
}

const outputRequest =
  'Your turn ends with a call of the tool `response`, and with nothing else: call it now, with your final answer ' +
  'as its args.'

function withoutOutput({ asked }: Turn, text: string, last: boolean): Meaning {
  if (last) return { stop: 'max_steps' }
  if (asked < maxRequests) return { asks: outputRequest }
  const said = text === '' ? 'nothing' : JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
  const missed = `the model did not call \`response\`, though it was asked ${maxRequests} times; it last said ${said}`
  const advice = 'Another model, or a prompt that says what to answer, may help'
  return {
    stop: 'failed',
    failure: failure('OUTPUT_MISSING', `the prompt has an outputSchema, and ${missed}. ${advice}`),
  }
}

/** A call that was refused was not made. */
function relaxed({ forces }: ReplyRules, calls: readonly RecordedCall[]): Pick<Meaning, 'relaxes'> {
  if (!forces) return {}
  const made = calls.some(({ tool, refused }) => !refused && (forces.tool ?? tool) === tool)
  return made ? { relaxes: forces.prompt } : {}
}
