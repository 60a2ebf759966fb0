/**
 * From what a tool's body returned to an outcome (T2). A plain value is a success; an object with `status`
 * is taken at its word.
 */
import type { z } from 'zod'
import type { Outcome } from '../core/effect.js'
import { failure, failureGroup, isSkeinError, toFailure } from '../core/failure.js'
import type { Failure, FailureCode } from '../core/failure.js'
import { isObject, toJson } from '../core/json.js'

export interface Output {
  readonly outcome: Outcome
  /** Of a success: the value as the body and the schema made it, before it became JSON. */
  readonly output?: unknown
}

export function toOutcome(tool: string, returned: unknown, outputSchema: z.ZodType | undefined): Outcome {
  return toOutput(tool, returned, outputSchema).outcome
}

export function toOutput(tool: string, returned: unknown, outputSchema: z.ZodType | undefined): Output {
  if (isReportedError(returned)) return { outcome: { ok: false, failure: reported(tool, returned) } }
  const value = isObject(returned) && returned['status'] === 'success' && 'result' in returned ? returned['result'] : returned
  if (!outputSchema) return { outcome: { ok: true, value: toJson(value) }, output: value }
  const checked = outputSchema.safeParse(value)
  if (checked.success) return { outcome: { ok: true, value: toJson(checked.data) }, output: checked.data }
  const text = checked.error.issues.map(({ path, message }) => `${path.join('.') || '(result)'}: ${message}`).join('; ')
  return { outcome: { ok: false, failure: failure('TOOL_OUTPUT_INVALID', `${tool} returned what its outputSchema does not allow: ${text}`) } }
}

/** An error that the body returned rather than threw: what it changed until then counts. */
export function isReportedError(returned: unknown): returned is { readonly status: 'error'; readonly [field: string]: unknown } {
  return isObject(returned) && returned['status'] === 'error'
}

function reported(tool: string, { error, result, code }: { readonly [field: string]: unknown }): Failure {
  // An error of Skein's says more than its text.
  if (isSkeinError(error)) return toFailure(error, 'TOOL_FAILED')
  const told = error ?? result ?? `${tool} reported an error without saying which`
  return failure(isCode(code) ? code : 'TOOL_FAILED', typeof told === 'string' ? told : JSON.stringify(toJson(told)))
}

/** Of those that a model reads; any other code is the tool's own affair. */
function isCode(code: unknown): code is FailureCode {
  return typeof code === 'string' && failureGroup(code as FailureCode) === 'model'
}
