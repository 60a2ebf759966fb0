/**
 * Schemas of foreign tools (zod 4, zod 3, JSON Schema, the AI SDK's wrapper, Standard Schema): as JSON Schema for the
 * model, and as the zod schema that a definition needs.
 *
 * - The model reads the original JSON Schema of the tool, without a detour through zod.
 * - The args schema only checks: the body gets what the model sent, and the tool's own schema parses it once.
 * - What cannot be checked synchronously (an async rule, an unknown keyword, a check that would take long) is left to
 *   the tool.
 */
import { z } from 'zod'
import { isObject, toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { createChecker, excessOfSchema } from './json-schema.js'
import type { Issue } from './json-schema.js'
import { jsonSchemaOf } from '../../core/schema.js'
import { jsonSchemaOfZod3 } from './zod3.js'

type JsonSchema = { readonly [key: string]: Json }

export type ForeignParsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] }

export interface ForeignSchema {
  readonly parameters: JsonSchema
  check(value: unknown): readonly Issue[]
  /** The parsed value. */
  parse(value: unknown): Promise<ForeignParsed>
}

/** Undefined if it is not a schema. Throws if it cannot be expressed for a model. */
export function readSchema(found: unknown): ForeignSchema | undefined {
  if (found === undefined || found === null) return fromJsonSchema({ type: 'object', properties: {} })
  if (isZod4(found)) return fromZod(found, jsonSchemaOf(found))
  if (isZod3(found)) return fromZod(found, jsonSchemaOfZod3(found))
  if (isWrapped(found)) return fromWrapped(found)
  if (isStandard(found)) return fromStandard(found)
  if (typeof found === 'function') return readSchema(found())
  return isJsonSchema(found) ? fromJsonSchema(found) : undefined
}

/** An args or output schema that checks and changes nothing. */
export function checkOnly({ check }: ForeignSchema): z.ZodType {
  return z.unknown().check((context) => {
    for (const issue of check(context.value)) context.issues.push({ ...problemOf(issue), input: context.value })
  })
}

/** Those that a repair of args understands (src/tools/args.ts). */
const mendable = ['array', 'number', 'int', 'boolean', 'object'] as const

function problemOf({ path, message, expected }: Issue) {
  const type = mendable.find((name) => name === expected)
  return type === undefined
    ? { code: 'custom' as const, path: [...path], message }
    : { code: 'invalid_type' as const, expected: type, path: [...path], message }
}

// ── zod ──

interface ZodLike {
  safeParse(value: unknown): unknown
  safeParseAsync(value: unknown): Promise<unknown>
}

function isZod4(value: unknown): value is z.ZodType {
  return isObject(value) && '_zod' in value && typeof value['safeParse'] === 'function'
}

function isZod3(value: unknown): value is ZodLike {
  return (
    isObject(value) &&
    '_def' in value &&
    typeof value['safeParse'] === 'function' &&
    typeof value['safeParseAsync'] === 'function'
  )
}

function fromZod(schema: ZodLike, parameters: object): ForeignSchema {
  return {
    parameters: asJsonSchema(parameters),
    check(value) {
      try {
        const parsed = parsedOf(schema.safeParse(value))
        return parsed.ok ? [] : parsed.issues
      } catch {
        return [] // Zod throws where a rule is asynchronous; `parse` asks it.
      }
    },
    parse: async (value) => parsedOf(await schema.safeParseAsync(value)),
  }
}

function parsedOf(result: unknown): ForeignParsed {
  if (!isObject(result)) return { ok: false, issues: [{ path: [], message: 'the schema gave no answer' }] }
  if (result['success'] === true) return { ok: true, value: 'data' in result ? result['data'] : result['value'] }
  return { ok: false, issues: issuesOf(result['error']) }
}

function issuesOf(error: unknown): readonly Issue[] {
  const listed = isObject(error) ? error['issues'] : undefined
  if (Array.isArray(listed) && listed.length > 0) return listed.map(issueOf)
  return [{ path: [], message: error instanceof Error ? error.message : 'the args do not fit the schema' }]
}

function issueOf(issue: unknown): Issue {
  if (!isObject(issue)) return { path: [], message: String(issue) }
  const { path, message, code, expected } = issue
  return {
    path: Array.isArray(path) ? path.map(stepOf) : [],
    message: typeof message === 'string' ? message : 'invalid',
    ...(code === 'invalid_type' && typeof expected === 'string' && { expected }),
  }
}

/** Standard Schema may wrap the steps of a path. */
function stepOf(step: unknown): PropertyKey {
  const key = isObject(step) ? step['key'] : step
  return typeof key === 'number' || typeof key === 'symbol' ? key : String(key)
}

// ── the AI SDK's wrapper, Standard Schema ──

const wrapped = Symbol.for('vercel.ai.schema')

interface Wrapped {
  readonly jsonSchema: unknown
  readonly validate?: (value: unknown) => unknown
}

function isWrapped(value: unknown): value is Wrapped {
  return isObject(value) && wrapped in value
}

function fromWrapped(schema: Wrapped): ForeignSchema {
  const { jsonSchema } = schema
  if (!isJsonSchema(jsonSchema))
    throw new TypeError('its schema is not at hand (it is a promise, or not an object); give a schema that is')
  const plain = fromJsonSchema(jsonSchema)
  return {
    ...plain,
    parse: async (value) => (schema.validate ? parsedOf(await schema.validate(value)) : plain.parse(value)),
  }
}

interface Standard {
  readonly '~standard': {
    readonly validate: (value: unknown) => unknown
    readonly jsonSchema?: { input(options: { readonly target: string }): object }
  }
}

function isStandard(value: unknown): value is Standard {
  const at = isObject(value) || typeof value === 'function' ? Reflect.get(value, '~standard') : undefined
  return isObject(at) && typeof at['validate'] === 'function'
}

function fromStandard(schema: Standard): ForeignSchema {
  const { jsonSchema, validate } = schema['~standard']
  if (!jsonSchema)
    throw new TypeError('its schema cannot be told as JSON Schema; wrap it so that it can, or write the args as zod')
  const parsed = (result: unknown): ForeignParsed =>
    isObject(result) && result['issues'] === undefined
      ? { ok: true, value: result['value'] }
      : { ok: false, issues: issuesOf(result) }
  return {
    parameters: asJsonSchema(jsonSchema.input({ target: 'draft-2020-12' })),
    check(value) {
      const result = validate(value)
      if (result instanceof Promise) return []
      const known = parsed(result)
      return known.ok ? [] : known.issues
    },
    parse: async (value) => parsed(await validate(value)),
  }
}

// ── JSON Schema ──

const keywords = [
  'type',
  'properties',
  '$schema',
  '$ref',
  'anyOf',
  'oneOf',
  'allOf',
  'additionalProperties',
  'required',
]

function isJsonSchema(value: unknown): value is { readonly [key: string]: unknown } {
  return (
    isObject(value) &&
    !('then' in value && typeof value['then'] === 'function') &&
    (Object.keys(value).length === 0 || keywords.some((keyword) => keyword in value))
  )
}

function asJsonSchema(value: object): JsonSchema {
  const plain = toJson(value)
  if (!isObject(plain)) return {}
  const { $schema: _, ...schema } = plain
  return schema
}

export function fromJsonSchema(found: object): ForeignSchema {
  const excess = excessOfSchema(found)
  if (excess !== undefined) throw new TypeError(excess)
  const parameters = asJsonSchema(found)
  // JSON Schema describes; it changes nothing.
  return { parameters, check: createChecker(parameters), parse: async (value) => ({ ok: true, value }) }
}
