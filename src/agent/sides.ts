/**
 * The sides of an agent, and the roles that they give to tools, in the form in which these are recorded with calls.
 */
import { defined } from '../core/defined.js'
import type { SideName } from '../core/records/message.js'
import type { SessionRole } from '../core/records/session.js'
import type { AgentDefinition, SessionTool, Side } from './define.js'

/** Undefined for side B of an agent with one side: that is a person. */
export function sideOf(agent: AgentDefinition, side: SideName): Side | undefined {
  if (side === 'a') return agent.sideA
  return agent.type === 'dual_ai' ? agent.sideB : undefined
}

/** The sides that are models. While an app is checked, a required side may be missing. */
export function sidesOf(agent: AgentDefinition): readonly Side[] {
  return [agent.sideA, ...('sideB' in agent ? [agent.sideB] : [])]
}

export interface NamedRole {
  readonly name: string
  readonly field: 'stopTool' | 'sessionStop' | 'sessionFail' | 'sessionStatus'
  readonly role: SessionRole
}

export function sessionToolsOf(side: Side): readonly NamedRole[] {
  const { stopTool, stopToolResponseProperty, sessionStop, sessionFail, sessionStatus } = side
  const pass: readonly NamedRole[] =
    stopTool === undefined
      ? []
      : [
          {
            name: stopTool,
            field: 'stopTool',
            role: { does: 'pass', ...defined({ message: stopToolResponseProperty }) },
          },
        ]
  return [
    ...named('sessionFail', 'fail', sessionFail),
    ...named('sessionStop', 'stop', sessionStop),
    ...named('sessionStatus', 'status', sessionStatus),
    ...pass,
  ]
}

function named(
  field: NamedRole['field'],
  does: SessionRole['does'],
  tool: string | SessionTool | undefined,
): readonly NamedRole[] {
  if (tool === undefined) return []
  const { name, messageProperty, attachmentsProperty }: SessionTool = typeof tool === 'string' ? { name: tool } : tool
  return [{ name, field, role: { does, ...defined({ message: messageProperty, attachments: attachmentsProperty }) } }]
}
