/**
 * Agents as tools: what a model may ask of children, and what is recorded of it. Everything that a definition decides
 * about a child is decided here, once.
 */
import { z } from 'zod'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import type { SubagentTool } from '../agent/define.js'
import { failure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { ChildCall, RecordedCall } from '../core/record.js'
import type { RequestedCall, ToolSpec } from '../models/port.js'
import { checkArgs } from '../tools/args.js'
import { newChild } from './child-call.js'
import type { ChildLimits, Family } from './child-call.js'
import { attachments, messageArgs } from './opening.js'
import { toolSpec as spec } from './tool-spec.js'

export interface Relations {
  readonly byName: ReadonlyMap<string, SubagentTool>
  /** Tools that the model is offered for them. */
  readonly tools: readonly ToolSpec[]
}

const sendArgs = z.object({ reference: z.string().describe('Which one, as subagent_create or subagent_list named it.'), message: z.string().min(1), attachments })
const listArgs = z.object({})

export function relationsOf(app: App, subagents: readonly SubagentTool[]): Relations {
  const lasting = subagents.filter(({ resumable }) => resumable)
  const direct = subagents.filter(({ resumable }) => !resumable)
  const described = (name: string): string => app.agents.get(name)?.toolDescription ?? `The agent ${name}.`
  const tools = direct.map(({ name }) => spec(name, described(name), messageArgs))
  if (lasting.length > 0) {
    const which = lasting.map(({ name }) => `${name}: ${described(name)}`).join('\n')
    tools.push(
      spec('subagent_create', `Starts an agent of its own that stays for further messages, and gives its reference. Agents:\n${which}`, createArgs(lasting)),
      spec('subagent_message', 'Says something to an agent that was created before.', sendArgs),
      spec('subagent_list', 'The agents that were created here, with what they do now.', listArgs),
    )
  }
  return { byName: new Map(subagents.map((subagent) => [subagent.name, subagent])), tools }
}

function createArgs(lasting: readonly SubagentTool[]) {
  return z.object({
    agent: z.enum(lasting.map(({ name }) => name)),
    name: z.string().trim().min(1).describe('A name for it, for people.'),
    message: messageArgs.shape.message,
    attachments,
  })
}

/** Undefined: the tool is none of these. */
export function recordChildCall({ byName }: Relations, family: Family, { index, tool, args }: RequestedCall & { readonly index: number }): RecordedCall | undefined {
  if (tool === 'subagent_list' || tool === 'subagent_message' || tool === 'subagent_create') {
    const lasting = [...byName.values()].filter(({ resumable }) => resumable)
    return lasting.length > 0 ? recordLasting(lasting, family, { index, tool, args }) : undefined
  }
  const relation = byName.get(tool)
  if (!relation || relation.resumable) return undefined
  const checked = checkArgs(tool, messageArgs, args)
  if (!checked.ok) return { tool, args: checked.sent, refused: checked.failure }
  const { message, attachments: given } = messageArgs.parse(checked.args)
  return create(family, { index, tool, args: checked.args, relation, text: message, ...(given && { given }) })
}

function recordLasting(lasting: readonly SubagentTool[], family: Family, { index, tool, args }: RequestedCall & { readonly index: number }): RecordedCall {
  const schema = tool === 'subagent_create' ? createArgs(lasting) : tool === 'subagent_message' ? sendArgs : listArgs
  const checked = checkArgs(tool, schema, args)
  if (!checked.ok) return { tool, args: checked.sent, refused: checked.failure }
  if (tool === 'subagent_list') return { tool, args: checked.args, answered: listed(family.state) }
  if (tool === 'subagent_message') return send(lasting, family, { tool, args: checked.args, ...sendArgs.parse(checked.args) })
  const { agent, name, message, attachments: given } = createArgs(lasting).parse(checked.args)
  const relation = lasting.find((each) => each.name === agent)
  return relation ? create(family, { index, tool, args: checked.args, relation, text: message, name, ...(given && { given }) }) : { tool, args: checked.args, refused: failure('UNKNOWN_AGENT', `there is no agent ${agent} here`) }
}

function listed({ children }: ThreadState): Json {
  return [...children].filter(([, { lasting: stays }]) => stays).map(([reference, { agent, name = '', busy, over, says }]) => ({ reference, agent, name, status: over ? 'done' : busy > 0 ? 'working' : 'waiting for a message', ...(says !== undefined && { says }) }))
}

interface Creation {
  readonly index: number
  readonly tool: string
  readonly args: Json
  readonly relation: SubagentTool
  readonly text: string
  readonly name?: string
  /** Attachments. */
  readonly given?: readonly string[]
}

function create(family: Family, { index, tool, args, relation, text, name, given }: Creation): RecordedCall {
  const { state, limits, asked } = family
  const { maxInstances } = relation.resumable || {}
  if (maxInstances !== undefined) {
    const live = [...state.children].filter(([, { agent, over }]) => agent === relation.name && !over).map(([reference]) => reference)
    if (live.length + (asked.get(relation.name) ?? 0) >= maxInstances) {
      return { tool, args, refused: failure('TOOL_NOT_ALLOWED', `there may be ${maxInstances} of ${relation.name} at once, and there are: ${live.join(', ')}; speak to one of them with subagent_message`) }
    }
  }
  const born = newChild(family, index, relation.name)
  if ('code' in born) return { tool, args, refused: born }
  const child: ChildCall = {
    ...born,
    text,
    ...(given && { attachments: given }),
    ...(relation.files && { files: relation.files }),
    ...how(relation, limits),
    ...(name !== undefined && { name }),
  }
  return { tool, args, child }
}

function send(lasting: readonly SubagentTool[], { state, limits }: Family, { tool, args, reference, message, attachments: given }: { tool: string; args: Json; reference: string; message: string; attachments?: readonly string[] | undefined }): RecordedCall {
  const child = state.children.get(reference)
  const relation = child && lasting.find(({ name }) => name === child.agent)
  if (!child || !relation || child.over) {
    const live = [...state.children].filter(([, { over, lasting: stays }]) => stays && !over).map(([each]) => each)
    return { tool, args, refused: failure('TOOL_INPUT_INVALID', `there is no agent ${JSON.stringify(reference)} to speak to; there are: ${live.join(', ') || 'none'}`) }
  }
  return { tool, args, child: { thread: child.id, agent: child.agent, reference, text: message, ...(given && { attachments: given }), ...how(relation, limits) } }
}

function how({ blocking = true, resumable }: SubagentTool, { maxParallelChildren }: ChildLimits): Pick<ChildCall, 'blocking' | 'lasting' | 'reports' | 'maxParallel'> {
  return { blocking, lasting: Boolean(resumable), reports: (resumable || undefined)?.parentCommunication ?? 'implicit', maxParallel: maxParallelChildren }
}
