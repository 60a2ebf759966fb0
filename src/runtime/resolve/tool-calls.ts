/**
 * A call of a tool that a model, a body or a person requests, as it is recorded: everything that the tool's definition
 * decides about the call is decided here, once.
 *
 * - A call that may not be made is recorded with its refusal; its body never runs (T1).
 * - Pure, but for the definition's own functions (`needsApproval`, `cache.keyFn`), which are asked once; their answer
 *   is recorded. One that throws makes the call fail: nothing runs that may have needed an approval.
 * - Calls are equal to the cache when their bodies would be given equal args, after defaults, transforms and stripped
 *   fields. Args that JSON cannot tell apart (bytes, functions) are told apart by what was sent.
 */
import { hash } from 'node:crypto'
import type { ThreadState } from '../../../actors/thread/state.js'
import { refusedEffect } from '../../../actors/thread/travel/rebase.js'
import { effectOf } from '../../agent/effect.js'
import type { App } from '../../agent/app.js'
import type { RetryPolicy, ToolDefinition, ToolState } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import { failure, toFailure } from '../../core/failure.js'
import { canonical, toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import type { CallPolicy, Hold, RecordedCall } from '../../core/records/record.js'
import { parseOrThrow } from '../../core/schema.js'
import type { RequestedCall } from '../../models/port.js'
import { checkArgs, sentArgs } from '../../tools/args.js'
import { contextView, localContext, sharedContext } from '../../tools/context.js'
import type { Hooks } from '../hooks/ask-hooks.js'
import { skillRefusal } from '../../tools/own/skills.js'
import type { Environments } from '../secrets/environment.js'
import type { RulesOfAgent } from './turn-rules.js'

export interface CallDefinitions {
  readonly app: App
  readonly envs: Environments
  /** Absent where no turn goes on: a recorded thread is compared with definitions. */
  readonly turnRules?: RulesOfAgent
  /** Absent where the app has none, and in a replay: what hooks decided is taken as it was. */
  readonly hooks?: Hooks | undefined
}

export interface CallerContext {
  /** As it is when the call is asked for: what the calls before it change does not count yet. */
  readonly thread: Pick<ThreadState, 'id' | 'values'>
  /** Names of the tools that may be called. */
  readonly allowed: ReadonlySet<string>
  /** All tools that it is offered, where these are more. */
  readonly offered?: readonly { readonly name: string }[]
  /** Names of the skills that it may read. Not set: all. */
  readonly skills?: readonly string[]
  /** Of a fork: what happens to calls with a side effect. */
  readonly guard?: 'ask' | 'refuse'
}

/** A longer name is cut: it is recorded, and repeated in every request. */
const longestName = 200
const defaultRetries = 2

/** A promise only where a definition's own function returns one. */
export function recordCall(
  { app, envs }: CallDefinitions,
  caller: CallerContext,
  { tool: name, args }: RequestedCall,
): RecordedCall | Promise<RecordedCall> {
  const tool = caller.allowed.has(name) ? app.tools.get(name) : undefined
  if (!tool || tool.provider) {
    const known = (caller.offered?.map((each) => each.name) ?? [...caller.allowed]).join(', ') || 'none'
    const shown = name.length > longestName ? `${name.slice(0, longestName)}…` : name
    return {
      tool: shown,
      args: sentArgs(args),
      refused: failure('UNKNOWN_TOOL', `there is no tool ${JSON.stringify(shown)} here; the tools are: ${known}`),
    }
  }
  const checked = checkArgs(name, tool.args, args)
  if (!checked.ok) return { tool: name, args: checked.sent, refused: checked.failure }
  const unknown = caller.skills && skillRefusal(name, checked.args, caller.skills)
  if (unknown) return { tool: name, args: checked.args, refused: toFailure(unknown, 'TOOL_INPUT_INVALID') }
  try {
    return withHold(tool, definedCall({ app, envs }, tool, checked.args), caller)
  } catch (thrown) {
    return undecided(tool, checked.args, thrown)
  }
}

/** The call, and what it waits for before it runs. */
function withHold(
  tool: ToolDefinition,
  call: RecordedCall,
  caller: CallerContext,
): RecordedCall | Promise<RecordedCall> {
  if (call.sideEffect && caller.guard) return guarded(tool, call, caller.guard)
  if (tool.execute === false) return { ...call, hold: { why: 'person' } }
  const needed = approvalNeeded(tool, call.args, caller)
  if (typeof needed === 'boolean') return needed ? { ...call, hold: approvalOf(tool) } : call
  return needed.then(
    (yes) => (yes ? { ...call, hold: approvalOf(tool) } : call),
    (thrown: unknown) => undecided(tool, call.args, thrown),
  )
}

/** A call of a fork: what acts on the world is refused, or waits for an approval. */
function guarded(tool: ToolDefinition, call: RecordedCall, guard: 'ask' | 'refuse'): RecordedCall {
  if (guard === 'refuse') return { ...call, refused: failure('TOOL_DENIED', refusedEffect(tool.name)) }
  return { ...call, hold: tool.execute === false ? { why: 'person' } : approvalOf(tool) }
}

/** A call approved with other args: it needs no further approval. */
export function recordEdited({ app, envs }: CallDefinitions, name: string, args: unknown): RecordedCall {
  const tool = app.tools.get(name)
  if (!tool)
    return { tool: name, args: toJson(args), refused: failure('UNKNOWN_TOOL', `the tool ${name} is no longer defined`) }
  const checked = checkArgs(name, tool.args, args)
  return checked.ok
    ? definedCall({ app, envs }, tool, checked.args)
    : { tool: name, args: checked.sent, refused: checked.failure }
}

/** The call with everything that its tool's definition says of it. */
function definedCall({ app, envs }: CallDefinitions, tool: ToolDefinition, args: Json): RecordedCall {
  const { sideEffect, commutes, idempotent } = effectOf(tool, app)
  const acts = sideEffect === true
  const effect = acts ? effectFields(tool, { commutes, idempotent }) : {}
  const needs = envs.needsOfTool(tool.name)
  const readsContext = tool.contextSchema !== undefined || tool.sharedSchema !== undefined
  // A body that ran before the calls ahead of it must not ask a person because of what it saw too early.
  const ahead = sideEffect === false && !tool.onToolCalled
  return {
    tool: tool.name,
    args,
    ...defined({
      sideEffect: acts || undefined,
      ...effect,
      ahead: ahead || undefined,
      inTurn: (readsContext && !ahead) || undefined,
      repeats: tool.repeats || undefined,
      ...keptWhole(tool),
      policy: policyOf(tool, args),
      needs: needs.length > 0 ? needs : undefined,
    }),
  }
}

/** What counts of a call that acts on the world. */
function effectFields(
  { timeoutMs, retry, revert }: ToolDefinition,
  { commutes, idempotent }: Pick<ToolDefinition, 'commutes' | 'idempotent'>,
): Pick<RecordedCall, 'commutes' | 'idempotent' | 'revert' | 'limitMs'> {
  return defined({
    commutes: commutes || undefined,
    idempotent: idempotent || undefined,
    revert: revert === undefined ? undefined : (true as const),
    limitMs: timeoutMs === undefined ? undefined : limitOf(timeoutMs, retry),
  })
}

function keptWhole({ retention }: ToolDefinition): Pick<RecordedCall, 'whole'> {
  return retention === 'keep' ? { whole: true } : {}
}

/** A policy that says how to retry asks for retries; a circuit breaker alone only counts failures. */
export function retriesOf({ maxRetries, backoffMs, shouldRetry }: RetryPolicy): number {
  return maxRetries ?? (backoffMs !== undefined || shouldRetry ? defaultRetries : 0)
}

/** How long all attempts and the pauses between them may take. */
function limitOf(timeoutMs: number, retry: RetryPolicy = {}): number {
  const retries = retriesOf(retry)
  return timeoutMs * (retries + 1) + (retry.backoffMs ?? 0) * (2 ** retries - 1)
}

function policyOf(
  { name, args: schema, cache, retry, maxExecutionsPerRun }: ToolDefinition,
  args: Json,
): CallPolicy | undefined {
  const breaker = retry?.circuitBreakerThreshold
  if (!cache && breaker === undefined && (maxExecutionsPerRun ?? undefined) === undefined) return undefined
  const { keyFn, ttlMs } = typeof cache === 'object' ? cache : {}
  const cacheKey = (): string => {
    const parsed = parseOrThrow(schema, args)
    return keyOf([name, keyFn ? String(keyFn(parsed)) : comparable(parsed, args)])
  }
  return defined({
    cacheKey: cache ? cacheKey() : undefined,
    cacheTtlMs: ttlMs,
    maxExecutions: maxExecutionsPerRun ?? undefined,
    breaker,
  })
}

function comparable(parsed: unknown, sent: Json): Json {
  return isPlain(parsed, 0) ? toJson(parsed) : [toJson(parsed), sent]
}

/** Args come as JSON: a deeper value was made by a transform, and may be a cycle. */
const deepest = 100

function isPlain(value: unknown, depth: number): boolean {
  if (
    value === null ||
    value === undefined ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    value instanceof Date
  )
    return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth === deepest) return false
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if ((prototype !== Object.prototype && prototype !== null) || 'toJSON' in value) return false
  return Object.values(value).every((item) => isPlain(item, depth + 1))
}

