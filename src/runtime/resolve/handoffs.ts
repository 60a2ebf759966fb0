/**
 * Agents that take over: a call of one hands the thread to it (S9). Nothing is run; what the call says is recorded,
 * and the fold has the new agent speak when the calls of the step are answered.
 *
 * - One agent takes over: the first that a reply names; the calls of others are refused.
 * - Nobody hands over to itself.
 */
import { z } from 'zod'
import type { App } from '../../agent/app.js'
import type { AgentDefinition } from '../../agent/define.js'
import { failure } from '../../core/failure.js'
import type { RecordedCall } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { RequestedCall, ToolSpec } from '../../models/port.js'
import { checkArgs } from '../../tools/args.js'
import { toolSpec } from './tool-spec.js'

const handoffArgs = z.object({
  message: z.string().optional().describe('What the one who takes over should know besides what was said.'),
})

export interface Handoffs {
  /** What each must be given. */
  readonly byName: ReadonlyMap<string, Schema>
  readonly tools: readonly ToolSpec[]
}

export function handoffsOf(app: App, agents: readonly AgentDefinition[], from: string): Handoffs {
  const others = agents.filter(({ name }) => name !== from)
  const required = ({ sideA }: AgentDefinition) => app.prompts.get(sideA.prompt)?.requiredSchema ?? handoffArgs
  return {
    byName: new Map(others.map((agent) => [agent.name, required(agent)])),
    tools: others.map((agent) => toolSpec(agent.name, describeHandoff(agent), required(agent))),
  }
}

function describeHandoff({ name, toolDescription = '' }: AgentDefinition): string {
  const what = `Hands this conversation over to the agent ${name}, which goes on with it in your place.`
  return `${what} ${toolDescription}`.trim()
}

/** What calls of one reply share. */
export interface HandoffReply {
  to?: string
}

/** Undefined: the tool is none of these. */
export function recordHandoff(
  { byName }: Handoffs,
  handed: HandoffReply,
  { tool, args }: RequestedCall,
): RecordedCall | undefined {
  const schema = byName.get(tool)
  if (!schema) return undefined
  const checked = checkArgs(tool, schema, args)
  if (!checked.ok) return { tool, args: checked.sent, refused: checked.failure }
  if (handed.to !== undefined)
    return {
      tool,
      args: checked.args,
      refused: failure(
        'TOOL_NOT_ALLOWED',
        `this conversation was handed over to ${handed.to} just before; one agent can have it, so ${tool} was not ` +
          `called`,
      ),
    }
  handed.to = tool
  return { tool, args: checked.args, answered: 'Handoff complete', handoff: tool }
}
