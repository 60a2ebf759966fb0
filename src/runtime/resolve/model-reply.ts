/**
 * What is recorded of a model's reply: each call as its definition has it, the price, and what the reply means for its
 * turn (reply-meaning.ts). Everything that a definition decides about a reply is decided here, once.
 *
 * - A reply is checked before anything of it is recorded: an app's own model may return anything.
 * - Pure, but for the definition's own functions that tool-calls.ts asks (`needsApproval`, `cache.keyFn`).
 * - A reply of many calls is recorded over several turns of the event loop, in call order.
 */
import { answerFiles } from '../../../actors/thread/children/reports.js'
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { ModelDefinition } from '../../agent/define.js'
import type { Cancel } from '../../core/async/cancel.js'
import { nextTurn } from '../../core/async/next-turn.js'
import { brokenText, collectAttachments } from '../../core/attachments.js'
import { defined } from '../../core/defined.js'
import { SkeinError, failure } from '../../core/failure.js'
import { copyOf, isObject, toJson } from '../../core/json.js'
import type { FinishReason, ModelReplied, RecordedCall } from '../../core/records/record.js'
import type { StepRules, TurnRules } from '../../core/records/rules.js'
import type { SessionRole } from '../../core/records/session.js'
import type { AskedHook } from '../../core/records/hook.js'
import { parseOrThrow } from '../../core/schema.js'
import type { Schema } from '../../core/schema.js'
import type { HookSet } from '../hooks/hook-sets.js'
import type { Took } from '../../core/records/took.js'
import type { Usage } from '../../core/usage.js'
import type { ModelReply, RequestedCall } from '../../models/port.js'
import { checkReplySize } from '../../models/retry/reply-limits.js'
import { checkArgs } from '../../tools/args.js'
import { maxStepsOf, offeredTo } from './agent-setup.js'
import type { AgentSetup, ResponseForm } from './agent-setup.js'
import { ReplyContext, childSchema, markReply, recordChildCall } from './child-calls.js'
import type { ChildDefinitions, IndexedCall } from './child-calls.js'
import { recordHandoff } from './handoffs.js'
import type { HandoffReply } from './handoffs.js'
import { blockedCalls, recordHookedCalls, withResultHooks } from './hooked-calls.js'
import type { HookedCall } from './hooked-calls.js'
import { promptSchema, recordPromptCall } from './prompt-calls.js'
import { cutCall, replyRules } from './reply-meaning.js'
import { asLastAnswer, noRoundLeft, skippedCall } from './tool-rounds.js'
import { recordCall } from './tool-calls.js'
import type { CallDefinitions, CallerContext } from './tool-calls.js'

export interface ModelAnswer {
  readonly step: number
  readonly reply: ModelReply
  readonly state: ThreadState
  /** Hooks that have changed the reply, or failed. */
  readonly acted?: readonly AskedHook[]
  /** A hook ends the turn with this reply: why. */
  readonly block?: string
  readonly cancel?: Cancel
  readonly took?: Took | undefined
}

/** A promise only where a definition's own function returns one, and for many calls. */
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
    caller: {
      thread: state,
      allowed,
      offered: specs,
      ...defined({ skills: setup.skills, guard: state.lineage.guard }),
    },
    context: new ReplyContext(definitions, state, step),
    handoff: {},
  }
  const { before_call: before, subagent_created: created } = hooksOf(recording, state)
  if (before || created || answer.block !== undefined) return toHookedLanding(recording, answer)
  const isDual = state.turn?.session !== undefined
  const record = (call: RequestedCall, index: number): MaybePromise<RecordedCall> =>
    skippedCall(noRound, call) ?? withRole(setup, recordOf(recording, call, index), isDual && !isLast)
  if (wanted.calls.length > callsOfATurn)
    return recordMany(wanted.calls, record).then((recorded) => landingOf(recording, answer, recorded))
  const calls = wanted.calls.map(record)
  return calls.every(isRecorded)
    ? landingOf(recording, answer, calls)
    : Promise.all(calls).then((recorded) => landingOf(recording, answer, recorded))
}

/** Calls that are recorded in one turn of the event loop: some milliseconds. */
const callsOfATurn = 128

async function recordMany(
  requested: readonly RequestedCall[],
  record: (call: RequestedCall, index: number) => MaybePromise<RecordedCall>,
): Promise<readonly RecordedCall[]> {
  const recorded: RecordedCall[] = []
  for (let from = 0; from < requested.length; from += callsOfATurn) {
    const some = requested.slice(from, from + callsOfATurn).map((call, index) => record(call, from + index))
    recorded.push(...(await Promise.all(some)))
    await nextTurn()
  }
  return recorded
}

