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

/** Set one by one: a literal with spreads costs many times as much, and a swarm makes thousands of spans a second. */
class Attributes {
  readonly all: Record<string, AttributeValue> = {}

  set(name: string, value: AttributeValue | undefined): void {
    if (value !== undefined) this.all[name] = value
  }
}

function attributesOf(
  observation: Observation,
  content: boolean,
  errorType: string | undefined,
): Readonly<Record<string, AttributeValue>> {
  const { kind, thread, root, agent, run, step, key, verdict, reason, took } = observation
  const to = new Attributes()
  if (kind !== 'wait' && kind !== 'hook') to.set('gen_ai.operation.name', operations[kind])
  to.set('gen_ai.agent.name', agent)
  to.set('gen_ai.conversation.id', thread)
  addModel(to, observation)
  addCall(to, observation)
  to.set('error.type', errorType)
  to.set('skein.thread', thread)
  to.set('skein.root', root)
  to.set('skein.run', run)
  to.set('skein.step', step)
  to.set('skein.effect.key', key)
  to.set('skein.verdict', verdict)
  to.set('skein.stop_reason', reason)
  to.set('skein.waited_ms', took?.waitedMs)
  to.set('skein.attempts', took?.attempts)
  if (content) addContent(to, observation)
  return to.all
}

function addModel(to: Attributes, { kind, name, usage, finish }: Observation): void {
  if (kind !== 'turn' && kind !== 'call' && name !== '' && (usage || kind === 'model'))
    to.set('gen_ai.request.model', name)
  if (finish) to.set('gen_ai.response.finish_reasons', [finish])
  if (!usage) return
  to.set('gen_ai.usage.input_tokens', usage.inputTokens)
  to.set('gen_ai.usage.output_tokens', usage.outputTokens)
  to.set('gen_ai.usage.cache_read.input_tokens', usage.cachedInputTokens)
  to.set('gen_ai.usage.cache_creation.input_tokens', usage.cacheWriteTokens)
  to.set('skein.cost_usd', usage.costUsd)
}

function addCall(to: Attributes, { kind, name, step = 0, index }: Observation): void {
  if (index === undefined) return
  to.set('gen_ai.tool.call.id', callId(step, index))
  if (kind !== 'call') return
  to.set('gen_ai.tool.name', name)
  to.set('gen_ai.tool.type', 'function')
}

function addContent(to: Attributes, { kind, content }: Observation): void {
  const { text, args, result } = content ?? {}
  if (kind === 'call') {
    to.set('gen_ai.tool.call.arguments', JSON.stringify(args))
    if (result !== undefined) to.set('gen_ai.tool.call.result', JSON.stringify(result))
  } else if (text !== undefined) {
    const message = { role: 'assistant', parts: [{ type: 'text', content: text }] }
    to.set('gen_ai.output.messages', JSON.stringify([message]))
  }
}
