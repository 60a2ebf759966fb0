/**
 * Calls that other threads answer, as they are recorded: which child a call creates or speaks to, on which terms, or
 * why it is refused. Everything that a definition decides about a child is decided here, once. Pure: a function of
 * the definitions, the thread's state and the calls of the same reply before this one (`ReplyContext`).
 *
 * - A child's id is derived from its parent and the call that creates it: a call that is recorded twice names one
 *   child.
 * - Models know children by their reference (`writer-3`), never by their id; a reference is never used twice.
 */
import type { z } from 'zod'
import { admitInstance, tooDeep } from '../../../actors/thread/children/admission.js'
import type { LiveChild } from '../../../actors/thread/children/admission.js'
import { attachmentsFor } from '../../../actors/thread/children/start.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { countOf } from '../../../actors/thread/turn/turn.js'
import type { SubagentTool } from '../../agent/define.js'
import { toAmounts } from '../../core/budget.js'
import { defined } from '../../core/defined.js'
import { callKey } from '../../core/effect.js'
import { hasValue } from '../../core/env.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import type { ChildCall, Deferred, RecordedCall, Sealed } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { RequestedCall } from '../../models/port.js'
import { checkArgs } from '../../tools/args.js'
import type { Environments } from '../secrets/environment.js'
import { childMessage, messageMapping } from './child-message.js'
import type { ChildMessage, MessageMapping } from './child-message.js'
import { argsOf, createArgs, isLasting, listArgs, sendArgs } from './child-tools.js'
import type { ChildTool, ChildTools } from './child-tools.js'
import { keyOf } from './tool-calls.js'

export interface ChildLimits {
  readonly maxParallelChildren: number
  readonly maxChildren: number
  readonly maxDepth: number
}

/** What calls of children are recorded with. */
export interface ChildDefinitions {
  readonly envs: Environments
  readonly childLimits: ChildLimits
}

/**
 * What the calls of one reply share: they count on from the state, which has none of them yet. Most replies call no
 * child, so it is made with the first that does.
 */
export class ReplyContext {
  readonly state: ThreadState
  readonly step: number
  readonly limits: ChildLimits
  readonly envs: Environments
  #references: Map<string, number> | undefined
  #created: Map<string, LiveChild[]> | undefined

  constructor({ envs, childLimits }: ChildDefinitions, state: ThreadState, step: number) {
    this.state = state
    this.step = step
    this.limits = childLimits
    this.envs = envs
  }

