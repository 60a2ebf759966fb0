/**
 * Agents as tools: what a model may ask of children, and what is recorded of it. Everything that a definition decides
 * about a child is decided here, once.
 *
 * RL1 A child's id is made of its parent and the call that asks for it: asking twice is asking once.
 * RL2 Models know children by their reference (`writer-3`), never by their id; a reference is never used twice.
 */
import { z } from 'zod'
import { countOf } from '../../actors/thread/fold-turn.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import type { PromptDefinition, SubagentTool } from '../agent/define.js'
import { subagentsOf } from '../agent/mentions.js'
import { callKey } from '../core/effect.js'
import { failure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { ChildCall, RecordedCall } from '../core/record.js'
import type { RequestedCall, ToolSpec } from '../models/port.js'
import { checkArgs } from '../tools/args.js'
import { keyOf } from './calls.js'

export interface Relations {
  readonly byName: ReadonlyMap<string, SubagentTool>
  /** Tools that the model is offered for them. */
  readonly tools: readonly ToolSpec[]
}

export interface ChildLimits {
  readonly maxParallelChildren: number
  readonly maxDepth: number
}

const attachments = z.array(z.string().startsWith('/')).optional().describe('Absolute paths of your own files and directories that it gets, in /attachments.')
const messageArgs = z.object({ message: z.string().min(1).describe('What it shall do, with all that it needs to know: it sees nothing else.'), attachments })
const sendArgs = z.object({ reference: z.string().describe('Which one, as subagent_create or subagent_list named it.'), message: z.string().min(1), attachments })
const listArgs = z.object({})

export function relationsOf(app: App, prompt: PromptDefinition): Relations {
  const subagents = subagentsOf(prompt)
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

function spec(name: string, description: string, args: z.ZodType): ToolSpec {
  const { $schema: _, ...parameters } = z.toJSONSchema(args, { io: 'input' }) as { [key: string]: Json }
  return { name, description, parameters }
}

/** What calls of one reply share: references are counted on from the state. */
export interface Family {
  readonly state: ThreadState
  readonly step: number
  readonly limits: ChildLimits
  /** Of each agent, asked for in this reply. */
  readonly asked: Map<string, number>
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
  return [...children].filter(([, { lasting: stays }]) => stays).map(([reference, { agent, name = '', busy, over }]) => ({ reference, agent, name, status: over ? 'done' : busy > 0 ? 'working' : 'waiting for a message' }))
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

function create({ state, step, limits, asked }: Family, { index, tool, args, relation, text, name, given }: Creation): RecordedCall {
  const refuse = (message: string): RecordedCall => ({ tool, args, refused: failure('TOOL_NOT_ALLOWED', message) })
  if (state.path.length >= limits.maxDepth) return refuse(`agents may call agents ${limits.maxDepth} deep, and this is as deep as it goes; do it yourself`)
  const before = asked.get(relation.name) ?? 0
  const { maxInstances } = relation.resumable || {}
  if (maxInstances !== undefined) {
    const live = [...state.children].filter(([, { agent, over }]) => agent === relation.name && !over).map(([reference]) => reference)
    if (live.length + before >= maxInstances) return refuse(`there may be ${maxInstances} of ${relation.name} at once, and there are: ${live.join(', ')}; speak to one of them with subagent_message`)
  }
  asked.set(relation.name, before + 1)
  const child: ChildCall = {
    thread: `c_${keyOf([state.id, callKey(step, index)])}`, // RL1
    create: true,
    agent: relation.name,
    reference: `${relation.name}-${countOf(state.named, relation.name) + before + 1}`, // RL2
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
