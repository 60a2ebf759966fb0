/**
 * Agents as tools: what a model is offered for the agents that it may call. Pure: derived from the definitions. What is
 * recorded of a call of one of these tools is decided in child-calls.ts.
 *
 * - An agent that answers once is a tool of its own name. Agents that stay for further messages (`resumable`) share
 *   three tools: `subagent_create`, `subagent_message` and `subagent_list`.
 */
import { z } from 'zod'
import type { App } from '../../agent/app.js'
import type { AgentDefinition, SubagentTool } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import { lazy } from '../../core/schema.js'
import type { Schema } from '../../core/schema.js'
import type { ToolSpec } from '../../models/port.js'
import { attachments, messageArgs } from './child-message.js'
import { toolSpec } from '../../agent/tool-spec.js'

/** An agent that may be called. */
export interface ChildTool extends SubagentTool {
  /** The `requiredSchema` of its prompt: the args that it must be given. */
  readonly required?: Schema
}

export interface ChildTools {
  readonly byName: ReadonlyMap<string, ChildTool>
  /** The tools that the model is offered for them. */
  readonly tools: readonly ToolSpec[]
}

const displayName = lazy(() => z.string().trim().min(1).describe('A name for it, for people.'))
const steering = lazy(() =>
  z
    .boolean()
    .optional()
    .describe('Say it into what it is doing now. Without this it does that first, and answers this message by itself.'),
)
export const sendArgs = lazy(() =>
  z.object({
    reference: z.string().describe('Which one, as subagent_create or subagent_list named it.'),
    message: z.string().min(1),
    attachments: attachments(),
    steer: steering(),
  }),
)
export const listArgs = lazy(() => z.object({}))

/** The args of `subagent_create` for these agents. */
export function createArgs(lasting: readonly ChildTool[]) {
  return z.object({
    agent: z.enum(lasting.map(({ name }) => name)),
    name: displayName(),
    message: lasting.some(({ required }) => required)
      ? messageArgs().shape.message.optional()
      : messageArgs().shape.message,
    attachments: attachments(),
    arguments: z.record(z.string(), z.json()).optional().describe('What the agent asks for besides, if anything.'),
  })
}

/** The args of an agent's own tool: what its prompt requires, or a message. */
export function argsOf({ required, initAgentNameProperty: name }: ChildTool): Schema {
  return required ?? (name === undefined ? messageArgs() : messageArgs().extend({ [name]: displayName() }))
}

export function isLasting({ resumable }: ChildTool): boolean {
  return Boolean(resumable)
}

export function childToolsOf(
  app: App,
  subagents: readonly SubagentTool[],
  { supervision }: Pick<AgentDefinition, 'supervision'> = {},
): ChildTools {
  const all = subagents.map((subagent): ChildTool => {
    const agent = app.agents.get(subagent.name)
    const required = app.prompts.get(agent?.sideA.prompt ?? '')?.requiredSchema
    const budget = subagent.budget ?? agent?.budget
    return { ...(supervision && !subagent.resumable && { supervision }), ...subagent, ...defined({ required, budget }) }
  })
  const lasting = all.filter(isLasting)
  const direct = all.filter((tool) => !isLasting(tool))
  const tools = direct.map((tool) => toolSpec(tool.name, descriptionOf(app, tool), argsOf(tool)))
  if (lasting.length > 0) tools.push(...lastingTools(app, lasting))
  return { byName: new Map(all.map((tool) => [tool.name, tool])), tools }
}

function descriptionOf(app: App, { name }: ChildTool): string {
  return app.agents.get(name)?.toolDescription ?? `The agent ${name}.`
}

function lastingTools(app: App, lasting: readonly ChildTool[]): readonly ToolSpec[] {
  const agents = lasting.map((tool) => {
    const args = tool.required && ` Its arguments: ${JSON.stringify(toolSpec(tool.name, '', tool.required).parameters)}`
    return `${tool.name}: ${descriptionOf(app, tool)}${args ?? ''}`
  })
  return [
    toolSpec(
      'subagent_create',
      ['Starts an agent of its own that stays for further messages, and gives its reference. Agents:', ...agents].join(
        '\n',
      ),
      createArgs(lasting),
    ),
    toolSpec('subagent_message', 'Says something to an agent that was created before.', sendArgs()),
    toolSpec('subagent_list', 'The agents that were created here, with what they do now.', listArgs()),
  ]
}
