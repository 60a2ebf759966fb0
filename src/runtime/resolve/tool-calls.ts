/**
 * From what a model (a body, a person) asks to a call as it is recorded: everything that the tool's definition decides
 * about the call is decided here, once.
 *
 * - A call that may not be made is recorded with its result; its body never runs (T1).
 * - What a definition's own function says (`needsApproval`, `cache.keyFn`) is asked once and recorded. One that
 *   throws makes the call fail: nothing runs that someone should have been asked about.
 * - Calls are equal to the cache when their bodies would be given equal args: defaults, transforms and what is
 *   stripped count. Args that JSON cannot tell apart (bytes, functions) are told apart by what was sent.
 */
import { hash } from 'node:crypto'
import { effectOf } from '../../agent/effect.js'
import type { App } from '../../agent/app.js'
import type { RetryPolicy, ToolDefinition } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import { failure, toFailure } from '../../core/failure.js'
import { canonical, toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import type { CallPolicy, Hold, RecordedCall } from '../../core/records/record.js'
import { parseOrThrow } from '../../core/schema.js'
import type { RequestedCall } from '../../models/port.js'
import { checkArgs, sentArgs } from '../../tools/args.js'
import type { Environments } from '../secrets/environment.js'
import { retriesOf } from '../effects/tool-retry.js'

export interface CallDefinitions {
  readonly app: App
  readonly envs: Environments
}

export interface CallerContext {
  readonly threadId: string
  /** Names of the tools that may be called. */
  readonly allowed: ReadonlySet<string>
  /** All that it is offered, where that is more. */
  readonly offered?: readonly { readonly name: string }[]
}

const longestName = 200

/** A promise only where a definition's function gives one. */
export function recordCall(
  { app, envs }: CallDefinitions,
  asker: CallerContext,
  { tool: name, args }: RequestedCall,
): RecordedCall | Promise<RecordedCall> {
  const tool = asker.allowed.has(name) ? app.tools.get(name) : undefined
  if (!tool) {
    const known = (asker.offered?.map((each) => each.name) ?? [...asker.allowed]).join(', ') || 'none'
    // A name of any length would be kept and told again and again.
    const shown = name.length > longestName ? `${name.slice(0, longestName)}…` : name
    return {
      tool: shown,
      args: sentArgs(args),
      refused: failure('UNKNOWN_TOOL', `there is no tool ${JSON.stringify(shown)} here; the tools are: ${known}`),
    }
  }
  const checked = checkArgs(name, tool.args, args)
  if (!checked.ok) return { tool: name, args: checked.sent, refused: checked.failure }
  try {
    const call = described({ app, envs }, tool, checked.args)
    if (tool.execute === false) return { ...call, hold: { why: 'person' } }
    const needed = approvalNeeded(tool, checked.args, asker)
    if (typeof needed === 'boolean') return needed ? { ...call, hold: approvalOf(tool) } : call
    return needed.then(
      (yes) => (yes ? { ...call, hold: approvalOf(tool) } : call),
      (thrown: unknown) => unasked(tool, checked.args, thrown),
    )
  } catch (thrown) {
    return unasked(tool, checked.args, thrown)
  }
}

/** The same call with other args, as someone approved it: it waits for nobody any more. */
export function recordEdited({ app, envs }: CallDefinitions, name: string, args: unknown): RecordedCall {
  const tool = app.tools.get(name)
  if (!tool)
    return { tool: name, args: toJson(args), refused: failure('UNKNOWN_TOOL', `the tool ${name} is no longer defined`) }
  const checked = checkArgs(name, tool.args, args)
  return checked.ok
    ? described({ app, envs }, tool, checked.args)
    : { tool: name, args: checked.sent, refused: checked.failure }
}

function described({ app, envs }: CallDefinitions, tool: ToolDefinition, args: Json): RecordedCall {
  const { sideEffect, commutes, idempotent } = effectOf(tool, app)
  const policy = policyOf(tool, args)
  const needs = envs.needsOfTool(tool.name)
  const reads = tool.contextSchema !== undefined || tool.sharedSchema !== undefined
  // Nobody is asked because of what a body saw too early.
  const ahead = sideEffect === false && !tool.onToolCalled
  return {
    tool: tool.name,
    args,
    ...(sideEffect === true && { sideEffect: true as const }),
    ...(sideEffect === true && commutes && { commutes: true as const }),
    ...(sideEffect === true && idempotent && { idempotent: true as const }),
    ...(sideEffect === true && tool.timeoutMs !== undefined && { limitMs: limitOf(tool.timeoutMs, tool.retry) }),
    ...(ahead && { ahead: true as const }),
    ...(reads && !ahead && { inTurn: true as const }),
    ...defined({ policy }),
    ...(needs.length > 0 && { needs }),
  }
}

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
  return {
    ...(cache && {
      cacheKey: keyOf([
        name,
        keyFn ? String(keyFn(parseOrThrow(schema, args))) : validated(parseOrThrow(schema, args), args),
      ]),
    }),
    ...defined({ cacheTtlMs: ttlMs }),
    ...(typeof maxExecutionsPerRun === 'number' && { maxExecutions: maxExecutionsPerRun }),
    ...defined({ breaker }),
  }
}

function validated(parsed: unknown, sent: Json): Json {
  return isPlain(parsed, 0) ? toJson(parsed) : [toJson(parsed), sent]
}

/** Args have come as JSON: what is deeper was made by a transform, and may be a cycle. */
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

function approvalNeeded(
  { needsApproval, args: schema }: ToolDefinition,
  args: Json,
  { threadId }: CallerContext,
): boolean | Promise<boolean> {
  return typeof needsApproval === 'function'
    ? needsApproval(parseOrThrow(schema, args), { threadId })
    : needsApproval === true
}

function approvalOf({ approvalPrompt, approvalDefaults, approvalDeadline }: ToolDefinition): Hold {
  return {
    why: 'approval',
    ...defined({ prompt: approvalPrompt }),
    ...defined({ defaults: approvalDefaults }),
    ...(approvalDeadline && { deadlineMs: approvalDeadline.afterMs, atDeadline: approvalDeadline.decision }),
  }
}

function unasked({ name }: ToolDefinition, args: Json, thrown: unknown): RecordedCall {
  const { message } = toFailure(thrown, 'TOOL_THREW')
  return {
    tool: name,
    args,
    refused: failure('TOOL_THREW', `${name} was not run: its definition could not decide about the call: ${message}`),
  }
}

/** What a call is known by to the world: the same after a retry, a crash, or on another host. */
export function idempotencyKeyOf(
  thread: string,
  { step, index }: { readonly step: number; readonly index: number },
  { tool, args }: Pick<RecordedCall, 'tool' | 'args'>,
): string {
  return keyOf([thread, step, index, tool, args])
}

/** A short name for a JSON value: equal for equal values. */
export function keyOf(value: Json): string {
  return hash('sha256', canonical(value), 'base64url').slice(0, 32)
}
