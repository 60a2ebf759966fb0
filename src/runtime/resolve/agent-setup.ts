/**
 * An agent as one step uses it: its side, prompt, model, and every tool that its model is offered. Derived from the
 * definitions alone (pure), so it is made once for each agent, side and set of disabled agents. The request of a step
 * is made of it in model-request.ts, the record of its reply in model-reply.ts.
 */
import { z } from 'zod'
import type { DecisionContext } from '../../../actors/thread/decide/decision.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { currentView } from '../../../actors/thread/turn/context.js'
import { parametersOf } from '../../agent/app.js'
import type { App } from '../../agent/app.js'
import { agentNames, callablesOf, isOfPrompt } from '../../agent/callable.js'
import type { AgentDefinition, ModelDefinition, PromptDefinition, Side, Variable } from '../../agent/define.js'
import { promptPieces } from '../../agent/prompt-parts.js'
import { sessionToolsOf, sideOf } from '../../agent/sides.js'
import { skillsOf, skillsText } from '../../agent/skills.js'
import { noItems } from '../../core/lists.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { SideName } from '../../core/records/message.js'
import type { SessionRole } from '../../core/records/session.js'
import type { Schema } from '../../core/schema.js'
import { coreOf, jsonSchemaOf, lazy } from '../../core/schema.js'
import type { ToolSpec } from '../../models/port.js'
import { skillToolNames } from '../../tools/own/skills.js'
import { childToolsOf } from './child-tools.js'
import type { ChildTools } from './child-tools.js'
import { handoffsOf } from './handoffs.js'
import type { Handoffs } from './handoffs.js'
import { promptToolsOf } from './prompt-calls.js'
import type { PromptTools } from './prompt-calls.js'
import { toolSpec } from '../../agent/tool-spec.js'

const defaultMaxSteps = 100
const defaultSessionTurns = 100
/** Reads the whole of a result that was cut. */
const archiveTool = 'get_tool_response'

/** The tools of one step: their specs for the model, and the names of those that the app or Skein defines. */
export interface OfferedTools {
  readonly specs: readonly ToolSpec[]
  readonly allowed: ReadonlySet<string>
}

export interface AgentSetup {
  readonly agent: AgentDefinition
  readonly side: Side
  /** Tools whose call passes or ends a session, by name. */
  readonly roles: ReadonlyMap<string, SessionRole>
  readonly prompt: PromptDefinition
  /** The system prompt, with the variables that are replaced by their values. */
  readonly text: readonly (string | Variable)[]
  readonly model: ModelDefinition
  readonly offered: OfferedTools
  /** The same with the tool that reads archived results; for threads that have some. */
  readonly offeredWithArchive: () => OfferedTools
  /** Agents that may be called. */
  readonly childTools: ChildTools
  /** Agents that may take over. */
  readonly handoffs: Handoffs
  /** Prompts that may be called. */
  readonly promptTools: PromptTools
  /** A prompt called as a tool: its turn has one request, whatever the reply is. */
  readonly once: boolean
  /** The form that the turn's output must have. */
  readonly response?: ResponseForm
  /** Names of the skills that it may load, where it has some. */
  readonly skills?: readonly string[]
}

export interface ResponseForm {
  readonly schema: Schema
  /** The output is no object, and a tool's args must be one: the output is their field `value`. */
  readonly wrapped: boolean
}

export interface SetupOptions {
  readonly side?: SideName
  /** Agents that the thread's flags leave out (S5). */
  readonly disabled?: readonly string[]
}

/** Setups by agent, side and disabled agents; each is made when it is first needed. */
export function createAgentSetups(
  app: App,
): (agent: string, side?: SideName, disabled?: readonly string[]) => AgentSetup {
  const made = new Map<string, AgentSetup>()
  return (agent, side = 'a', disabled = noItems) => {
    const key = disabled.length > 0 ? [side, agent, ...disabled].join(' ') : `${side} ${agent}`
    const setup = made.get(key) ?? createAgentSetup(app, agent, { side, disabled })
    made.set(key, setup)
    return setup
  }
}

