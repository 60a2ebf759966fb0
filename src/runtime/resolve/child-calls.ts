/**
 * Agents as tools: what a model may ask of children, and what is recorded of it. Everything that a definition decides
 * about a child is decided here, once.
 */
import { z } from 'zod'
import { admitInstance } from '../../../actors/thread/children/admission.js'
import { attachmentsFor } from '../../../actors/thread/children/start.js'
import type { App } from '../../agent/app.js'
import type { AgentDefinition, SubagentTool } from '../../agent/define.js'
import { toAmounts } from '../../core/budget.js'
import { defined } from '../../core/defined.js'
import { hasValue } from '../../core/env.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import type { ChildCall, Deferred, RecordedCall, Sealed } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { RequestedCall, ToolSpec } from '../../models/port.js'
import { checkArgs } from '../../tools/args.js'
import { newChild } from './child-call.js'
import type { ChildLimits, ReplyContext } from './child-call.js'
import { attachments, messageArgs, childMessage } from './child-message.js'
import type { MessageMapping, ChildMessage } from './child-message.js'
import { toolSpec as spec } from './tool-spec.js'

/** An agent that may be called, with what it must be given. */
interface Relation extends SubagentTool {
  readonly required?: Schema
}

export interface ChildTools {
  readonly byName: ReadonlyMap<string, Relation>
  /** Tools that the model is offered for them. */
  readonly tools: readonly ToolSpec[]
}

const displayName = z.string().trim().min(1).describe('A name for it, for people.')
const steering = z
  .boolean()
  .optional()
  .describe('Say it into what it is doing now. Without this it does that first, and answers this message by itself.')
const sendArgs = z.object({
  reference: z.string().describe('Which one, as subagent_create or subagent_list named it.'),
  message: z.string().min(1),
  attachments,
  steer: steering,
})
const listArgs = z.object({})

export function childToolsOf(
  app: App,
  subagents: readonly SubagentTool[],
  { supervision }: Pick<AgentDefinition, 'supervision'> = {},
): ChildTools {
  const all = subagents.map((subagent): Relation => {
    const agent = app.agents.get(subagent.name)
    const required = app.prompts.get(agent?.sideA.prompt ?? '')?.requiredSchema
    const budget = subagent.budget ?? agent?.budget
    return { ...(supervision && !subagent.resumable && { supervision }), ...subagent, ...defined({ required, budget }) }
  })
  const lasting = all.filter(({ resumable }) => resumable)
  const direct = all.filter(({ resumable }) => !resumable)
  const described = (name: string): string => app.agents.get(name)?.toolDescription ?? `The agent ${name}.`
  const tools = direct.map((relation) => spec(relation.name, described(relation.name), argsOf(relation)))
  if (lasting.length > 0) {
    const which = lasting
      .map(
        ({ name, required }) =>
          `${name}: ${described(name)}${required ? ` Its arguments: ${JSON.stringify(spec(name, '', required).parameters)}` : ''}`,
      )
      .join('\n')
    tools.push(
      spec(
        'subagent_create',
        `Starts an agent of its own that stays for further messages, and gives its reference. Agents:\n${which}`,
        createArgs(lasting),
      ),
      spec('subagent_message', 'Says something to an agent that was created before.', sendArgs),
      spec('subagent_list', 'The agents that were created here, with what they do now.', listArgs),
    )
  }
  return { byName: new Map(all.map((relation) => [relation.name, relation])), tools }
}

/** What the tool of an agent takes: what its prompt asks for, or a message. */
function argsOf({ required, initAgentNameProperty: name }: Relation): Schema {
  return required ?? (name === undefined ? messageArgs : messageArgs.extend({ [name]: displayName }))
}

function createArgs(lasting: readonly Relation[]) {
  return z.object({
    agent: z.enum(lasting.map(({ name }) => name)),
    name: displayName,
    message: lasting.some(({ required }) => required)
      ? messageArgs.shape.message.optional()
      : messageArgs.shape.message,
    attachments,
    arguments: z.record(z.string(), z.json()).optional().describe('What the agent asks for besides, if anything.'),
  })
}

type Asked = RequestedCall & { readonly index: number }

/** Undefined: the tool is none of these. */
export function recordChildCall({ byName }: ChildTools, family: ReplyContext, asked: Asked): RecordedCall | undefined {
  const { tool } = asked
  if (tool === 'subagent_list' || tool === 'subagent_message' || tool === 'subagent_create') {
    const lasting = [...byName.values()].filter(({ resumable }) => resumable)
    return lasting.length > 0 ? recordLasting(lasting, family, asked) : undefined
  }
  const relation = byName.get(tool)
  if (!relation || relation.resumable) return undefined
  const { args, ...opening } = childMessage(asked, argsOf(relation), mappingOf(relation))
  return 'refused' in opening
    ? { tool, args, refused: opening.refused }
    : create(family, { ...asked, args, relation, ...opening })
}

