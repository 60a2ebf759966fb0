/**
 * A tool's args: from what a model sent to what the body may trust (T1). Parse, validate, repair once, validate.
 *
 * AR1 A repair changes the form of a value, never invents one: a missing field stays missing.
 * AR2 Repairs are tried only where validation failed, so what was valid is never touched.
 */
import type { z } from 'zod'
import { failure, toFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { isObject, toJson } from '../core/json.js'
import type { Json } from '../core/json.js'

export type CheckedArgs = { readonly ok: true; readonly args: Json } | { readonly ok: false; readonly failure: Failure; readonly sent: Json }

export function checkArgs(tool: string, schema: z.ZodType, sent: unknown): CheckedArgs {
  const parsed = parse(sent)
  if (!parsed.ok) {
    return { ok: false, sent: toJson(sent), failure: failure('TOOL_INPUT_INVALID', `the args of ${tool} are not JSON: ${parsed.why}. Send one JSON object.`) }
  }
  const issues = issuesOf(schema, parsed.value)
  if (issues.length === 0) return { ok: true, args: toJson(parsed.value) }
  const mended = repair(schema, parsed.value)
  if (issuesOf(schema, mended).length === 0) return { ok: true, args: toJson(mended) }
  const fields = issues.map(({ path, message }) => ({ path: path.join('.') || '(args)', message }))
  const text = fields.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return { ok: false, sent: toJson(parsed.value), failure: failure('TOOL_INPUT_INVALID', `the args of ${tool} are invalid: ${text}. Send them again, corrected.`, { data: { fields } }) }
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string }

function parse(sent: unknown): Parsed {
  if (typeof sent !== 'string') return { ok: true, value: sent ?? {} }
  if (sent.trim() === '') return { ok: true, value: {} }
  try {
    return { ok: true, value: JSON.parse(sent) }
  } catch (thrown) {
    return { ok: false, why: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

type Issue = z.core.$ZodIssue

/** What is wrong with the value. A check of the app's own may throw: then that is what is wrong. */
function issuesOf(schema: z.ZodType, value: unknown): readonly Issue[] {
  try {
    return schema.safeParse(value).error?.issues ?? []
  } catch (thrown) {
    return [{ code: 'custom', path: [], input: value, message: `they could not be checked: ${toFailure(thrown, 'TOOL_INPUT_INVALID').message}` }]
  }
}

/** One pass over what validation complained of; an envelope or a stringified whole is opened first. */
function repair(schema: z.ZodType, value: unknown): unknown {
  let mended = unwrap(value)
  for (const issue of issuesOf(schema, mended)) mended = replaceAt(mended, issue.path, (found) => mend(found, issue))
  return mended
}

function unwrap(value: unknown): unknown {
  if (typeof value === 'string') return decoded(value)
  if (!isObject(value)) return value
  const keys = Object.keys(value)
  const [only] = keys
  if (keys.length !== 1 || (only !== 'input' && only !== 'args')) return value
  const inner = value[only]
  return typeof inner === 'string' ? decoded(inner) : isObject(inner) ? inner : value
}

function decoded(text: string): unknown {
  const parsed = parse(text)
  return parsed.ok && typeof parsed.value === 'object' && parsed.value !== null ? parsed.value : text
}

function mend(found: unknown, issue: Issue): unknown {
  if (issue.code !== 'invalid_type') return found
  if (issue.expected === 'array' && found !== undefined) {
    const inner = typeof found === 'string' ? decoded(found) : found
    return Array.isArray(inner) ? inner : [found]
  }
  if (typeof found !== 'string') return found
  const text = found.trim()
  if ((issue.expected === 'number' || issue.expected === 'int') && text !== '' && Number.isFinite(Number(text))) return Number(text)
  if (issue.expected === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if (issue.expected === 'object') return decoded(found)
  return found
}

function replaceAt(value: unknown, path: readonly PropertyKey[], change: (found: unknown) => unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return change(value)
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? replaceAt(item, rest, change) : item))
  if (!isObject(value) || typeof key !== 'string' || !Object.hasOwn(value, key)) return value
  return { ...value, [key]: replaceAt(value[key], rest, change) }
}
