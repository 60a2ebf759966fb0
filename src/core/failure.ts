/**
 * Errors as something to throw (`SkeinError`) and as data that can be stored and sent (`Failure`).
 * Owns the list of codes, grouped by who must act. Knows nothing of HTTP, workers or models.
 *
 * - Only a `Failure` crosses a worker, the bus, the journal or HTTP: structuredClone of an Error
 *   subclass loses its class, name and code.
 * - Identity is the mark `Symbol.for('skein.error')`, so two copies of the package agree.
 * - A failure holds data, never live objects, and its message says what to do.
 */
import { isObject, textOf, toJson } from './json.js'

/** Every code, by who must act. */
const codes = {
  /** Thrown before any effect; the caller must change something. */
  caller: [
    'BAD_OPTION',
    'UNKNOWN_AGENT',
    'UNKNOWN_MODEL',
    'UNKNOWN_PROMPT',
    'UNKNOWN_HOOK',
    'UNKNOWN_THREAD',
    'UNKNOWN_RUN',
    'DUPLICATE_NAME',
    'RESERVED_NAME',
    'APP_NOT_LOADED',
    'COMMAND_REFUSED',
    'UNKNOWN_REQUEST',
    'VARIABLES_REQUIRED',
    'BLOB_MISSING',
    'EFFECTS_CROSSED',
  ],
  /** The model reads it as the result of its call. */
  model: [
    'UNKNOWN_TOOL',
    'TOOL_INPUT_INVALID',
    'TOOL_INPUT_TOO_LARGE',
    'TOOL_OUTPUT_INVALID',
    'TOOL_THREW',
    'TOOL_TIMED_OUT',
    'TOOL_FAILED',
    'TOOL_DENIED',
    'TOOL_SKIPPED',
    'TOOL_BREAKER_OPEN',
    'TOOL_NOT_ALLOWED',
    'HOOK_REFUSED',
    'HOOK_FAILED',
    'WORKER_CRASHED',
    'EFFECT_UNKNOWN',
    'CALL_KILLED_ITS_HOST',
    'ENV_MISSING',
    'CONTEXT_MISSING',
    // The name that the specification of subagents gives it.
    'subagent_env_required',
    'FILES_QUOTA',
    'TOOL_PATH_INVALID',
    'TOOL_PATH_ESCAPE',
    'TOOL_FILE_TOO_LARGE',
    'TOOL_CONTENT_TOO_LARGE',
    'TOOL_PATCH_TOO_LARGE',
    'TOOL_PATCH_FAILED',
    'TOOL_GREP_FAILED',
    'TOOL_COMMAND_FAILED',
    'PROCESS_TIMEOUT',
    'TOOL_NETWORK_DISABLED',
    'TOOL_GIT_REMOTE_DISABLED',
  ],
  /** Skein has retried; it may succeed later. */
  later: [
    'MODEL_UNAVAILABLE',
    'MODEL_RATE_LIMITED',
    'COMMAND_UNANSWERED',
    'QUOTA_REACHED',
    'STREAM_LAGGED',
    'TEXT_TAKEN_BACK',
  ],
  /** Ends the turn; the parent or the user decides. */
  turn: [
    'CANCELLED',
    'MODEL_REJECTED',
    'MODEL_REPLY_TOO_LARGE',
    'OUTPUT_MISSING',
    'CHILD_FAILED',
    'SESSION_FAILED',
    'BUDGET_SPENT',
    'REVERT_FAILED',
  ],
  /** The operator must look at the store. */
  operator: [
    'JOURNAL_CONFLICT',
    'JOURNAL_CORRUPT',
    'RECORD_FROM_FUTURE',
    'STORE_IN_USE',
    'STORE_CLOSED',
    'STORE_FAILED',
    'SECRET_UNREADABLE',
    'THREAD_PARKED',
  ],
  /** A bug in Skein. */
  us: ['INVARIANT'],
} as const

export type FailureGroup = keyof typeof codes
export type FailureCode = (typeof codes)[FailureGroup][number]

const groups = new Map<FailureCode, FailureGroup>(
  Object.entries(codes).flatMap(([group, members]) => members.map((code) => [code, group as FailureGroup] as const)),
)

/** Who must act on a failure. */
export function failureGroup(code: FailureCode): FailureGroup {
  return groups.get(code) ?? 'us'
}

export interface Failure {
  readonly code: FailureCode
  readonly message: string
  /** Trying the same thing again may succeed. */
  readonly retry: boolean
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: Failure
}

const mark = Symbol.for('skein.error')

interface SkeinErrorOptions {
  readonly retry?: boolean
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export class SkeinError extends Error {
  override readonly name = 'SkeinError'
  readonly code: FailureCode
  readonly retry: boolean
  readonly data: Readonly<Record<string, unknown>> | undefined
  readonly [mark] = true

  constructor(code: FailureCode, message: string, options: SkeinErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retry = options.retry ?? false
    this.data = options.data
  }

  /** Whether it is one of Skein's errors and, where a code is given, that one; also of another copy of the package. */
  static is<Code extends FailureCode>(value: unknown, code?: Code): value is SkeinError & { readonly code: Code } {
    return isSkeinError(value) && (code === undefined || value.code === code)
  }
}

export function isSkeinError(value: unknown): value is SkeinError {
  return typeof value === 'object' && value !== null && (value as { [mark]?: unknown })[mark] === true
}

/** Anything that was thrown, as data. `code` is for errors that are not of Skein. */
export function toFailure(thrown: unknown, code: FailureCode): Failure {
  return failureOf(thrown, code, mostCauses)
}

/** A chain of causes may be circular. */
const mostCauses = 8

function failureOf(thrown: unknown, code: FailureCode, causes: number): Failure {
  if (isSkeinError(thrown)) {
    return {
      code: thrown.code,
      message: thrown.message,
      retry: thrown.retry,
      ...(thrown.data && { data: toJson(thrown.data) as NonNullable<Failure['data']> }),
      ...(thrown.cause !== undefined && causes > 0 && { cause: failureOf(thrown.cause, thrown.code, causes - 1) }),
    }
  }
  if (thrown instanceof Error) {
    const name = thrown.name === 'Error' ? '' : `${thrown.name}: `
    return { code, message: `${name}${thrown.message}`, retry: false }
  }
  return { code, message: typeof thrown === 'string' ? thrown : `thrown value: ${shown(thrown)}`, retry: false }
}

function shown(thrown: unknown): string {
  return isObject(thrown) || Array.isArray(thrown) ? JSON.stringify(toJson(thrown)) : textOf(thrown)
}

export function failure(code: FailureCode, message: string, options: Omit<SkeinErrorOptions, 'cause'> = {}): Failure {
  return { code, message, retry: options.retry ?? false, ...(options.data && { data: options.data }) }
}

/** A failure that arrived as data, as an error to throw. */
export function fromFailure(value: Failure): SkeinError {
  return new SkeinError(value.code, value.message, {
    retry: value.retry,
    ...(value.data && { data: value.data }),
    ...(value.cause && { cause: fromFailure(value.cause) }),
  })
}

/** Thrown where a numbered invariant of a module does not hold: always a bug in Skein. */
export function broken(invariant: string, detail: string): SkeinError {
  return new SkeinError(
    'INVARIANT',
    `invariant ${invariant} does not hold: ${detail}. This is a bug in Skein; please report it.`,
    {
      data: { invariant },
    },
  )
}
