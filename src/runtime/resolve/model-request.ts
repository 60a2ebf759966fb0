/**
 * Between definitions and the model port: what a thread's agent asks of its model, and what is written of the
 * reply. Everything that a definition decides about a reply is decided here, once, and recorded.
 *
 * - The request holds the thread's own transcript, or a window of it that grows by appending; never a copy.
 * - What is recorded of a reply has the form of a reply: a model of the app's own may give anything.
 */
import { z } from 'zod'
import type { DueContext } from '../../../actors/thread/decide/due.js'
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { answerFiles } from '../../../actors/thread/children/reports.js'
import { stepsOf } from '../../../actors/thread/turn/session.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { App } from '../../agent/app.js'
import { agentNames, callablesOf, isOfPrompt } from '../../agent/callable.js'
import type { AgentDefinition, ModelDefinition, PromptDefinition, Side, Variable } from '../../agent/define.js'
import { promptPieces } from '../../agent/prompt-parts.js'
import { sessionToolsOf, sideOf } from '../../agent/sides.js'
import { brokenText, collectAttachments } from '../../core/attachments.js'
import { defined } from '../../core/defined.js'
import { SkeinError, failure } from '../../core/failure.js'
import { isObject, toJson } from '../../core/json.js'
import type { SideName } from '../../core/records/message.js'
import type { FinishReason, ModelReplied, RecordedCall } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import { coreOf, jsonSchemaOf, parseOrThrow } from '../../core/schema.js'
import type { SessionRole } from '../../core/records/session.js'
import type { Usage } from '../../core/usage.js'
import type { ModelReply, ModelRequest, RequestedCall, ToolSpec } from '../../models/port.js'
import { checkReplySize } from '../../models/retry/reply-limits.js'
import { checkArgs } from '../../tools/args.js'
import { recordCall } from './tool-calls.js'
import type { CallerContext, CallDefinitions } from './tool-calls.js'
import type { Environments } from '../secrets/environment.js'
import type { ChildLimits, ReplyContext } from './child-call.js'
import { cutCall, isForced, replyRules } from './reply-meaning.js'
import { handoffsOf, recordHandoff } from './handoffs.js'
import type { HandoffReply, Handoffs } from './handoffs.js'
import { promptToolsOf, recordPromptCall } from './prompt-calls.js'
import type { PromptTools } from './prompt-calls.js'
import { recordChildCall, childToolsOf } from './child-calls.js'
import type { ChildTools } from './child-calls.js'
import { windowOf } from './prompt-window.js'

const defaultMaxSteps = 100
const defaultSessionTurns = 100
/** Reads what was cut. */
const archiveTool = 'get_tool_response'

/** All that an agent's definitions say about one step; made once per agent. */
export interface AgentSetup {
  readonly agent: AgentDefinition
  readonly side: Side
  /** Tools that mean something for the session, by name. */
  readonly roles: ReadonlyMap<string, SessionRole>
  readonly prompt: PromptDefinition
  /** Of the prompt; where a variable stands, its value. */
  readonly text: readonly (string | Variable)[]
  readonly model: ModelDefinition
  readonly tools: readonly ToolSpec[]
  readonly allowed: ReadonlySet<string>
  /** The same when some result of the thread was cut: then the whole can be asked for. */
  readonly toolsWithArchive: readonly ToolSpec[]
  readonly allowedWithArchive: ReadonlySet<string>
  /** Agents that may be called. */
  readonly relations: ChildTools
  /** Agents that may take over. */
  readonly handoffs: Handoffs
  /** Prompts that may be called. */
  readonly promptTools: PromptTools
  /** There is one request, whatever comes of it. */
  readonly once: boolean
  /** How the turn's output must look. */
  readonly response?: Response
}

interface Response {
  readonly schema: Schema
  /** The output is no object, and a tool's args must be one: it is the field `value` of them. */
  readonly wrapped: boolean
}

interface BriefOptions {
  readonly side?: SideName
  /** Agents that are left out (S5). */
  readonly disabled?: readonly string[]
}

