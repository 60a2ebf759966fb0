/**
 * From what a tool's body returned to an outcome (T2). A plain value is a success; an object with `status`
 * is taken at its word.
 *
 * - Nothing that a body returned is dropped: a success that holds more than a result is a value as it is, and all
 *   that an error says is told.
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
  if (isReportedError(returned)) return { outcome: { ok: false, failure: reported(tool, returned) } }
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

/** An error that the body returned rather than threw: what it changed until then counts. */
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

/** Files of the thread that a body gives with its result: `{ status, …, attachments: ['/chart.png'] }`. */
export function namedFiles(returned: unknown): readonly string[] | undefined {
  if (!isObject(returned) || (returned['status'] !== 'success' && returned['status'] !== 'error')) return undefined
  const { attachments } = returned
  if (!Array.isArray(attachments) || attachments.length === 0) return undefined
  return attachments.every((path): path is string => typeof path === 'string' && path.startsWith('/'))
    ? attachments
    : undefined
}

/** What may say which error it was, the best first. */
const tellingFields = ['error', 'message', 'result'] as const

function reported(tool: string, returned: { readonly [field: string]: unknown }): Failure {
  // An error of Skein's says more than its text.
  if (isSkeinError(returned['error'])) return toFailure(returned['error'], 'TOOL_FAILED')
  const all = toJson(returned)
  const { status: _, ...said } = isObject(all) ? all : {}
  const { code } = said
  const own = isCode(code) ? code : undefined
  const isSaid = (field: string): boolean =>
    said[field] !== undefined && said[field] !== null && said[field] !== '' && !(field === 'code' && own)
  const telling = tellingFields.find(isSaid)
  const rest = Object.fromEntries(Object.entries(said).filter(([field]) => field !== telling && isSaid(field)))
  const more = Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined
  const message =
    telling === undefined ? more && JSON.stringify(all) : [textOf(said[telling]), more].filter(Boolean).join(' ')
  return failure(own ?? 'TOOL_FAILED', message ?? `${tool} reported an error without saying which`)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Of those that a model reads; any other code is the tool's own affair. */
function isCode(code: unknown): code is FailureCode {
  return typeof code === 'string' && failureGroup(code as FailureCode) === 'model'
}