/** Without a schema of its own its args are those of a message. */
function mappingOf({ required, ...mapping }: Relation): MessageMapping {
  return required ? mapping : { initUserMessageProperty: 'message', initAttachmentsProperty: 'attachments', ...mapping }
}

function recordLasting(
  lasting: readonly Relation[],
  family: ReplyContext,
  { index, tool, args: sent }: Asked,
): RecordedCall {
  const schema = tool === 'subagent_create' ? createArgs(lasting) : tool === 'subagent_message' ? sendArgs : listArgs
  const checked = checkArgs(tool, schema, sent)
  if (!checked.ok) return { tool, args: checked.sent, refused: checked.failure }
  const { args } = checked
  if (tool === 'subagent_list') return { tool, args, asks: 'children' }
  if (tool === 'subagent_message') return send(lasting, family, { tool, args, ...sendArgs.parse(args) })
  const asked = createArgs(lasting).parse(args)
  const relation = lasting.find((each) => each.name === asked.agent)
  if (!relation) return { tool, args, refused: failure('UNKNOWN_AGENT', `there is no agent ${asked.agent} here`) }
  const opening = openingFor(relation, { tool, ...asked })
  return 'code' in opening
    ? { tool, args, refused: opening }
    : create(family, { index, tool, args, relation, name: asked.name, ...opening })
}

/** S4: the call that a model would make with these words, checked as its calls are. */
export function recordImmediate(
  family: ReplyContext,
  relation: Relation,
  { text, name, ...rest }: Pick<Creation, 'index' | 'text' | 'name' | 'own' | 'apart'>,
): RecordedCall {
  const { name: agent, resumable, initAgentNameProperty: property } = relation
  // One that stays has a name (S2).
  const called = name ?? (resumable ? agent : undefined)
  const given = property !== undefined && called !== undefined ? { [property]: called } : {}
  const tool = resumable ? 'subagent_create' : agent
  const more = Object.keys(given).length > 0 ? { arguments: given } : {}
  const args = resumable ? { agent, name: called ?? agent, message: text, ...more } : { message: text, ...given }
  const opening = openingFor(relation, { tool, message: text, ...more })
  if ('code' in opening) return { tool, args, refused: opening }
  return create(family, { ...rest, tool, args, relation, ...opening, ...defined({ name: called }) })
}

interface CreateAsked {
  readonly tool: string
  readonly message?: string | undefined
  readonly attachments?: readonly string[] | undefined
  readonly arguments?: Readonly<Record<string, Json>> | undefined
}

/** The message may be one of the agent's arguments; else it stands before them. */
function openingFor(
  { required, ...relation }: Relation,
  { tool, message, attachments: files = [], arguments: given = {} }: CreateAsked,
): Pick<ChildMessage, 'text' | 'attachments'> | Failure {
  const { initUserMessageProperty: property } = relation
  if (!required) {
    if (message === undefined)
      return failure(
        'TOOL_INPUT_INVALID',
        `the args of ${tool} are invalid: message: ${relation.name} needs one. Send them again, corrected.`,
      )
    const more = Object.keys(given).length > 0 ? [JSON.stringify(given)] : []
    return { text: [message, ...more].join('\n\n'), ...(files.length > 0 && { attachments: files }) }
  }
  const within = property !== undefined && message !== undefined && given[property] === undefined
  const opening = childMessage({ tool, args: within ? { ...given, [property]: message } : given }, required, relation)
  if ('refused' in opening) return failure(opening.refused.code, `arguments: ${opening.refused.message}`)
  const paths = [...files, ...(opening.attachments ?? [])]
  return {
    text: message === undefined || within ? opening.text : `${message}\n\n${opening.text}`,
    ...(paths.length > 0 && { attachments: paths }),
  }
}

interface Creation extends Pick<ChildMessage, 'text' | 'attachments' | 'name'> {
  readonly index: number
  readonly tool: string
  readonly args: Json
  readonly relation: SubagentTool
  /** Values that it begins with. */
  readonly own?: Sealed
  readonly apart?: readonly string[]
}

