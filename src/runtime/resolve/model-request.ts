/**
 * What a thread asks of its model in one step. Pure: a function of the agent's setup, the thread's state and its
 * variables.
 *
 * - The request holds the thread's own transcript, or a window of it that grows by appending; a copy only where hooks
 *   add a message for this request alone.
 */
import { stepsOf } from '../../../actors/thread/turn/session.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { ModelRequest } from '../../models/port.js'
import type { Environments } from '../secrets/environment.js'
import { offeredTo } from './agent-setup.js'
import type { AgentSetup } from './agent-setup.js'
import { windowOf } from './prompt-window.js'
import { isForced } from './reply-meaning.js'

/** What a request needs besides the agent and the thread. */
export interface RequestSources {
  readonly envs: Environments
  readonly read: NonNullable<ModelRequest['read']>
}

export function toRequest(setup: AgentSetup, state: ThreadState, { envs, read }: RequestSources): ModelRequest {
  const { parallelToolCalls, reasoning, temperature, maxOutputTokens, promptCache, providerOptions } = setup.prompt
  return {
    system: setup.text.map((piece) => (typeof piece === 'string' ? piece : envs.promptText(state, piece))).join(''),
    messages: messagesOf(setup, state),
    tools: offeredTo(setup, state).specs,
    read,
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

/** Messages that hooks add for one request stand behind all others: what comes before is as it was. */
function messagesOf({ prompt }: AgentSetup, state: ThreadState): ModelRequest['messages'] {
  const window = windowOf(state, prompt)
  return state.turn?.once ? [...window, ...state.turn.once] : window
}

type Choice = NonNullable<ModelRequest['toolChoice']>

/** A call is forced until it was made; otherwise the model would have to make it in every step. */
function choiceOf(setup: AgentSetup, { turn }: ThreadState): Choice | undefined {
  const { toolChoice, name } = setup.prompt
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
