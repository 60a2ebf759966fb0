/**
 * What is recorded of a model's reply: each call as its definition has it, the price, and what the reply means for its
 * turn (reply-meaning.ts). Everything that a definition decides about a reply is decided here, once.
 *
 * - A reply is checked before anything of it is recorded: an app's own model may return anything.
 * - Pure, but for the definition's own functions that tool-calls.ts asks (`needsApproval`, `cache.keyFn`).
 */
import { answerFiles } from '../../../actors/thread/children/reports.js'
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { ModelDefinition } from '../../agent/define.js'
import { brokenText, collectAttachments } from '../../core/attachments.js'
import { defined } from '../../core/defined.js'
import { SkeinError, failure } from '../../core/failure.js'
import { isObject, toJson } from '../../core/json.js'
import type { FinishReason, ModelReplied, RecordedCall } from '../../core/records/record.js'
import type { StepRules, TurnRules } from '../../core/records/rules.js'
import type { SessionRole } from '../../core/records/session.js'
import { parseOrThrow } from '../../core/schema.js'
import type { Usage } from '../../core/usage.js'
import type { ModelReply, RequestedCall } from '../../models/port.js'
import { checkReplySize } from '../../models/retry/reply-limits.js'
import { checkArgs } from '../../tools/args.js'
import { maxStepsOf, offeredTo } from './agent-setup.js'
import type { AgentSetup, ResponseForm } from './agent-setup.js'
import { createReplyContext, recordChildCall } from './child-calls.js'
import type { ChildDefinitions, IndexedCall, ReplyContext } from './child-calls.js'
import { recordHandoff } from './handoffs.js'
import type { HandoffReply } from './handoffs.js'
import { recordPromptCall } from './prompt-calls.js'
import { cutCall, replyRules } from './reply-meaning.js'
import { asLastAnswer, noRoundLeft, skippedCall } from './tool-rounds.js'
import { recordCall } from './tool-calls.js'
import type { CallDefinitions, CallerContext } from './tool-calls.js'

export interface ModelAnswer {
  readonly step: number
  readonly reply: ModelReply
  readonly state: ThreadState
}

/** A promise only where a definition's own function returns one. */
export function toLanding(
  definitions: CallDefinitions & ChildDefinitions,
  setup: AgentSetup,
  answer: ModelAnswer,
): Landing | Promise<Landing> {
  const { step, reply, state } = answer
  checkReply(setup.model.name, reply)
  const isLast = state.turn?.last === 'wanted'
  const wanted = isLast ? asLastAnswer(reply, setup.response !== undefined) : reply
  const noRound = isLast ? undefined : noRoundLeft(setup.prompt, reply, state)
  const { specs, allowed } = offeredTo(setup, state)
  const recording: Recording = {
    definitions,
    setup,
    reply: wanted,
    noRound,
    caller: { threadId: state.id, allowed, offered: specs, ...defined({ skills: setup.skills }) },
    context: createReplyContext(definitions, state, step),
    handoff: {},
  }
  const isDual = state.turn?.session !== undefined
  const calls = wanted.calls.map((call, index) => {
    const skipped = skippedCall(noRound, call)
    return skipped ?? withRole(setup, recordOf(recording, call, index), isDual && !isLast)
  })
  return calls.every(isRecorded)
    ? landingOf(recording, answer, calls)
    : Promise.all(calls).then((recorded) => landingOf(recording, answer, recorded))
}

/** What the calls of one reply share while they are recorded. */
interface Recording {
  readonly definitions: CallDefinitions
  readonly setup: AgentSetup
  readonly reply: ModelReply
  readonly caller: CallerContext
  readonly context: ReplyContext
  readonly handoff: HandoffReply
  /** Why the calls of the reply are not run. */
  readonly noRound: string | undefined
}

type MaybePromise<Value> = Value | Promise<Value>

/** By what the call's name stands for: the final answer, a tool, an agent, a prompt, a handoff, or nothing. */
function recordOf(recording: Recording, call: RequestedCall, index: number): MaybePromise<RecordedCall> {
  const { definitions, setup, reply, caller, context, handoff } = recording
  const cut = cutCall(reply, call)
  if (cut) return cut
  if (call.tool === 'response' && setup.response) return recordResponse(setup.response, call, context.state)
  // Names are unique and most calls are of tools: these need no further look.
  if (caller.allowed.has(call.tool)) return recordCall(definitions, caller, call)
  const indexed: IndexedCall = { index, tool: call.tool, args: call.args }
  return (
    recordChildCall(setup.childTools, context, indexed) ??
    recordPromptCall(setup.promptTools, context, indexed) ??
    recordHandoff(setup.handoffs, handoff, call) ??
    recordCall(definitions, caller, call)
  )
}

