/**
 * An envelope for args that are not a plain object at the top, such as a union: providers accept only `type: object`
 * there, and refuse the whole request otherwise. Models are offered `{ input: … }`, and the tool gets what is inside.
 *
 * - Args without the envelope are accepted, too.
 */
import { isObject } from '../core/json.js'
import type { Json } from '../core/json.js'
import type { Schema } from '../core/schema.js'

type JsonSchema = { readonly [key: string]: Json }

const key = 'input'
const enveloped = new WeakSet<Schema>()

/** Whether a provider would refuse the schema. */
export function needsEnvelope(schema: JsonSchema): boolean {
  const { type = 'object' } = schema
  return type === 'object' && ['anyOf', 'oneOf', 'allOf', 'not', '$ref'].some((keyword) => keyword in schema)
}

/** The schema that a model is offered. */
export function envelopeOf(args: Schema, { $defs, ...schema }: JsonSchema): JsonSchema {
  enveloped.add(args)
  return {
    type: 'object',
    properties: { [key]: moved(schema) },
    required: [key],
    additionalProperties: false,
    ...($defs !== undefined && { $defs: moved($defs) }),
  }
}

/** The content of an envelope; undefined if the args are none. */
export function openEnvelope(args: Schema, sent: unknown): { readonly inside: unknown } | undefined {
  if (!enveloped.has(args) || !isObject(sent)) return undefined
  const keys = Object.keys(sent)
  return keys.length === 1 && keys[0] === key ? { inside: sent[key] } : undefined
}

/** The schema with references to its top adjusted: that is one level further down now. */
function moved(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(moved)
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema as JsonSchema).map(([name, value]) => [
      name,
      name === '$ref' && value === '#' ? `#/properties/${key}` : moved(value),
    ]),
  )
}
