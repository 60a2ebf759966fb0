/**
 * Turns what a model sent into args that a body can trust (T1): parse, validate, repair once, validate.
 *
 * - A repair changes the form of a value and never invents one: a missing field stays missing.
 * - Repairs are tried only where validation failed, so that valid values are never touched.
 * - The work is linear in the input, whose text, depth and number of values are checked first. The list of mistakes is
 *   bounded, too.
 */
import { failure, toFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { isObject, toJson } from '../core/json.js'
import type { Json } from '../core/json.js'
import type { Schema, SchemaIssue } from '../core/schema.js'
import { parse as validate } from '../core/schema.js'
import { openEnvelope } from './envelope.js'

export type CheckedArgs =
  | { readonly ok: true; readonly args: Json }
  | { readonly ok: false; readonly failure: Failure; readonly sent: Json }

/** The length of args as JSON text. A content to write may have 200,000 bytes, each up to six characters. */
const mostChars = 2_000_000
/** The number of values in args, nested ones included. */
const mostValues = 50_000
const deepest = 200
/** The length of the message to the model. */
const mostFields = 20
const longestWords = 300

export function checkArgs(tool: string, schema: Schema, sent: unknown): CheckedArgs {
  if (typeof sent === 'string' && sent.length > mostChars)
    return tooLarge(tool, `they have ${sent.length} characters, and ${mostChars} are the most`, sent)
  const parsed = parse(sent)
  if (!parsed.ok) {
    return {
      ok: false,
      sent: toJson(sent),
      failure: failure(
        'TOOL_INPUT_INVALID',
        `the args of ${tool} are not JSON: ${cut(parsed.why)}. Send one JSON object.`,
      ),
    }
  }
  const excess = excessOf(parsed.value)
  if (excess !== undefined) return tooLarge(tool, excess, sent)
  const inside = openEnvelope(schema, parsed.value)
  if (inside) {
    const checked = checkArgs(tool, schema, inside.inside)
    // The schema may have a field of that name itself.
    return checked.ok || issuesOf(schema, parsed.value).length > 0 ? checked : { ok: true, args: toJson(parsed.value) }
  }
  const issues = issuesOf(schema, parsed.value)
  if (issues.length === 0) return { ok: true, args: toJson(parsed.value) }
  const mended = repair(schema, parsed.value)
  if ('excess' in mended) return tooLarge(tool, mended.excess, sent)
  if (issuesOf(schema, mended.value).length === 0) return { ok: true, args: toJson(mended.value) }
  return { ok: false, sent: toJson(parsed.value), failure: invalid(tool, issues) }
}

function invalid(tool: string, issues: readonly Issue[]): Failure {
  const fields = issues
    .slice(0, mostFields)
    .map(({ path, message }) => ({ path: cut(path.join('.')) || '(args)', message: cut(message) }))
  const more = issues.length - fields.length
  const text = [
    ...fields.map(({ path, message }) => `${path}: ${message}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('; ')
  return failure('TOOL_INPUT_INVALID', `the args of ${tool} are invalid: ${text}. Send them again, corrected.`, {
    data: { fields, ...(more > 0 && { more }) },
  })
}

/** Args that are too large are recorded by their beginning. */
function tooLarge(tool: string, why: string, sent: unknown): CheckedArgs {
  const began = typeof sent === 'string' ? cut(sent) : `[args that are too large: ${why}]`
  return {
    ok: false,
    sent: began,
    failure: failure(
      'TOOL_INPUT_TOO_LARGE',
      `the args of ${tool} are too large: ${why}. Send less in one call, or write it to a file and send its path.`,
    ),
  }
}

function cut(words: string): string {
  return words.length > longestWords ? `${words.slice(0, longestWords)}… [${words.length} characters]` : words
}

const smallFields = 32
const smallText = 1_024

/** Most args are a few short fields: nothing is kept to look through them. */
function isSmall(value: unknown): boolean {
  if (!isObject(value)) return false
  let fields = 0
  for (const key in value) {
    const field = value[key]
    if (++fields > smallFields || typeof field === 'object' || key.length > smallText) return false
    if (typeof field === 'string' && field.length > smallText) return false
  }
  return true
}

/** Which limit a value exceeds; stops at the first, and does not recurse. */
function excessOf(value: unknown): string | undefined {
  if (isSmall(value)) return undefined
  let level: readonly unknown[] = [value]
  // Unlike JSON, args from a body may contain the same object several times, or cycles.
  const seen = new Set<unknown>()
  let values = 0
  let chars = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return `they are nested deeper than ${deepest} levels`
    const below: unknown[] = []
    for (const item of level) {
      if (++values > mostValues) return `they hold more than ${mostValues} values`
      if (typeof item === 'string') chars += item.length
      else if (seen.has(item)) continue
      else if (Array.isArray(item)) for (const inner of item) below.push(inner)
      else if (isObject(item))
        for (const [key, inner] of Object.entries(item)) below.push(((chars += key.length), inner))
      if (typeof item === 'object') seen.add(item)
      if (chars > mostChars) return `they hold more than ${mostChars} characters`
      if (below.length > mostValues) return `they hold more than ${mostValues} values`
    }
    level = below
  }
  return undefined
}

/** The args for the transcript: JSON that came as text is parsed. */
export function sentArgs(sent: unknown): Json {
  const parsed = parse(sent)
  return toJson(parsed.ok ? parsed.value : sent)
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

type Issue = SchemaIssue

/** The issues of a value. If a check of the app throws, that is the issue. */
function issuesOf(schema: Schema, value: unknown): readonly Issue[] {
  try {
    return validate(schema, value).error?.issues ?? []
  } catch (thrown) {
    return [
      {
        code: 'custom',
        path: [],
        input: value,
        message: `they could not be checked: ${toFailure(thrown, 'TOOL_INPUT_INVALID').message}`,
      },
    ]
  }
}

/** One pass over the issues; an envelope, or args as one text, are opened first. */
function repair(schema: Schema, value: unknown): { readonly value: unknown } | { readonly excess: string } {
  const whole = unwrap(value)
  // The limits hold for the content of a text, too.
  const inside = whole === value ? undefined : excessOf(whole)
  if (inside !== undefined) return { excess: inside }
  const mended = replace(whole, complaintsOf(issuesOf(schema, whole)))
  const excess = mended === whole ? undefined : excessOf(mended)
  return excess === undefined ? { value: mended } : { excess }
}

function unwrap(value: unknown): unknown {
  if (typeof value === 'string') return decoded(value)
  if (!isObject(value)) return value
  const keys = Object.keys(value)
  const [only] = keys
  if (keys.length !== 1 || (only !== 'input' && only !== 'args')) return value
  const inner = value[only]
  if (typeof inner === 'string') return decoded(inner)
  return isObject(inner) ? inner : value
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
  if ((issue.expected === 'number' || issue.expected === 'int') && text !== '' && Number.isFinite(Number(text)))
    return Number(text)
  if (issue.expected === 'boolean' && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if (issue.expected === 'object') return decoded(found)
  return found
}

/** The issues of a value and of what is inside it. */
interface Complaints {
  readonly own: Issue[]
  readonly below: Map<PropertyKey, Complaints>
}

function complaintsOf(issues: readonly Issue[]): Complaints {
  const whole: Complaints = { own: [], below: new Map() }
  for (const issue of issues) {
    let at = whole
    for (const key of issue.path) {
      const next = at.below.get(key) ?? { own: [], below: new Map() }
      at.below.set(key, next)
      at = next
    }
    at.own.push(issue)
  }
  return whole
}

/** Copies each changed list and object once, however many issues it has. */
function replace(value: unknown, { own, below }: Complaints): unknown {
  const mended = own.reduce(mend, value)
  if (below.size === 0) return mended
  if (Array.isArray(mended)) return mended.map((item: unknown, index) => replaceField(item, below.get(index)))
  return isObject(mended)
    ? Object.fromEntries(Object.entries(mended).map(([key, item]) => [key, replaceField(item, below.get(key))]))
    : mended
}

function replaceField(item: unknown, complaints: Complaints | undefined): unknown {
  return complaints ? replace(item, complaints) : item
}
