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
import type { StopCondition } from '../../../src/core/records/stop.js'
import { conditionMet, conditionsAt, isTotal } from './stops.js'
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
  /** The turn stops after a reply that meets any of these. */
  readonly stopWhen?: readonly StopCondition[]
  /** The calls of the reply were refused: no further round of calls may be run, and why. */
  readonly noRound?: string
  /** The prompt forces a call: of this tool, or of any. */
  readonly forces?: { readonly prompt: string; readonly tool?: string }
}

type Reply = Omit<ModelReplied, 'type'>

type Meaning = Pick<ModelReplied, 'stop' | 'stopDetail' | 'goesOn' | 'ends' | 'asks' | 'failure' | 'relaxes'>

/** How often a model is asked again for the output that its turn must end with. */
const maxRequests = 2

const unfinished: Partial<Record<FinishReason, StopReason>> = {
  length: 'reply_cut',
  content_filter: 'reply_filtered',
  paused: 'reply_paused',
}

export function meaningOf(turn: Turn, reply: Reply, rules: ReplyRules): Meaning {
  const { calls } = reply
  // It has stopped already, and this is its last answer.
  if (turn.last === 'wanted') return {}
  if (calls.some(isOutput)) return { stop: 'completed' }
  if (rules.once) return { stop: stopOfOnly(reply) }
  if (rules.noRound !== undefined) return { stop: 'max_tool_rounds', stopDetail: rules.noRound }
  const stops = stopAfter(turn, reply, rules)
  // A literal that begins with a spread costs microseconds on Node 20.
  if (calls.length === 0) return meaningOfText(turn, reply, { stops, ...rules })
  return { ...stops, ...relaxed(rules, calls) }
}

/** Where the turn would go on: the condition that stops it, else the limit of steps. */
function stopAfter(turn: Turn, reply: Reply, { stopWhen = [], maxSteps = Infinity }: ReplyRules): Stops {
  const conditions = [...stopWhen, ...(turn.messageRules?.stopWhen ?? [])]
  const met = conditionMet(turn, reply, conditionsAt(reply, conditions))
  if (met !== undefined) return { stop: 'stop_when', stopDetail: met }
  return stepsOf(turn) + 1 >= maxSteps ? { stop: 'max_steps' } : {}
}

type Stops = Pick<Meaning, 'stop' | 'stopDetail'>

/** The output of a side ends its turn and not the session. */
function isOutput({ tool, answered, session }: RecordedCall): boolean {
  return tool === 'response' && answered !== undefined && !session
}

/** The caller of a prompt reads what it gave and what it did not: there is no second request. */
function stopOfOnly({ calls, text, finish }: Reply): StopReason {
  if (calls.length > 0) return 'completed'
  return unfinished[finish] ?? (text === '' ? 'empty_reply' : 'completed')
}

/** `stops`: how the turn stops where this text does not end it. */
function meaningOfText(turn: Turn, reply: Reply, rules: ReplyRules & { readonly stops: Stops }): Meaning {
  const { text, finish } = reply
  const { continues, needsOutput, stops } = rules
  const goesOn = text !== '' && continues === true
  const ends = unfinished[finish]
  if (ends && (ends === 'reply_filtered' || !goesOn)) return { ends }
  if (goesOn) return { goesOn: true, ...stops }
  if (needsOutput) return stops.stop ? stops : withoutOutput(turn, text)
  return turn.session ? betweenSides(turn, reply, rules) : {}
}

/** The text ends the turn of a side, and the other one would speak. */
function betweenSides(turn: Turn, reply: Reply, { stopWhen = [] }: ReplyRules): Meaning {
  const conditions = [...stopWhen, ...(turn.messageRules?.stopWhen ?? [])]
  const met = conditionMet(turn, reply, conditions.filter(isTotal))
  return met === undefined ? {} : { stop: 'stop_when', stopDetail: met }
}

const outputRequest =
  'Your turn ends with a call of the tool `response`, and with nothing else: call it now, with your final answer ' +
  'as its args.'

function withoutOutput({ asked }: Turn, text: string): Meaning {
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