export function createAgentSetup(
  app: App,
  agentName: string,
  { side: sideName = 'a', disabled = [] }: BriefOptions = {},
): AgentSetup {
  const agent = app.agents.get(agentName)
  if (!agent)
    throw new SkeinError(
      'UNKNOWN_AGENT',
      `the app has no agent ${JSON.stringify(agentName)}; it has: ${agentNames(app).join(', ') || 'none'}`,
    )
  const side = sideOf(agent, sideName)
  if (!side)
    throw new SkeinError(
      'UNKNOWN_PROMPT',
      `agent ${agentName} had a side B when this turn began, and has none any more; start another turn`,
    )
  const prompt = app.prompts.get(side.prompt)
  const model = prompt && app.models.get(prompt.model)
  if (!prompt || !model) throw new SkeinError('UNKNOWN_PROMPT', `agent ${agentName} lost its prompt or model`)
  const { tools: names, subagents, subprompts, handoffs: others } = callablesOf(app, prompt)
  const relations = childToolsOf(
    app,
    subagents.filter(({ name }) => !disabled.includes(name)),
    agent,
  )
  const promptTools = promptToolsOf(app, subprompts)
  const once = isOfPrompt(agentName)
  // Nobody could speak after it.
  const handoffs = handoffsOf(app, once ? [] : others, agentName)
  const response = prompt.outputSchema && responseOf(prompt.outputSchema)
  const spec = (name: string): ToolSpec => ({
    name,
    description: app.tools.get(name)?.description ?? '',
    parameters: app.parameters.get(name) ?? {},
  })
  const tools = [
    ...names.map(spec),
    ...relations.tools,
    ...promptTools.tools,
    ...handoffs.tools,
    ...(response ? [response.spec] : []),
  ]
  return {
    agent,
    side,
    roles: new Map(sessionToolsOf(side).map(({ name, role }) => [name, role])),
    prompt,
    text: promptPieces(app, prompt),
    model,
    tools,
    allowed: new Set(names),
    relations,
    handoffs,
    promptTools,
    once,
    toolsWithArchive: [...tools, spec(archiveTool)],
    allowedWithArchive: new Set([...names, archiveTool]),
    ...(response && { response }),
  }
}

function responseOf(outputSchema: Schema): Response & { readonly spec: ToolSpec } {
  const object = jsonSchemaOf(outputSchema)['type'] === 'object'
  const schema = object ? outputSchema : z.object({ value: coreOf(outputSchema) })
  return {
    schema,
    wrapped: !object,
    spec: {
      name: 'response',
      description: 'Give the final answer in the form that was asked for. Call it once, when all work is done.',
      parameters: jsonSchemaOf(schema),
    },
  }
}

/** What a request needs besides its thread. */
export interface SetupSources {
  readonly envs: Environments
  readonly read: NonNullable<ModelRequest['read']>
}

export function toRequest(brief: AgentSetup, state: ThreadState, { envs, read }: SetupSources): ModelRequest {
  const { parallelToolCalls, reasoning, temperature, maxOutputTokens, promptCache, providerOptions } = brief.prompt
  return {
    system: brief.text.map((piece) => (typeof piece === 'string' ? piece : envs.shown(state, piece))).join(''),
    messages: windowOf(state, brief.prompt),
    tools: state.archived > 0 ? brief.toolsWithArchive : brief.tools,
    read,
    thread: state.id,
    step: state.turn ? stepsOf(state.turn) : 0,
    ...choiceOf(brief, state),
    ...defined({ parallelToolCalls }),
    ...defined({ reasoning }),
    ...defined({ temperature }),
    ...defined({ maxOutputTokens }),
    ...defined({ promptCache }),
    ...defined({ providerOptions }),
  }
}

type Choice = NonNullable<ModelRequest['toolChoice']>