function landingOf(
  { definitions: { app, turnRules }, setup, reply, handoff, noRound }: Recording,
  { step, state }: ModelAnswer,
  calls: readonly RecordedCall[],
): Landing {
  const side = state.turn?.session?.side
  // The next step would be one of the agent that takes over.
  const maxSteps = maxStepsOf(handoff.to === undefined ? setup.agent : app.agents.get(handoff.to), side)
  const recorded: Omit<ModelReplied, 'type'> = {
    step,
    model: reply.model ?? setup.model.name,
    text: reply.text,
    calls,
    usage: priced(reply.usage, app.models.get(reply.model ?? '') ?? setup.model),
    finish: finishReasons.has(reply.finish) ? reply.finish : 'other',
    ...defined({ reasoning: reply.reasoning, kept: reply.kept, side, label: setup.side.label }),
    ...(handoff.to !== undefined && defined({ rules: rulesAfter(state, turnRules?.(handoff.to)) })),
  }
  return { kind: 'reply', reply: recorded, rules: { ...replyRules(setup, maxSteps), ...defined({ noRound }) } }
}

/** Of the agent that takes over; an agent without rules takes those of the one before away. */
function rulesAfter({ turn }: ThreadState, rules: TurnRules | undefined): StepRules | undefined {
  return rules?.a ?? (turn?.rules && {})
}

const finishReasons: ReadonlySet<string> = new Set<FinishReason>([
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'paused',
  'other',
])

/** A side's final answer ends its turn, not the session. */
const answeredBySide: SessionRole = { does: 'pass' }

function withRole(
  setup: Pick<AgentSetup, 'roles' | 'response'>,
  call: MaybePromise<RecordedCall>,
  isDual: boolean,
): MaybePromise<RecordedCall> {
  const { roles, response } = setup
  if (roles.size === 0 && !(isDual && response)) return call
  if (call instanceof Promise) return call.then((recorded) => withRole(setup, recorded, isDual))
  const session = isDual && call.tool === 'response' ? answeredBySide : roles.get(call.tool)
  return session ? { ...call, session } : call
}

function isRecorded(call: MaybePromise<RecordedCall>): call is RecordedCall {
  return !(call instanceof Promise)
}

/** The turn's output in the form that its prompt asks for; the model is told field by field what does not fit (T12). */
function recordResponse(
  { schema, wrapped }: ResponseForm,
  { args }: RequestedCall,
  { files }: ThreadState,
): RecordedCall {
  const checked = checkArgs('response', schema, args)
  if (!checked.ok) return { tool: 'response', args: checked.sent, refused: checked.failure }
  const parsed = toJson(parseOrThrow(schema, checked.args))
  const { attachments } = answerFiles(isObject(parsed) ? { output: parsed } : {})
  const collected = attachments && collectAttachments(files, attachments)
  // Checked here and not when the answer is reported: the model can still correct it.
  if (collected && collected.broken.length > 0)
    return {
      tool: 'response',
      args: checked.args,
      refused: failure(
        'TOOL_INPUT_INVALID',
        `attachments: ${brokenText(collected.broken)}; name absolute paths of your own files`,
      ),
    }
  return {
    tool: 'response',
    args: checked.args,
    answered: wrapped && isObject(parsed) ? (parsed['value'] ?? null) : parsed,
  }
}

/** By hand and not with zod: every step of every thread is checked. */
export function checkReply(model: string, reply: ModelReply): ModelReply {
  const wrong = mistakeIn(reply)
  if (wrong !== undefined) throw new SkeinError('MODEL_REJECTED', `model ${model} gave a reply that is none: ${wrong}`)
  checkReplySize(reply)
  return reply
}

/** The type is what a model should return; the code of an app's own model may return anything. */
function mistakeIn(reply: Partial<ModelReply> | undefined): string | undefined {
  if (typeof reply?.text !== 'string') return 'text must be a string'
  if (!Array.isArray(reply.calls) || !reply.calls.every(isNamed)) return 'calls must be a list of { tool, args }'
  const { inputTokens, outputTokens, costUsd }: Partial<Usage> = reply.usage ?? {}
  if (![inputTokens, outputTokens, costUsd].every(Number.isFinite))
    return 'usage must hold the numbers inputTokens, outputTokens and costUsd'
  const { kept } = reply
  if (kept !== undefined && !(typeof kept?.origin === 'string' && Array.isArray(kept.parts)))
    return 'kept must be { origin, parts }'
  return undefined
}

function isNamed(call?: Partial<RequestedCall>): boolean {
  return typeof call?.tool === 'string'
}

/** The provider's own figure is what it charges; without one, tokens at their prices, those of its cache at theirs. */
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
