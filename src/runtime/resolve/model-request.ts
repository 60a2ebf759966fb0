/**
 * What a thread asks of its model in one step. Pure: a function of the agent's setup, the thread's state and its
 * variables.
 *
 * - The request holds the thread's own transcript, or a window of it that grows by appending; a copy only where hooks
 *   add a message for this request alone.
 */
import { stepsOf } from '../../../actors/thread/turn/session.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { PromptDefinition } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import type { Message } from '../../core/records/message.js'
import type { ModelRequest } from '../../models/port.js'
import type { Environments } from '../secrets/environment.js'
import { offeredTo } from './agent-setup.js'
import type { AgentSetup } from './agent-setup.js'
import { windowOf } from './prompt-window.js'
import { isForced } from './reply-meaning.js'

/** What a request needs besides the agent and the thread. */
export interface RequestSources {
  readonly envs: Environments
  readonly readMedia: NonNullable<ModelRequest['read']>
}

export function toRequest(setup: AgentSetup, state: ThreadState, { envs, readMedia }: RequestSources): ModelRequest {
  const { parallelToolCalls, reasoning, temperature, maxOutputTokens, promptCache, providerOptions } = setup.prompt
  return {
    system: setup.text.map((piece) => (typeof piece === 'string' ? piece : envs.promptText(state, piece))).join(''),
    messages: messagesFor(setup, state),
    tools: offeredTo(setup, state).specs,
    read: readMedia,
    thread: state.id,
    step: state.turn ? stepsOf(state.turn) : 0,
    ...defined({
      toolChoice: choiceOf(setup, state),
      parallelToolCalls,
      reasoning,
      temperature,
      maxOutputTokens,
      promptCache,
      providerOptions,
    }),
  }
}

/** Said in the last request of a turn that has stopped, and nowhere else. */
const lastRequest =
  'No tool can be called in this turn any more. Give your final answer now, with what you have, and say what is ' +
  'missing.'

/** Said where a reply that was cut is gone on with, and nowhere else. */
const cutRequest =
  'Your last reply was cut at its limit of output tokens. Go on exactly where it ended, and repeat nothing of it.'

/** What is said once stands behind all others: what comes before is as it was. */
function messagesFor({ prompt }: AgentSetup, state: ThreadState): readonly Message[] {
  const window = windowOf(state, prompt)
  const { once } = state.turn ?? {}
  const messages = once ? [...window, ...once] : window
  const text = saidOnce(prompt, state)
  if (text === undefined) return messages
  return [...messages, { id: `once_${state.step + 1}`, role: 'system', text, at: state.stepAt, silent: true }]
}

function saidOnce({ lastAnswer }: PromptDefinition, { turn, lastTurn }: ThreadState): string | undefined {
  if (turn?.last === 'wanted') return typeof lastAnswer === 'string' ? lastAnswer : lastRequest
  // A model that is not told so would begin anew, or refuse a conversation that ends with its own words.
  const isCutReply = turn?.began.by === 'resume' && turn.steps === 0 && lastTurn?.reason === 'reply_cut'
  return isCutReply ? cutRequest : undefined
}

type Choice = NonNullable<ModelRequest['toolChoice']>

/** A call is forced until it was made; otherwise the model would have to make it in every step. */
function choiceOf(setup: AgentSetup, { turn }: ThreadState): Choice | undefined {
  const { toolChoice, name } = setup.prompt
  // The promised output is given by a call; other tools stay in the request, which a provider's cache knows by them.
  if (turn?.last === 'wanted') return setup.response ? { tool: 'response' } : 'none'
  if (setup.response && turn && turn.asked > 0) return { tool: 'response' }
  if (toolChoice !== undefined && isOffered(setup, toolChoice))
    return isForced(toolChoice) && turn?.relaxed === name ? 'auto' : toolChoice
  const isOnlyTool = setup.response && setup.offered.specs.length === 1
  return setup.once && isOnlyTool ? { tool: 'response' } : undefined
}

/** The agent that a choice names may be disabled now. */
function isOffered({ offered }: AgentSetup, choice: Choice): boolean {
  return typeof choice === 'string' || offered.specs.some(({ name }) => name === choice.tool)
}