function create(family: ReplyContext, creation: Creation): RecordedCall {
  const { limits, born } = family
  const { index, tool, args, relation, text, name, attachments: given, own, apart } = creation
  const { maxInstances } = relation.resumable || {}
  const full =
    maxInstances === undefined
      ? undefined
      : admitInstance(
          family.state,
          { agent: relation.name, maxInstances, blocking: relation.blocking ?? true },
          born.get(relation.name),
        )
  const said = { text, ...defined({ attachments: given }), ...how(relation, limits) }
  // S3: where there is one, and it is waited for, it goes on with that one.
  if (full && 'only' in full) return { tool, args, child: { ...full.only, ...said } }
  if (full) return { tool, args, refused: full.refused }
  const lacks = lacking(family, creation)
  if ('code' in lacks) return { tool, args, refused: lacks }
  const child = newChild(family, index, relation.name)
  if ('code' in child) return { tool, args, refused: child }
  const { thread, agent, reference } = child
  const call: ChildCall = {
    thread,
    agent,
    reference,
    create: true,
    maxChildren: child.maxChildren,
    ...said,
    ...(child.scoped && { scoped: child.scoped }),
    ...defined({ own, apart }),
    ...(relation.files && { files: relation.files }),
    ...defined({ name }),
  }
  const waits = lacks.missing.length > 0 ? deferred(family, { ...lacks, tool, args, index }, call) : undefined
  const living = born.get(agent) ?? []
  living.push({ thread, agent, reference, ...(waits && { waits: true }) })
  born.set(agent, living)
  return waits ?? { tool, args, child: call }
}

interface Lacking extends Pick<Deferred, 'required' | 'missing' | 'files'> {}

/**
 * S6: values that only people have. Whoever gives them may do so much later: the files that go with it are looked at
 * and kept now (S8).
 */
function lacking(
  { state, envs }: ReplyContext,
  { relation, attachments: paths, own, apart = [] }: Creation,
): Lacking | Failure {
  const { required, missing: unknown } = envs.givenTo(relation.name)
  const withheld = [...envs.withheld(state, relation.name), ...apart]
  const missing = unknown.filter(
    (name) => !(own && Object.hasOwn(own.set, name)) && (!hasValue(state.env, name) || withheld.includes(name)),
  )
  const brought =
    missing.length > 0 && paths ? attachmentsFor(state, { attachments: paths, reference: relation.name }) : {}
  if ('refused' in brought) return brought.refused
  return { required, missing, ...(brought.attachments && { files: brought.attachments }) }
}

/** S6: a child whose own values are missing is not spawned; whoever has them is asked. */
function deferred(
  { state: { id }, step }: ReplyContext,
  { tool, args, index, ...lacks }: Lacking & Pick<Creation, 'tool' | 'args' | 'index'>,
  child: ChildCall,
): RecordedCall {
  const { required, missing } = lacks
  const request = `env_${step}_${index}`
  const data = { request_id: request, endpoint: `/threads/${id}/variables/${request}`, required, missing }
  const message =
    `${child.reference} was not started: it needs values that only people have ` +
    `(${missing.join(', ')}). They were asked for them; it begins when they have answered, and what it says then ` +
    `comes as a message. ${JSON.stringify(data)}`
  return {
    tool,
    args,
    refused: failure('subagent_env_required', message, { data }),
    deferred: { ...lacks, request, child: { ...child, blocking: false } },
  }
}

interface MessageAsked extends z.infer<typeof sendArgs> {
  readonly tool: string
  readonly args: Json
}

function send(
  lasting: readonly Relation[],
  { state, limits }: ReplyContext,
  { tool, args, reference, message, attachments: given, steer }: MessageAsked,
): RecordedCall {
  const child = state.children.get(reference)
  const relation = child && lasting.find(({ name }) => name === child.agent)
  if (!child || !relation || child.ended) {
    const live = [...state.children]
      .filter(([, { ended: over, lasting: stays }]) => stays && !over)
      .map(([each]) => each)
    return {
      tool,
      args,
      refused: failure(
        'TOOL_INPUT_INVALID',
        `there is no agent ${JSON.stringify(reference)} to speak to; there are: ${live.join(', ') || 'none'}`,
      ),
    }
  }
  return {
    tool,
    args,
    child: {
      thread: child.id,
      agent: child.agent,
      reference,
      text: message,
      ...defined({ attachments: given, steer: steer || undefined }),
      ...how(relation, limits),
    },
  }
}

function intensityOf({
  maxRestarts,
  withinMs,
}: NonNullable<SubagentTool['supervision']>): NonNullable<ChildCall['supervision']> {
  return { maxRestarts, ...defined({ withinMs }) }
}

function how(
  { blocking = true, resumable, budget, supervision }: SubagentTool,
  { maxParallelChildren }: ChildLimits,
): Pick<ChildCall, 'blocking' | 'lasting' | 'reports' | 'side' | 'maxParallel' | 'budget' | 'supervision'> {
  const stays = resumable || undefined
  return {
    blocking,
    lasting: Boolean(resumable),
    reports: stays?.parentCommunication ?? 'implicit',
    ...(stays?.receives_messages === 'side_b' && { side: 'b' as const }),
    maxParallel: maxParallelChildren,
    ...(budget && { budget: toAmounts(budget) }),
    ...(supervision && { supervision: intensityOf(supervision) }),
  }
}