/** A call is forced until it was made; without that a forced call would be made for ever. */
function choiceOf(brief: AgentSetup, { turn }: ThreadState): { readonly toolChoice?: Choice } {
  const { toolChoice: wanted, name } = brief.prompt
  if (brief.response && turn && turn.asked > 0) return { toolChoice: { tool: 'response' } }
  if (wanted !== undefined && isOffered(brief, wanted))
    return { toolChoice: isForced(wanted) && turn?.relaxed === name ? 'auto' : wanted }
  return brief.once && brief.response && brief.tools.length === 1 ? { toolChoice: { tool: 'response' } } : {}
}

/** The agent that it names may be left out now. */
function isOffered({ tools }: AgentSetup, choice: Choice): boolean {
  return typeof choice === 'string' || tools.some(({ name }) => name === choice.tool)
}

export interface ModelAnswer {
  readonly step: number
  readonly reply: ModelReply
  readonly state: ThreadState
}

export function toLanding(
  means: CallDefinitions & { readonly childLimits: ChildLimits },
  brief: AgentSetup,
  { step, reply, state }: ModelAnswer,
): Landing | Promise<Landing> {
  checkReply(brief.model.name, reply)
  const asker: CallerContext = {
    threadId: state.id,
    ...(state.archived > 0
      ? { allowed: brief.allowedWithArchive, offered: brief.toolsWithArchive }
      : { allowed: brief.allowed, offered: brief.tools }),
  }
  const family: ReplyContext = {
    state,
    step,
    limits: means.childLimits,
    envs: means.envs,
    asked: new Map(),
    born: new Map(),
  }
  const handed: HandoffReply = {}
  const record = (call: RequestedCall, index: number): RecordedCall | Promise<RecordedCall> => {
    const cut = cutCall(reply, call)
    if (cut) return cut
    if (call.tool === 'response' && brief.response) return recordResponse(brief.response, call, state)
    // Most calls are of tools, and no name is given twice.
    if (asker.allowed.has(call.tool)) return recordCall(means, asker, call)
    const child =
      brief.relations.byName.size > 0 ? recordChildCall(brief.relations, family, { index, ...call }) : undefined
    return (
      child ??
      recordPromptCall(brief.promptTools, family, { index, ...call }) ??
      recordHandoff(brief.handoffs, handed, call) ??
      recordCall(means, asker, call)
    )
  }
  const calls = reply.calls.map((call, index) =>
    withRole(brief, record(call, index), state.turn?.session !== undefined),
  )
  const landing = (recorded: readonly RecordedCall[]): Landing => {
    const side = state.turn?.session?.side
    // The next step would be of the agent that takes over.
    const mostSteps = maxStepsOf(handed.to === undefined ? brief.agent : means.app.agents.get(handed.to), side)
    return {
      kind: 'reply',
      reply: recordReply(means.app, brief, { step, reply, calls: recorded, ...defined({ side }) }),
      rules: replyRules(brief, mostSteps),
    }
  }
  return calls.every(isRecorded) ? landing(calls) : Promise.all(calls).then(landing)
}

/** The final answer of a side is the end of its turn, not of the session. */
const answeredBySide: SessionRole = { does: 'pass' }

function withRole(
  brief: Pick<AgentSetup, 'roles' | 'response'>,
  call: RecordedCall | Promise<RecordedCall>,
  dual: boolean,
): RecordedCall | Promise<RecordedCall> {
  const { roles, response } = brief
  if (roles.size === 0 && !(dual && response)) return call
  if (call instanceof Promise) return call.then((recorded) => withRole(brief, recorded, dual))
  const session = dual && call.tool === 'response' ? answeredBySide : roles.get(call.tool)
  return session ? { ...call, session } : call
}

function isRecorded(call: RecordedCall | Promise<RecordedCall>): call is RecordedCall {
  return !(call instanceof Promise)
}

/** An agent that took over may be gone with another version of the app. */
function maxStepsOf(agent: AgentDefinition | undefined, side: SideName = 'a'): number {
  return (agent && sideOf(agent, side)?.maxSteps) ?? defaultMaxSteps
}