export function createAgentSetup(
  app: App,
  agentName: string,
  { side: sideName = 'a', disabled = [] }: SetupOptions = {},
): AgentSetup {
  const { agent, side, prompt, model } = definitionsOf(app, agentName, sideName)
  const { tools: names, subagents, subprompts, handoffs: others } = callablesOf(app, prompt)
  const enabled = subagents.filter(({ name }) => !disabled.includes(name))
  const childTools = childToolsOf(app, enabled, agent)
  const promptTools = promptToolsOf(app, subprompts)
  const once = isOfPrompt(agentName)
  // A prompt tool has one request: an agent that took over would never speak.
  const handoffs = handoffsOf(app, once ? [] : others, agentName)
  const response = prompt.outputSchema && responseForm(prompt.outputSchema)
  // Nor could it follow a skill that it loads.
  const skills = once ? [] : skillsOf(app, prompt)
  const own = skills.length > 0 ? [...names, ...skillToolNames] : names
  // Tools of the provider are offered, and never called here.
  const callable = own.filter((name) => !app.tools.get(name)?.provider)
  const specs = [
    ...own.map((name) => specOf(app, name)),
    ...childTools.tools,
    ...promptTools.tools,
    ...handoffs.tools,
    ...(response ? [responseSpec(response)] : []),
  ]
  return {
    agent,
    side,
    roles: new Map(sessionToolsOf(side).map(({ name, role }) => [name, role])),
    prompt,
    text: [...promptPieces(app, prompt), ...(skills.length > 0 ? [skillsText(skills)] : [])],
    model,
    offered: { specs, allowed: new Set(callable) },
    offeredWithArchive: lazy(() => ({
      specs: [...specs, specOf(app, archiveTool)],
      allowed: new Set([...callable, archiveTool]),
    })),
    childTools,
    handoffs,
    promptTools,
    once,
    ...(response && { response }),
    ...(skills.length > 0 && { skills: skills.map(({ name }) => name) }),
  }
}

/**
 * The tools that a thread is offered now: a result that was cut can be asked for. Where results may be archived it is
 * offered from the first step: tools are the beginning of a request, and a provider's cache holds while that stays.
 */
export function offeredTo({ offered, offeredWithArchive }: AgentSetup, state: ThreadState): OfferedTools {
  return state.archived > 0 || currentView(state) ? offeredWithArchive() : offered
}

function definitionsOf(
  app: App,
  agentName: string,
  sideName: SideName,
): Pick<AgentSetup, 'agent' | 'side' | 'prompt' | 'model'> {
  const agent = app.agents.get(agentName)
  if (!agent)
    throw new SkeinError(
      'UNKNOWN_AGENT',
      `the app has no agent ${JSON.stringify(agentName)}; it has: ${agentNames(app).join(', ') || 'none'}`,
    )
  const side = sideOf(agent, sideName)
  if (!side)
    throw new SkeinError(
      'UNKNOWN_PROMPT',
      `agent ${agentName} had a side B when this turn began, and has none any more; start another turn`,
    )
  const prompt = app.prompts.get(side.prompt)
  const model = prompt && app.models.get(prompt.model)
  if (!prompt || !model) throw new SkeinError('UNKNOWN_PROMPT', `agent ${agentName} lost its prompt or model`)
  return { agent, side, prompt, model }
}

function specOf(app: App, name: string): ToolSpec {
  return {
    name,
    description: app.tools.get(name)?.description ?? '',
    parameters: parametersOf(app, name),
    ...defined({ provider: app.tools.get(name)?.provider }),
  }
}

function responseForm(outputSchema: Schema): ResponseForm {
  const isObjectSchema = jsonSchemaOf(outputSchema)['type'] === 'object'
  return isObjectSchema
    ? { schema: outputSchema, wrapped: false }
    : { schema: z.object({ value: coreOf(outputSchema) }), wrapped: true }
}

function responseSpec({ schema }: ResponseForm): ToolSpec {
  const description = 'Give the final answer in the form that was asked for. Call it once, when all work is done.'
  return toolSpec('response', description, schema)
}

/** Undefined: the agent of a turn, or one that took over, is not in this version of the app. */
export function maxStepsOf(agent: AgentDefinition | undefined, side: SideName = 'a'): number {
  return (agent && sideOf(agent, side)?.maxSteps) ?? defaultMaxSteps
}

/** Steps that the side which speaks may make. */
export function maxStepsNow({ agents }: App, { agent, turn }: Pick<ThreadState, 'agent' | 'turn'>): number {
  return maxStepsOf(agents.get(agent), turn?.session?.side)
}

/** Of an agent with two sides: how often they may speak in a turn. */
export function sessionRulesOf({ agents }: App, name: string): DecisionContext['session'] {
  const agent = agents.get(name)
  return agent?.type === 'dual_ai' ? { maxTurns: agent.maxSessionTurns ?? defaultSessionTurns } : undefined
}
