/**
 * Schemas of definitions: those of zod 4, of whichever copy of zod the app has.
 *
 * - A schema is recognised by `_zod`, never by the class of one copy: copies differ in hundreds of members that are not
 *   needed here, and where a type names the class the compiler compares all of them.
 * - Parsing and JSON Schema go through zod's core, which works on schemas of every copy; a description that only its
 *   own copy has is found, too.
 * - What is wrong is told in a whole sentence by every copy. zod takes its sentences from settings of the process that
 *   newer copies share, older ones have each for itself, and zod/mini leaves empty; a newer copy fills them when its
 *   first schema is made. So each parse brings a language for the case that there is none.
 */
import { z } from 'zod'
import type { Json } from './json.js'
import { isObject } from './json.js'

/** A zod 4 schema, of any copy of zod. */
export interface Schema<Output = unknown, Input = unknown> {
  readonly _zod: { readonly output: Output; readonly input: Input }
}

/** The type parameter of a missing schema. */
export type NoSchema = Schema<never, never>

/** The output of parsing. */
export type OutputOf<Given extends Schema> = Given['_zod']['output']

/** The input of parsing. */
export type InputOf<Given extends Schema> = Given['_zod']['input']

/** The schema without the members of its copy of zod: definitions with schemas of two copies must be comparable. */
export type Plain<Given extends Schema> = Schema<OutputOf<Given>, InputOf<Given>>

export type SchemaIssue = z.core.$ZodIssue

export type Parsed<Output> =
  | { readonly success: true; readonly data: Output; readonly error?: undefined }
  | {
      readonly success: false
      readonly data?: undefined
      readonly error: { readonly message: string; readonly issues: readonly SchemaIssue[] }
    }

export function isSchema(value: unknown): value is Schema {
  return isZod(value)
}

function isZod<Output, Input>(value: unknown): value is z.core.$ZodType<Output, Input> {
  return isObject(value) && isObject(value['_zod']) && typeof value['_zod']['run'] === 'function'
}

/** The same schema, typed for zod's core. */
export function coreOf<Output, Input>(schema: Schema<Output, Input>): z.core.$ZodType<Output, Input> {
  if (isZod<Output, Input>(schema)) return schema
  throw new TypeError('this is not a zod 4 schema')
}

const english = z.locales.en().localeError

/** In the language that the app has set for its process, if any. What a schema says itself comes first. */
const explain: z.core.$ZodErrorMap = (issue) => {
  const { customError, localeError } = z.config()
  return customError?.(issue) ?? localeError?.(issue) ?? english(issue)
}
const explained = { error: explain }

export function parse<Output>(schema: Schema<Output>, value: unknown): Parsed<Output> {
  const core = coreOf(schema)
  // Args of every call come this way, and most match: `safeParse` copies its options each time, which costs more than
  // the check. What does not match is parsed again, to be told why.
  const run = core['_zod'].run({ value, issues: [] }, { async: false, error: explain })
  if (!(run instanceof Promise) && run.issues.length === 0) return { success: true, data: run.value as Output }
  return z.core.safeParse(core, value, explained)
}

/** The parsed value; throws if it does not match. */
export function parseOrThrow<Output>(schema: Schema<Output>, value: unknown): Output {
  return z.core.parse(coreOf(schema), value, explained)
}

/** The fields of an object schema; undefined for any other schema. */
export function fieldsOf(schema: Schema): readonly string[] | undefined {
  const core = coreOf(schema)
  return core instanceof z.core.$ZodObject ? Object.keys(core['_zod'].def.shape) : undefined
}

/** The required fields of an object schema. */
export function requiredFieldsOf(schema: Schema): readonly string[] {
  const core = coreOf(schema)
  if (!(core instanceof z.core.$ZodObject)) return []
  return Object.entries(core['_zod'].def.shape).flatMap(([name, field]) =>
    parse(field, undefined).success ? [] : [name],
  )
}

/** JSON Schema of its input, for models. Throws if the schema cannot be expressed in JSON Schema. */
export function jsonSchemaOf(schema: Schema): { readonly [key: string]: Json } {
  const { $schema: _, ...rest } = z.toJSONSchema(coreOf(schema), { io: 'input', metadata: described }) as {
    [key: string]: Json
  }
  return rest
}

/** Older copies of zod have a registry of their own for `describe` and `meta`; their schemas give access to it. */
class Described extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get<Given extends z.core.$ZodType>(schema: Given) {
    return z.globalRegistry.get(schema) ?? ownMeta(schema)
  }
}

const described = new Described()

function ownMeta(schema: object): { readonly [key: string]: unknown } | undefined {
  const meta: unknown = 'meta' in schema && typeof schema.meta === 'function' ? schema.meta() : undefined
  return isObject(meta) ? meta : undefined
}

/**
 * A schema that is made when it is first asked for, where most processes never do: making all that modules could make
 * at once takes a process longer than a turn.
 */
export function lazy<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined
  return () => (made ??= { value: make() }).value
}
