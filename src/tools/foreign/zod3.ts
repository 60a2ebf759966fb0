/**
 * JSON Schema of a zod 3 schema, for the model. The args are still checked by the schema itself.
 *
 * - What JSON Schema cannot express becomes "anything": too wide for the model, never too narrow.
 */
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'

type JsonSchema = { readonly [key: string]: Json }
type Definition = { readonly [key: string]: unknown }

export function jsonSchemaOfZod3(schema: unknown): JsonSchema {
  if (!isObject(schema) || !isObject(schema['_def'])) return {}
  const def = schema['_def']
  const { description } = def
  const jsonSchema = convert(def)
  return typeof description === 'string' ? { ...jsonSchema, description } : jsonSchema
}

function convert(def: Definition): JsonSchema {
  const convertOne = converters[String(def['typeName'])]
  return convertOne ? convertOne(def) : {}
}

const inner = ({ innerType }: Definition): JsonSchema => jsonSchemaOfZod3(innerType)
const each = (list: unknown): JsonSchema[] => (Array.isArray(list) ? list.map(jsonSchemaOfZod3) : [])

const converters: Readonly<Record<string, (def: Definition) => JsonSchema>> = {
  ZodString: (def) => ({ type: 'string', ...bounds(def, { min: 'minLength', max: 'maxLength' }) }),
  ZodNumber: (def) => ({
    type: hasCheck(def, 'int') ? 'integer' : 'number',
    ...bounds(def, { min: 'minimum', max: 'maximum' }),
  }),
  ZodBoolean: () => ({ type: 'boolean' }),
  ZodNull: () => ({ type: 'null' }),
  ZodLiteral: ({ value }) => (isPlain(value) ? { const: value } : {}),
  ZodEnum: ({ values }) => ({ enum: plainList(values) }),
  ZodNativeEnum: ({ values }) => ({ enum: plainList(namesOfEnum(values)) }),
  ZodArray: ({ type }) => ({ type: 'array', items: jsonSchemaOfZod3(type) }),
  ZodTuple: ({ items }) => ({ type: 'array', prefixItems: each(items), minItems: each(items).length }),
  ZodRecord: ({ valueType }) => ({ type: 'object', additionalProperties: jsonSchemaOfZod3(valueType) }),
  ZodUnion: ({ options }) => ({ anyOf: each(options) }),
  ZodDiscriminatedUnion: ({ options }) => ({ anyOf: each(options) }),
  ZodIntersection: ({ left, right }) => ({ allOf: each([left, right]) }),
  ZodOptional: inner,
  ZodReadonly: inner,
  ZodCatch: inner,
  ZodNullable: (def) => ({ anyOf: [inner(def), { type: 'null' }] }),
  ZodDefault: (def) => ({ ...inner(def), ...defaultOf(def) }),
  ZodBranded: ({ type }) => jsonSchemaOfZod3(type),
  ZodEffects: ({ schema }) => jsonSchemaOfZod3(schema),
  ZodPipeline: ({ in: first }) => jsonSchemaOfZod3(first),
  ZodObject: objectSchema,
}

function objectSchema({ shape, unknownKeys }: Definition): JsonSchema {
  const fields: object = typeof shape === 'function' ? shape() : {}
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, jsonSchemaOfZod3(field)]))
  const required = Object.entries(fields).flatMap(([name, field]) => (isOptional(field) ? [] : [name]))
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(unknownKeys === 'strict' && { additionalProperties: false }),
  }
}

function isOptional(field: unknown): boolean {
  return isObject(field) && typeof field['isOptional'] === 'function' && field['isOptional']() === true
}

function checksOf({ checks }: Definition): readonly unknown[] {
  return Array.isArray(checks) ? checks : []
}

function hasCheck(def: Definition, kind: string): boolean {
  return checksOf(def).some((check) => isObject(check) && check['kind'] === kind)
}

function bounds(def: Definition, names: { readonly min: string; readonly max: string }): JsonSchema {
  const found: Record<string, Json> = {}
  for (const check of checksOf(def)) {
    if (!isObject(check) || typeof check['value'] !== 'number' || check['inclusive'] === false) continue
    if (check['kind'] === 'min') found[names.min] = check['value']
    if (check['kind'] === 'max') found[names.max] = check['value']
  }
  return found
}

function defaultOf({ defaultValue }: Definition): JsonSchema {
  const value: unknown = typeof defaultValue === 'function' ? defaultValue() : undefined
  return isPlain(value) ? { default: value } : {}
}

function isPlain(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function plainList(values: unknown): Json[] {
  return Array.isArray(values) ? values.filter(isPlain) : []
}

/** An enum with numbers also maps each number back to its name. */
function namesOfEnum(values: unknown): unknown[] {
  if (!isObject(values)) return []
  return Object.entries(values).flatMap(([name, value]) =>
    typeof values[String(value)] === 'number' && String(Number(name)) === name ? [] : [value],
  )
}