function approvalNeeded(tool: ToolDefinition, args: Json, { thread }: CallerContext): boolean | Promise<boolean> {
  const { needsApproval, args: schema } = tool
  return typeof needsApproval === 'function'
    ? needsApproval(parseOrThrow(schema, args), approvalState(tool, thread))
    : needsApproval === true
}

/** What a definition may look at when it decides. Contexts are copied and parsed only where it reads them. */
function approvalState(
  tool: ToolDefinition,
  { id, values }: CallerContext['thread'],
): Pick<ToolState, 'threadId' | 'local' | 'shared'> {
  const read = (key: string): Json | undefined =>
    Object.hasOwn(values, key) ? structuredClone(values[key]?.value) : undefined
  return {
    threadId: id,
    get local() {
      return contextView(localContext(tool), read)
    },
    get shared() {
      return contextView(sharedContext(tool), read)
    },
  }
}

function approvalOf({ approvalPrompt, approvalDefaults, approvalDeadline }: ToolDefinition): Hold {
  return {
    why: 'approval',
    ...defined({
      prompt: approvalPrompt,
      defaults: approvalDefaults,
      deadlineMs: approvalDeadline?.afterMs,
      atDeadline: approvalDeadline?.decision,
    }),
  }
}

function undecided({ name }: ToolDefinition, args: Json, thrown: unknown): RecordedCall {
  const { message } = toFailure(thrown, 'TOOL_THREW')
  return {
    tool: name,
    args,
    refused: failure('TOOL_THREW', `${name} was not run: its definition could not decide about the call: ${message}`),
  }
}

/** The key by which the outside world recognises a call: the same after a retry, a crash, or on another host. */
export function idempotencyKeyOf(
  thread: string,
  { step, index }: { readonly step: number; readonly index: number },
  { tool, args }: Pick<RecordedCall, 'tool' | 'args'>,
): string {
  return keyOf([thread, step, index, tool, args])
}

/** A short hash of a JSON value: equal for equal values. */
export function keyOf(value: Json): string {
  return hash('sha256', canonical(value), 'base64url').slice(0, 32)
}
