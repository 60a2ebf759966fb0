/**
 * Agents that take over: a call of one hands the thread to it (S9). Nothing is run; the call is recorded with its
 * answer, and the new agent speaks when the calls of the step are answered. Pure but for `HandoffReply`, which is
 * shared by the calls of one reply.
 *
 * - One agent takes over: the first that a reply names; the calls of others are refused.
 * - No agent hands over to itself.
 */
import { z } from 'zod'
import type { App } from '../../agent/app.js'
import type { AgentDefinition } from '../../agent/define.js'
import { failure } from '../../core/failure.js'
import type { RecordedCall } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { RequestedCall, ToolSpec } from '../../models/port.js'
import { checkArgs } from '../../tools/args.js'
import { toolSpec } from '../../agent/tool-spec.js'

const handoffArgs = z.object({
  message: z.string().optional().describe('What the one who takes over should know besides what was said.'),
})

export interface Handoffs {
  /** The args of each. */
  readonly byName: ReadonlyMap<string, Schema>
  readonly tools: readonly ToolSpec[]
}

export function handoffsOf(app: App, agents: readonly AgentDefinition[], from: string): Handoffs {
  const others = agents.filter(({ name }) => name !== from)
  const argsOf = ({ sideA }: AgentDefinition) => app.prompts.get(sideA.prompt)?.requiredSchema ?? handoffArgs
  return {
    byName: new Map(others.map((agent) => [agent.name, argsOf(agent)])),
    tools: others.map((agent) => toolSpec(agent.name, descriptionOf(agent), argsOf(agent))),
  }
}

function descriptionOf({ name, toolDescription }: AgentDefinition): string {
  const purpose = `Hands this conversation over to the agent ${name}, which goes on with it in your place.`
  return toolDescription === undefined ? purpose : `${purpose} ${toolDescription}`.trim()
}

/** The agent that takes over, once a call of the reply has named one. */
export interface HandoffReply {
  to?: string
}

/** Undefined: the call names no agent that may take over. */
export function recordHandoff(
  { byName }: Handoffs,
  reply: HandoffReply,
  { tool, args }: RequestedCall,
): RecordedCall | undefined {
  const schema = byName.get(tool)
  if (!schema) return undefined
  const checked = checkArgs(tool, schema, args)
  if (!checked.ok) return { tool, args: checked.sent, refused: checked.failure }
  if (reply.to !== undefined)
    return {
      tool,
      args: checked.args,
      refused: failure(
        'TOOL_NOT_ALLOWED',
        `this conversation was handed over to ${reply.to} just before; one agent can have it, so ${tool} was not ` +
          `called`,
      ),
    }
  reply.to = tool
  return { tool, args: checked.args, answered: 'Handoff complete', handoff: tool }
}
