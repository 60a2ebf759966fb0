/**
 * Schemas as definitions hold them: zod 4's, of whichever copy of zod the app has.
 *
 * - A schema is known by what its type is and gives (`_zod`), never by the class of one copy: copies differ in
 *   hundreds of members that nobody here needs, and the compiler compares them all, without end, where a type names
 *   one.
 * - It is parsed and told by zod's core, which works on schemas of every copy; a description that its own copy
 *   keeps is told too.
 */
import { z } from 'zod'
import type { Json } from './json.js'
import { isObject } from './json.js'

/** A zod 4 schema, of any copy of zod. */
export interface Schema<Output = unknown, Input = unknown> {
  readonly _zod: { readonly output: Output; readonly input: Input }
}

/** Where no schema is given. */
export type NoSchema = Schema<never, never>

/** What parsing gives. */
export type OutputOf<Given extends Schema> = Given['_zod']['output']

/** What parsing is given. */
export type InputOf<Given extends Schema> = Given['_zod']['input']

/**
 * The same without what its copy of zod adds: definitions are compared with one another, and schemas of two copies
 * cannot be.
 */
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

/** The same schema, as zod's core takes it. */
export function coreOf<Output, Input>(schema: Schema<Output, Input>): z.core.$ZodType<Output, Input> {
  if (isZod<Output, Input>(schema)) return schema
  throw new TypeError('this is not a zod 4 schema')
}

export function parse<Output>(schema: Schema<Output>, value: unknown): Parsed<Output> {
  return z.core.safeParse(coreOf(schema), value)
}

/** The value, where it fits; throws where it does not. */
export function parseOrThrow<Output>(schema: Schema<Output>, value: unknown): Output {
  return z.core.parse(coreOf(schema), value)
}

/** The fields of an object; undefined where it is a schema of something else. */
export function fieldsOf(schema: Schema): readonly string[] | undefined {
  const core = coreOf(schema)
  return core instanceof z.core.$ZodObject ? Object.keys(core['_zod'].def.shape) : undefined
}

/** The fields of an object that must be given. */
export function requiredFieldsOf(schema: Schema): readonly string[] {
  const core = coreOf(schema)
  if (!(core instanceof z.core.$ZodObject)) return []
  return Object.entries(core['_zod'].def.shape).flatMap(([name, field]) =>
    parse(field, undefined).success ? [] : [name],
  )
}

/** What a model is told of it: JSON Schema of what it takes. Throws where that cannot be said. */
export function jsonSchemaOf(schema: Schema): { readonly [key: string]: Json } {
  const { $schema: _, ...told } = z.toJSONSchema(coreOf(schema), { io: 'input', metadata: described }) as {
    [key: string]: Json
  }
  return told
}

/** Older copies of zod keep what `describe` and `meta` said to themselves; their schemas can be asked for it. */
class Described extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get<Given extends z.core.$ZodType>(schema: Given) {
    return z.globalRegistry.get(schema) ?? ownMeta(schema)
  }
}

const described = new Described()

function ownMeta(schema: object): { readonly [key: string]: unknown } | undefined {
  const said: unknown = 'meta' in schema && typeof schema.meta === 'function' ? schema.meta() : undefined
  return isObject(said) ? said : undefined
}
