/**
 * Spans by the OpenTelemetry conventions for generative AI, made of observations. Names of attributes are here and
 * nowhere else: the conventions are still in development.
 *
 * - Ids are functions of thread and key (TC1), so a parent is known without having been seen.
 * - What was said is left out unless it is asked for: it is masked, but large.
 */
import { callKey, turnKey } from '../core/effect.js'
import { callId } from '../core/records/message.js'
import type { StopReason } from '../core/records/record.js'
import { readTrace, spanIdOf } from '../core/trace/trace.js'
import type { TraceContext } from '../core/trace/trace.js'
import type { Observation } from './port.js'

export type AttributeValue = string | number | boolean | string[]

export interface TraceSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string
  readonly name: string
  readonly kind: 'internal' | 'client'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, AttributeValue>>
  readonly error?: string
}

export interface SpanOptions {
  /** Whether texts, args and results are attributes. Default false. */
  readonly content?: boolean
}

/** Undefined where the turn is not traced, or whoever began the trace does not want it recorded. */
export function spanOf(observation: Observation, { content = false }: SpanOptions = {}): TraceSpan | undefined {
  const context = readTrace(observation.trace)
  if (!context?.sampled) return undefined
  const { thread, key, startedAt, endedAt } = observation
  const parentId = parentOf(observation, context)
  const error = spanErrorOf(observation)
  return {
    traceId: context.trace,
    spanId: spanIdOf(thread, key),
    ...(parentId !== undefined && { parentId }),
    name: nameOf(observation),
    kind: observation.kind === 'model' || observation.kind === 'context' ? 'client' : 'internal',
    startMs: startedAt,
    endMs: Math.max(startedAt, endedAt),
    attributes: attributesOf(observation, content, error?.type),
    ...(error && { error: error.message }),
  }
}

/** The sender's span is above a turn, the turn above its effects, a call above what belongs to it. */
function parentOf({ kind, thread, run, step, index }: Observation, context: TraceContext): string | undefined {
  if (kind === 'turn') return context.parent
  const isPart = (kind === 'wait' || kind === 'hook') && step !== undefined && index !== undefined
  return spanIdOf(thread, isPart ? callKey(step, index) : turnKey(run))
}

const operations = { turn: 'invoke_agent', model: 'chat', context: 'chat', call: 'execute_tool' } as const

function nameOf({ kind, name }: Observation): string {
  const verb = kind === 'wait' || kind === 'hook' ? kind : operations[kind]
  return name === '' ? verb : `${verb} ${name}`
}

interface SpanError {
  readonly type: string
  readonly message: string
}

const failedTurns: ReadonlySet<StopReason> = new Set<StopReason>(['failed', 'deadline', 'terminated'])

export function spanErrorOf({ failure, reason }: Observation): SpanError | undefined {
  if (failure) return { type: failure.code, message: failure.message }
  return reason && failedTurns.has(reason) ? { type: reason, message: `the turn ended: ${reason}` } : undefined
}

type Attributes = Record<string, AttributeValue | undefined>

function attributesOf(
  observation: Observation,
  content: boolean,
  errorType: string | undefined,
): Readonly<Record<string, AttributeValue>> {
  const { kind, thread, root, agent, run, step, key, verdict, reason, took } = observation
  const all: Attributes = {
    ...(kind in operations && { 'gen_ai.operation.name': operations[kind as keyof typeof operations] }),
    'gen_ai.agent.name': agent,
    'gen_ai.conversation.id': thread,
    ...ofModel(observation),
    ...ofCall(observation),
    'error.type': errorType,
    'skein.thread': thread,
    'skein.root': root,
    'skein.run': run,
    'skein.step': step,
    'skein.effect.key': key,
    'skein.verdict': verdict,
    'skein.stop_reason': reason,
    'skein.waited_ms': took?.waitedMs,
    'skein.attempts': took?.attempts,
    ...(content && ofContent(observation)),
  }
  const set: Record<string, AttributeValue> = {}
  for (const [name, value] of Object.entries(all)) if (value !== undefined) set[name] = value
  return set
}

function ofModel({ kind, name, usage, finish }: Observation): Attributes {
  if (!usage && kind !== 'model') return {}
  const isModel = kind !== 'turn' && name !== ''
  return {
    'gen_ai.request.model': isModel ? name : undefined,
    'gen_ai.response.finish_reasons': finish && [finish],
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
    'skein.cost_usd': usage?.costUsd,
  }
}

function ofCall({ kind, name, step = 0, index }: Observation): Attributes {
  if (index === undefined) return {}
  const call = { 'gen_ai.tool.call.id': callId(step, index) }
  return kind === 'call' ? { 'gen_ai.tool.name': name, 'gen_ai.tool.type': 'function', ...call } : call
}

function ofContent({ kind, content }: Observation): Attributes {
  const { text, args, result } = content ?? {}
  if (kind === 'call')
    return {
      'gen_ai.tool.call.arguments': JSON.stringify(args),
      'gen_ai.tool.call.result': result === undefined ? undefined : JSON.stringify(result),
    }
  if (text === undefined) return {}
  return {
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: text }] }]),
  }
}
