/**
 * What the names among the tools of a prompt mean: a tool, an agent to hand the thread over to, or an agent or prompt
 * that answers the call in a thread of its own.
 *
 * - A name is unique among everything that may be called (checks/calls.ts).
 */
import type { Definitions } from './app.js'
import type { AgentDefinition, PromptDefinition, SubagentTool, SubpromptTool, ToolDefinition } from './define.js'

export interface Callables {
  readonly tools: readonly string[]
  /** Agents that the thread can be handed over to. */
  readonly handoffs: readonly AgentDefinition[]
  readonly subagents: readonly SubagentTool[]
  readonly subprompts: readonly SubpromptTool[]
}

export function callablesOf(
  { agents, prompts }: Pick<Definitions, 'agents' | 'prompts'>,
  { tools: named = [] }: PromptDefinition,
): Callables {
  const tools: string[] = []
  const handoffs: AgentDefinition[] = []
  const subagents: SubagentTool[] = []
  const subprompts: SubpromptTool[] = []
  for (const each of named) {
    const name = typeof each === 'string' ? each : each.name
    const agent = agents.get(name)
    if (prompts.get(name)?.exposeAsTool) subprompts.push(typeof each === 'string' ? { name } : each)
    else if (typeof each !== 'string') subagents.push(each)
    else if (agent?.exposeAsTool) handoffs.push(agent)
    else tools.push(name)
  }
  return { tools, handoffs, subagents, subprompts }
}

const asAgent = 'prompt:'

/** The agent of one step that answers a call of a prompt. No definition can have its name, because of the colon. */
export function agentOfPrompt(name: string): AgentDefinition {
  return { kind: 'agent', name: `${asAgent}${name}`, type: 'ai_human', sideA: { prompt: name, maxSteps: 1 } }
}

/** Whether the agent was made by `agentOfPrompt`. */
export function isOfPrompt(agent: string): boolean {
  return agent.startsWith(asAgent)
}

/** Names of the agents that the app defines itself. */
export function agentNames({ agents }: Pick<Definitions, 'agents'>): readonly string[] {
  return [...agents.keys()].filter((name) => !isOfPrompt(name))
}

/** Names of all tools that prompts and tools of the app refer to, its own or built in. */
export function toolsNamed(
  app: Pick<Definitions, 'agents' | 'prompts'> & { readonly tools: ReadonlyMap<string, ToolDefinition> },
): ReadonlySet<string> {
  return new Set([
    ...[...app.prompts.values()].flatMap((prompt) => callablesOf(app, prompt).tools),
    ...[...app.tools.values()].flatMap((tool) => tool.uses ?? []),
  ])
}
