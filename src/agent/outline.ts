/**
 * An outline of an app as plain data: what there is to start and to call, for lists, forms and other programs. It has
 * names, descriptions and schemas; no functions, no prompts' texts, no values of variables.
 */
import { defined } from '../core/defined.js'
import type { Json } from '../core/json.js'
import { parametersOf } from './app.js'
import type { App } from './app.js'
import { agentNames, callablesOf } from './callable.js'
import type { AgentDefinition, Side, Variable } from './define.js'
import type { EndpointDefinition } from './endpoints/define-endpoint.js'
import { toolMetadata } from './effect.js'
import type { ToolMetadata } from './effect.js'

type JsonSchema = { readonly [key: string]: Json }

export interface AppOutline {
  readonly agents: readonly AgentOutline[]
  readonly tools: readonly (ToolMetadata & { readonly description?: string; readonly parameters: JsonSchema })[]
  readonly models: readonly { readonly name: string; readonly fallback: readonly string[] }[]
  /** Of its threads, by their routes. */
  readonly endpoints: readonly Pick<EndpointDefinition, 'name' | 'summary' | 'scope'>[]
}

export interface AgentOutline {
  readonly name: string
  readonly type: AgentDefinition['type']
  readonly description?: string
  readonly sides: readonly SideOutline[]
  /** Variables that it and its tools need, without their values. */
  readonly variables: readonly Pick<Variable, 'name' | 'type' | 'required' | 'description'>[]
}

export interface SideOutline {
  readonly prompt: string
  readonly label?: string
  readonly model: string
  /** Tools, agents and prompts that its model may call. */
  readonly calls: readonly string[]
}

export function outlineOf(app: App): AppOutline {
  return {
    agents: agentNames(app).flatMap((name) => {
      const agent = app.agents.get(name)
      return agent ? [agentOutline(app, agent)] : []
    }),
    tools: [...app.tools.values()].flatMap((tool) => {
      const metadata = toolMetadata(tool)
      if (!metadata) return []
      const parameters = parametersOf(app, tool.name)
      return [{ ...metadata, parameters, ...defined({ description: tool.description }) }]
    }),
    models: [...app.models.values()].map(({ name, fallback = [] }) => ({ name, fallback })),
    endpoints: [...app.endpoints.values()].map(({ name, summary, scope }) => ({
      name,
      ...defined({ summary, scope }),
    })),
  }
}

function agentOutline(app: App, agent: AgentDefinition): AgentOutline {
  const sides = agent.type === 'dual_ai' ? [agent.sideA, agent.sideB] : [agent.sideA]
  const names = sides.flatMap((side) => sideOutline(app, side).calls)
  const declared = [
    ...(agent.variables ?? []),
    ...sides.flatMap(({ prompt }) => app.prompts.get(prompt)?.variables ?? []),
    ...names.flatMap((name) => app.tools.get(name)?.variables ?? []),
  ]
  const variables = new Map(
    declared.map(({ name, type, required, description }) => [
      name,
      { name, ...defined({ type, required, description }) },
    ]),
  )
  return {
    name: agent.name,
    type: agent.type,
    ...defined({ description: agent.toolDescription }),
    sides: sides.map((side) => sideOutline(app, side)),
    variables: [...variables.values()],
  }
}

function sideOutline(app: App, { prompt: name, label }: Side): SideOutline {
  const prompt = app.prompts.get(name)
  const { tools, handoffs, subagents, subprompts } = prompt
    ? callablesOf(app, prompt)
    : { tools: [], handoffs: [], subagents: [], subprompts: [] }
  return {
    prompt: name,
    model: prompt?.model ?? '',
    calls: [...tools, ...[...handoffs, ...subagents, ...subprompts].map((each) => each.name)],
    ...defined({ label }),
  }
}