/** What the agent's definition says of the step that begins now, or of the turn. */
export function rulesOf(
  { agents }: App,
  { agent: name, queuedCalls, turn }: ThreadState,
): Pick<DueContext, 'maxSteps' | 'session'> {
  const agent = agents.get(name)
  return {
    ...(queuedCalls.length > 0 && { maxSteps: maxStepsOf(agent, turn?.session?.side) }),
    ...(!turn && agent?.type === 'dual_ai' && { session: { maxTurns: agent.maxSessionTurns ?? defaultSessionTurns } }),
  }
}

/** The last word of a turn in the form that its prompt asks for; what does not fit is told field by field (T12). */
function recordResponse({ schema, wrapped }: Response, { args }: RequestedCall, { files }: ThreadState): RecordedCall {
  const checked = checkArgs('response', schema, args)
  if (!checked.ok) return { tool: 'response', args: checked.sent, refused: checked.failure }
  const parsed = toJson(parseOrThrow(schema, checked.args))
  const { attachments } = answerFiles(isObject(parsed) ? { output: parsed } : {})
  const found = attachments && collectAttachments(files, attachments)
  // Told now, so that the model can correct it.
  if (found && found.broken.length > 0)
    return {
      tool: 'response',
      args: checked.args,
      refused: failure(
        'TOOL_INPUT_INVALID',
        `attachments: ${brokenText(found.broken)}; name absolute paths of your own files`,
      ),
    }
  return {
    tool: 'response',
    args: checked.args,
    answered: wrapped && isObject(parsed) ? (parsed['value'] ?? null) : parsed,
  }
}

interface Recorded {
  readonly step: number
  readonly reply: ModelReply
  readonly calls: readonly RecordedCall[]
  readonly side?: SideName
}

function recordReply(app: App, brief: AgentSetup, { step, reply, calls, side }: Recorded): Omit<ModelReplied, 'type'> {
  return {
    step,
    model: reply.model ?? brief.model.name,
    text: reply.text,
    calls,
    usage: priced(reply.usage, app.models.get(reply.model ?? '') ?? brief.model),
    finish: finishes.has(reply.finish) ? reply.finish : 'other',
    ...(reply.reasoning !== undefined && { reasoning: reply.reasoning }),
    ...(reply.kept && { kept: reply.kept }),
    ...defined({ side }),
    ...(brief.side.label !== undefined && { label: brief.side.label }),
  }
}

const finishes: ReadonlySet<string> = new Set<FinishReason>([
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'paused',
  'other',
])

/** By hand and not with zod: it stands in the way of every step. */
export function checkReply(model: string, reply: ModelReply): ModelReply {
  // A model of the app's own may give anything.
  const given: Partial<ModelReply> | undefined = reply
  const { inputTokens, outputTokens, costUsd }: Partial<Usage> = given?.usage ?? {}
  const wrong =
    typeof given?.text !== 'string'
      ? 'text must be a string'
      : !Array.isArray(given.calls) ||
          given.calls.some((call?: Partial<RequestedCall>) => typeof call?.tool !== 'string')
        ? 'calls must be a list of { tool, args }'
        : ![inputTokens, outputTokens, costUsd].every(Number.isFinite)
          ? 'usage must hold the numbers inputTokens, outputTokens and costUsd'
          : given.kept !== undefined && !(typeof given.kept?.origin === 'string' && Array.isArray(given.kept.parts))
            ? 'kept must be { origin, parts }'
            : undefined
  if (wrong) throw new SkeinError('MODEL_REJECTED', `model ${model} gave a reply that is none: ${wrong}`)
  checkReplySize(reply)
  return reply
}

/** What the provider reports is what it charges; else tokens at their prices, those of its cache at theirs. */
function priced(usage: Usage, { costPerMillion: price }: ModelDefinition): Usage {
  if (!price || usage.costUsd > 0) return usage
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0, cacheWriteTokens: written = 0 } = usage
  const fresh = Math.max(0, inputTokens - cached - written)
  const input =
    fresh * price.inputUsd +
    cached * (price.cachedInputUsd ?? price.inputUsd) +
    written * (price.cacheWriteUsd ?? price.inputUsd)
  return { ...usage, costUsd: (input + outputTokens * price.outputUsd) / 1e6 }
}
