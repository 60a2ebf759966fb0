/**
 * Turns what a tool's body returned into an outcome (T2). A plain value is a success; an object with `status` decides
 * for itself.
 *
 * - Nothing that a body returned is dropped: a success with further fields is a value as it is, and all fields of an
 *   error are part of its message.
 */
import type { Outcome } from '../core/effect.js'
import { failure, failureGroup, isSkeinError, toFailure } from '../core/failure.js'
import type { Failure, FailureCode } from '../core/failure.js'
import { isObject, toJson } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import { parse } from '../core/schema.js'

export interface BodyOutput {
  readonly outcome: Outcome
  /** Of a success: the value as the body and the schema made it, before it became JSON. */
  readonly output?: unknown
}

export function toOutcome(tool: string, returned: unknown, outputSchema: Schema | undefined): Outcome {
  return toOutput(tool, returned, outputSchema).outcome
}

export function toOutput(tool: string, returned: unknown, outputSchema: Schema | undefined): BodyOutput {
  if (isReportedError(returned)) return { outcome: { ok: false, failure: failureOf(tool, returned) } }
  const value = isResult(returned) ? returned.result : returned
  if (!outputSchema) return { outcome: { ok: true, value: toJson(value) }, output: value }
  const checked = parse(outputSchema, value)
  if (checked.success) return { outcome: { ok: true, value: toJson(checked.data) }, output: checked.data }
  const text = checked.error.issues.map(({ path, message }) => `${path.join('.') || '(result)'}: ${message}`).join('; ')
  return {
    outcome: {
      ok: false,
      failure: failure('TOOL_OUTPUT_INVALID', `${tool} returned what its outputSchema does not allow: ${text}`),
    },
  }
}

/** An error that the body returned instead of throwing: its changes count. */
export function isReportedError(
  returned: unknown,
): returned is { readonly status: 'error'; readonly [field: string]: unknown } {
  return isObject(returned) && returned['status'] === 'error'
}

const resultFields: ReadonlySet<string> = new Set(['status', 'result', 'error', 'content', 'attachments'])

function isResult(returned: unknown): returned is { readonly result: unknown } {
  return (
    isObject(returned) &&
    returned['status'] === 'success' &&
    'result' in returned &&
    Object.keys(returned).every((field) => resultFields.has(field))
  )
}

/** Files of the thread that a body attaches to its result: `{ status, …, attachments: ['/chart.png'] }`. */
export function namedFiles(returned: unknown): readonly string[] | undefined {
  if (!isObject(returned) || (returned['status'] !== 'success' && returned['status'] !== 'error')) return undefined
  const { attachments } = returned
  if (!Array.isArray(attachments) || attachments.length === 0) return undefined
  return attachments.every((path): path is string => typeof path === 'string' && path.startsWith('/'))
    ? attachments
    : undefined
}

/** Fields that may hold the message, best first. */
const messageFields = ['error', 'message', 'result'] as const

function failureOf(tool: string, returned: { readonly [field: string]: unknown }): Failure {
  // An error of Skein has more than a message.
  if (isSkeinError(returned['error'])) return toFailure(returned['error'], 'TOOL_FAILED')
  const all = toJson(returned)
  const { status: _, ...fields } = isObject(all) ? all : {}
  const { code } = fields
  const own = isCode(code) ? code : undefined
  const isFilled = (field: string): boolean =>
    fields[field] !== undefined && fields[field] !== null && fields[field] !== '' && !(field === 'code' && own)
  const main = messageFields.find(isFilled)
  const rest = Object.fromEntries(Object.entries(fields).filter(([field]) => field !== main && isFilled(field)))
  const more = Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined
  const message =
    main === undefined ? more && JSON.stringify(all) : [textOf(fields[main]), more].filter(Boolean).join(' ')
  return failure(own ?? 'TOOL_FAILED', message ?? `${tool} reported an error without saying which`)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A code that is meant for models; any other code of a tool is part of the message. */
function isCode(code: unknown): code is FailureCode {
  return typeof code === 'string' && failureGroup(code as FailureCode) === 'model'
}