  /** How many references of each agent this reply has used. */
  get references(): Map<string, number> {
    return (this.#references ??= new Map())
  }

  /** The children that this reply creates, by agent. */
  get created(): Map<string, LiveChild[]> {
    return (this.#created ??= new Map())
  }
}

/** A requested call with its index among the calls of its reply. */
export interface IndexedCall extends RequestedCall {
  readonly index: number
}

/** Gives back what calls take from now on, when it is called. */
export function markReply({ references, created }: ReplyContext): () => void {
  const taken = new Map(references)
  const siblings = new Map([...created].map(([agent, list]) => [agent, [...list]]))
  return () => {
    references.clear()
    created.clear()
    for (const [agent, count] of taken) references.set(agent, count)
    for (const [agent, list] of siblings) created.set(agent, list)
  }
}

/** The args of the tools of `byName`; undefined: the call names none of them. */
export function childSchema({ byName }: ChildTools, tool: string): Schema | undefined {
  const lasting = [...byName.values()].filter(isLasting)
  if (lasting.length > 0) {
    if (tool === 'subagent_list') return listArgs()
    if (tool === 'subagent_message') return sendArgs()
    if (tool === 'subagent_create') return createArgs(lasting)
  }
  const childTool = byName.get(tool)
  return childTool && !isLasting(childTool) ? argsOf(childTool) : undefined
}

/** Undefined: the call names none of these tools. */
export function recordChildCall(
  { byName }: ChildTools,
  context: ReplyContext,
  call: IndexedCall,
): RecordedCall | undefined {
  const { tool, index } = call
  if (tool === 'subagent_list' || tool === 'subagent_message' || tool === 'subagent_create') {
    const lasting = [...byName.values()].filter(isLasting)
    return lasting.length > 0 ? recordLastingCall(lasting, context, { ...call, tool }) : undefined
  }
  const childTool = byName.get(tool)
  if (!childTool || isLasting(childTool)) return undefined
  const { args, ...message } = childMessage(call, argsOf(childTool), mappingOf(childTool))
  return 'refused' in message
    ? { tool, args, refused: message.refused }
    : recordCreation(context, { index, tool, args, childTool, ...message })
}

/** An agent without a required schema takes the args of a message. */
function mappingOf({ required, ...mapping }: ChildTool): MessageMapping {
  return required ? mapping : { ...messageMapping, ...mapping }
}

interface LastingCall extends IndexedCall {
  readonly tool: 'subagent_create' | 'subagent_message' | 'subagent_list'
}

function recordLastingCall(lasting: readonly ChildTool[], context: ReplyContext, call: LastingCall): RecordedCall {
  const { index, tool } = call
  if (tool === 'subagent_list') return withArgs(call, listArgs(), ({ args }) => ({ tool, args, asks: 'children' }))
  if (tool === 'subagent_message')
    return withArgs(call, sendArgs(), ({ args, parsed }) => recordMessage(lasting, context, { tool, args, ...parsed }))
  return withArgs(call, createArgs(lasting), ({ args, parsed }) => {
    const childTool = lasting.find(({ name }) => name === parsed.agent)
    if (!childTool) return { tool, args, refused: failure('UNKNOWN_AGENT', `there is no agent ${parsed.agent} here`) }
    const message = firstMessage(childTool, { tool, ...parsed })
    return 'code' in message
      ? { tool, args, refused: message }
      : recordCreation(context, { index, tool, args, childTool, name: parsed.name, ...message })
  })
}

/** Args that do not fit are recorded with the refusal. */
function withArgs<Parsed>(
  { tool, args: sent }: RequestedCall,
  schema: z.ZodType<Parsed>,
  record: (valid: { readonly args: Json; readonly parsed: Parsed }) => RecordedCall,
): RecordedCall {
  const checked = checkArgs(tool, schema, sent)
  if (!checked.ok) return { tool, args: checked.sent, refused: checked.failure }
  return record({ args: checked.args, parsed: schema.parse(checked.args) })
}

/** S4: an immediate child is recorded as the call that a model would make with this text, and checked like one. */
export function recordImmediateCall(
  context: ReplyContext,
  childTool: ChildTool,
  { text, name, ...rest }: Pick<Creation, 'index' | 'text' | 'name' | 'own' | 'apart'>,
): RecordedCall {
  const { name: agent, resumable, initAgentNameProperty: property } = childTool
  // One that stays has a name (S2).
  const displayName = name ?? (resumable ? agent : undefined)
  const named = property !== undefined && displayName !== undefined ? { [property]: displayName } : {}
  const more = Object.keys(named).length > 0 ? { arguments: named } : {}
  const tool = resumable ? 'subagent_create' : agent
  const args = resumable ? { agent, name: displayName ?? agent, message: text, ...more } : { message: text, ...named }
  const message = firstMessage(childTool, { tool, message: text, ...more })
  if ('code' in message) return { tool, args, refused: message }
  return recordCreation(context, { ...rest, tool, args, childTool, ...message, ...defined({ name: displayName }) })
}

interface FirstMessageRequest {
  readonly tool: string
  readonly message?: string | undefined
  readonly attachments?: readonly string[] | undefined
  readonly arguments?: Readonly<Record<string, Json>> | undefined
}

/** The message becomes the argument that the agent takes it in; without one it goes before the arguments. */
function firstMessage(
  { required, ...childTool }: ChildTool,
  { tool, message, attachments: files = [], arguments: more = {} }: FirstMessageRequest,
): Pick<ChildMessage, 'text' | 'attachments'> | Failure {
  const { name, initUserMessageProperty: property } = childTool
  if (!required) {
    if (message === undefined)
      return failure(
        'TOOL_INPUT_INVALID',
        `the args of ${tool} are invalid: message: ${name} needs one. Send them again, corrected.`,
      )
    const parts = Object.keys(more).length > 0 ? [message, JSON.stringify(more)] : [message]
    return { text: parts.join('\n\n'), ...attachmentsField(files) }
  }
  const isArgument = property !== undefined && message !== undefined && more[property] === undefined
  const args = isArgument ? { ...more, [property]: message } : more
  const made = childMessage({ tool, args }, required, childTool)
  if ('refused' in made) return failure(made.refused.code, `arguments: ${made.refused.message}`)
  return {
    text: message === undefined || isArgument ? made.text : `${message}\n\n${made.text}`,
    ...attachmentsField([...files, ...(made.attachments ?? [])]),
  }
}

function attachmentsField(paths: readonly string[]): Pick<ChildMessage, 'attachments'> {
  return paths.length > 0 ? { attachments: paths } : {}
}

/** A call that creates a child. */
interface Creation extends Pick<ChildMessage, 'text' | 'attachments' | 'name'> {
  readonly index: number
  readonly tool: string
  readonly args: Json
  readonly childTool: SubagentTool
  /** Values that the child begins with. */
  readonly own?: Sealed
  /** Names that it does not inherit. */
  readonly apart?: readonly string[]
}

function recordCreation(context: ReplyContext, creation: Creation): RecordedCall {
  const { index, tool, args, childTool, text, name, attachments, own, apart } = creation
  const message = { text, ...defined({ attachments }), ...termsOf(childTool, context.limits) }
  const { maxInstances } = childTool.resumable || {}
  const full =
    maxInstances === undefined
      ? undefined
      : admitInstance(
          context.state,
          { agent: childTool.name, maxInstances, blocking: childTool.blocking ?? true },
          context.created.get(childTool.name),
        )
  // S3: a single instance that is waited for goes on with this message.
  if (full && 'only' in full) return { tool, args, child: { ...full.only, ...message } }
  if (full) return { tool, args, refused: full.refused }
  const values = missingValues(context, creation)
  if ('code' in values) return { tool, args, refused: values }
  const newborn = newChild(context, index, childTool.name)
  if ('code' in newborn) return { tool, args, refused: newborn }
  const { thread, create, agent, reference, maxChildren, scoped } = newborn
  const child: ChildCall = {
    thread,
    create,
    agent,
    reference,
    maxChildren,
    ...message,
    ...defined({ scoped, own, apart, files: childTool.files, name }),
  }
  const isDeferred = values.missing.length > 0
  noteCreated(context, child, isDeferred)
  return isDeferred ? deferCreation(context, creation, { values, child }) : { tool, args, child }
}

function noteCreated({ created }: ReplyContext, { thread, agent, reference }: ChildCall, isDeferred: boolean): void {
  const siblings = created.get(agent) ?? []
  siblings.push({ thread, agent, reference, ...defined({ waits: isDeferred || undefined }) })
  created.set(agent, siblings)
}

type NewChild = Pick<ChildCall, 'thread' | 'agent' | 'reference' | 'scoped'> & {
  readonly create: true
  readonly maxChildren: number
}

/** Takes the agent's next reference, unless the thread is too deep for children. */
export function newChild(
  { state, step, limits, envs, references }: ReplyContext,
  index: number,
  agent: string,
): NewChild | Failure {
  const refused = tooDeep(state, limits.maxDepth)
  if (refused) return refused
  const before = references.get(agent) ?? 0
  references.set(agent, before + 1)
  const scoped = envs.withheld(state, agent)
  return {
    thread: `c_${keyOf([state.id, callKey(step, index)])}`,
    create: true,
    agent,
    reference: `${agent}-${countOf(state.childCounters, agent) + before + 1}`,
    maxChildren: limits.maxChildren,
    ...(scoped.length > 0 && { scoped }),
  }
}

type RequiredValues = Pick<Deferred, 'required' | 'missing' | 'files'>

/**
 * S6: the values that a child needs and only people have. They may be given much later: the files that the child
 * gets are collected now (S8).
 */
function missingValues(
  { state, envs }: ReplyContext,
  { childTool, attachments: paths, own, apart = [] }: Creation,
): RequiredValues | Failure {
  const { required, missing: unknown } = envs.childRequirements(childTool.name)
  const withheld = [...envs.withheld(state, childTool.name), ...apart]
  const isOwn = (name: string): boolean => own !== undefined && Object.hasOwn(own.set, name)
  const isInherited = (name: string): boolean => hasValue(state.env, name) && !withheld.includes(name)
  const missing = unknown.filter((name) => !isOwn(name) && !isInherited(name))
  if (missing.length === 0 || !paths) return { required, missing }
  const collected = attachmentsFor(state, { attachments: paths, reference: childTool.name })
  if ('refused' in collected) return collected.refused
  return { required, missing, ...defined({ files: collected.attachments }) }
}

/** S6: a child with missing values is not created; the people who have them are asked. */
function deferCreation(
  { state: { id }, step }: ReplyContext,
  { tool, args, index }: Creation,
  { values, child }: { readonly values: RequiredValues; readonly child: ChildCall },
): RecordedCall {
  const { required, missing } = values
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
    deferred: { ...values, request, child: { ...child, blocking: false } },
  }
}

interface MessageRequest extends z.infer<ReturnType<typeof sendArgs>> {
  readonly tool: string
  readonly args: Json
}

function recordMessage(
  lasting: readonly ChildTool[],
  { state, limits }: ReplyContext,
  { tool, args, reference, message, attachments, steer }: MessageRequest,
): RecordedCall {
  const child = state.children.get(reference)
  const childTool = child && lasting.find(({ name }) => name === child.agent)
  if (!child || !childTool || child.ended) {
    const live = [...state.children].flatMap(([each, { ended, lasting: stays }]) => (stays && !ended ? [each] : []))
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
      ...defined({ attachments, steer: steer || undefined }),
      ...termsOf(childTool, limits),
    },
  }
}

type Terms = Pick<ChildCall, 'blocking' | 'lasting' | 'reports' | 'side' | 'maxParallel' | 'budget' | 'supervision'>

/** The terms on which a child works for its parent, as its tool defines them. */
function termsOf(
  { blocking = true, resumable, budget, supervision }: SubagentTool,
  { maxParallelChildren }: ChildLimits,
): Terms {
  const lasting = resumable || undefined
  return {
    blocking,
    lasting: Boolean(resumable),
    reports: lasting?.parentCommunication ?? 'implicit',
    ...(lasting?.receives_messages === 'side_b' && { side: 'b' as const }),
    maxParallel: maxParallelChildren,
    ...defined({ budget: budget && toAmounts(budget), supervision: supervision && intensityOf(supervision) }),
  }
}

function intensityOf({
  maxRestarts,
  withinMs,
}: NonNullable<SubagentTool['supervision']>): NonNullable<ChildCall['supervision']> {
  return { maxRestarts, ...defined({ withinMs }) }
}
