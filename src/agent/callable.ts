/**
 * What the names among a prompt's tools mean: a tool, an agent that takes over the thread, an agent or a prompt that
 * answers the call in a thread of its own.
 *
 * - A name means one thing: what may be called shares its name with nothing else that may be (call-checks.ts).
 */
import type { Definitions } from './app.js'
import type { AgentDefinition, PromptDefinition, SubagentTool, SubpromptTool, ToolDefinition } from './define.js'

export interface Callables {
  readonly tools: readonly string[]
  /** Agents that take over. */
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

/** Who answers when a prompt is called: an agent of one step. No other can have its name. */
export function agentOfPrompt(name: string): AgentDefinition {
  return { kind: 'agent', name: `${asAgent}${name}`, type: 'ai_human', sideA: { prompt: name, maxSteps: 1 } }
}

/** It was made of a prompt. */
export function isOfPrompt(agent: string): boolean {
  return agent.startsWith(asAgent)
}

/** Names of those that the app defines. */
export function agentNames({ agents }: Pick<Definitions, 'agents'>): readonly string[] {
  return [...agents.keys()].filter((name) => !isOfPrompt(name))
}

/** Names of tools that the app takes from somewhere: its own, or built in. */
export function toolsNamed(
  app: Pick<Definitions, 'agents' | 'prompts'> & { readonly tools: ReadonlyMap<string, ToolDefinition> },
): ReadonlySet<string> {
  return new Set([
    ...[...app.prompts.values()].flatMap((prompt) => callablesOf(app, prompt).tools),
    ...[...app.tools.values()].flatMap((tool) => tool.uses ?? []),
  ])
}
