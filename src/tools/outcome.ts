/**
 * From what a tool's body returned to an outcome (T2). A plain value is a success; an object with `status`
 * is taken at its word.
 */
import type { z } from 'zod'
import type { Outcome } from '../core/effect.js'
import { failure } from '../core/failure.js'
import { isObject, toJson } from '../core/json.js'

export function toOutcome(tool: string, returned: unknown, outputSchema: z.ZodType | undefined): Outcome {
  const shaped = isObject(returned) && (returned['status'] === 'success' || returned['status'] === 'error') ? returned : undefined
  if (shaped?.['status'] === 'error') {
    const error = shaped['error'] ?? shaped['result'] ?? `${tool} reported an error without saying which`
    return { ok: false, failure: failure('TOOL_FAILED', typeof error === 'string' ? error : JSON.stringify(toJson(error))) }
  }
  const value = shaped && 'result' in shaped ? shaped['result'] : returned
  if (!outputSchema) return { ok: true, value: toJson(value) }
  const checked = outputSchema.safeParse(value)
  if (checked.success) return { ok: true, value: toJson(checked.data) }
  const text = checked.error.issues.map(({ path, message }) => `${path.join('.') || '(result)'}: ${message}`).join('; ')
  return { ok: false, failure: failure('TOOL_OUTPUT_INVALID', `${tool} returned what its outputSchema does not allow: ${text}`) }
}