/** Hooks are asked about each call; with what they want the reply is recorded. */
async function toHookedLanding(recording: Recording, answer: ModelAnswer): Promise<Landing> {
  const { definitions, setup } = recording
  const { hooks, envs } = definitions
  const { state, step, cancel, acted = [] } = answer
  const side = state.turn?.session?.side
  if (!hooks || answer.block !== undefined) return blockedLanding(recording, answer, answer.block ?? '')
  const asking = { state, step, redactor: envs.redactor(state), ...defined({ side, cancel }) }
  const hooked = await recordHookedCalls(hooks, asking, hookedCalls(recording))
  const all = [...acted, ...hooked.acted]
  if (hooked.block !== undefined) return blockedLanding(recording, { ...answer, acted: all }, hooked.block)
  const calls = hooked.calls.map((call) => withSessionRole(setup, call, side !== undefined))
  return landingOf(recording, { ...answer, acted: all }, calls)
}

const noHooks: HookSet = {}

function hooksOf({ definitions }: Recording, { agent, turn }: ThreadState): HookSet {
  return definitions.hooks?.of(agent, turn?.session?.side) ?? noHooks
}

function* hookedCalls(recording: Recording): Generator<HookedCall> {
  const { reply, context, handoff, noRound } = recording
  for (const [index, requested] of reply.calls.entries()) {
    const takeBack = markReply(context)
    const { to } = handoff
    yield {
      requested,
      schema: noRound === undefined ? schemaOf(recording, requested) : undefined,
      record: (args) => skippedCall(noRound, requested) ?? recordOf(recording, { ...requested, args }, index),
      takeBack() {
        takeBack()
        if (to === undefined) delete handoff.to
      },
    }
  }
}

/** Undefined: what is recorded of it is no question to hooks. */
function schemaOf({ definitions: { app }, setup, reply, caller }: Recording, call: RequestedCall): Schema | undefined {
  if (cutCall(reply, call) || (call.tool === 'response' && setup.response)) return undefined
  if (caller.allowed.has(call.tool)) return app.tools.get(call.tool)?.args
  return (
    childSchema(setup.childTools, call.tool) ??
    promptSchema(setup.promptTools, call.tool) ??
    setup.handoffs.byName.get(call.tool)
  )
}

/** Nothing of the reply is run. */
function blockedLanding(recording: Recording, answer: ModelAnswer, why: string): Landing {
  const landing = landingOf({ ...recording, handoff: {} }, answer, blockedCalls(recording.reply.calls, why))
  return { ...landing, reply: { ...landing.reply, stop: 'hook_blocked', stopDetail: why } }
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

type ReplyLanding = Extract<Landing, { readonly kind: 'reply' }>

function landingOf(
  recording: Recording,
  { step, state, acted = [], took }: ModelAnswer,
  calls: readonly RecordedCall[],
): ReplyLanding {
  const { definitions, setup, reply, handoff, noRound } = recording
  const { app, turnRules } = definitions
  const set = hooksOf(recording, state)
  const side = state.turn?.session?.side
  // The next step would be one of the agent that takes over.
  const maxSteps = maxStepsOf(handoff.to === undefined ? setup.agent : app.agents.get(handoff.to), side)
  const recorded: Omit<ModelReplied, 'type'> = {
    step,
    model: reply.model ?? setup.model.name,
    text: reply.text,
    calls: set.after_call ? calls.map((call) => withResultHooks(set, call)) : calls,
    // The record's own: a model may use its objects again.
    usage: copyOf(priced(reply.usage, app.models.get(reply.model ?? '') ?? setup.model)),
    finish: finishReasons.has(reply.finish) ? reply.finish : 'other',
    ...defined({ reasoning: reply.reasoning, kept: copyOf(reply.kept), side, label: setup.side.label, took }),
    ...(handoff.to !== undefined && defined({ rules: rulesAfter(state, turnRules?.(handoff.to)) })),
    ...(acted.length > 0 && { hooks: acted }),
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
  return call instanceof Promise
    ? call.then((recorded) => withSessionRole(setup, recorded, isDual))
    : withSessionRole(setup, call, isDual)
}

function withSessionRole(
  { roles, response }: Pick<AgentSetup, 'roles' | 'response'>,
  call: RecordedCall,
  isDual: boolean,
): RecordedCall {
  if (roles.size === 0 && !(isDual && response)) return call
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
export function priced(usage: Usage, { costPerMillion: price }: ModelDefinition): Usage {
  if (!price || usage.costUsd > 0) return usage
  const { inputTokens, outputTokens, cachedInputTokens: cached = 0, cacheWriteTokens: written = 0 } = usage
  const fresh = Math.max(0, inputTokens - cached - written)
  const input =
    fresh * price.inputUsd +
    cached * (price.cachedInputUsd ?? price.inputUsd) +
    written * (price.cacheWriteUsd ?? price.inputUsd)
  return { ...usage, costUsd: (input + outputTokens * price.outputUsd) / 1e6 }
}
