/**
 * Args that are one of several (a union), or of a form that has no plain object at its top: providers take only
 * `type: object` there and refuse the whole request else. Models are told `{ input: … }`, and what is inside of it is
 * what the tool gets.
 *
 * - Whoever sends the args without the envelope is understood, too.
 */
import { isObject } from '../core/json.js'
import type { Json } from '../core/json.js'
import type { Schema } from '../core/schema.js'

type JsonSchema = { readonly [key: string]: Json }

const key = 'input'
const enveloped = new WeakSet<Schema>()

/** Whether a provider would refuse it. */
export function needsEnvelope(schema: JsonSchema): boolean {
  const { type = 'object' } = schema
  return type === 'object' && ['anyOf', 'oneOf', 'allOf', 'not', '$ref'].some((keyword) => keyword in schema)
}

/** What a model is told of it. */
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

/** What is inside, where it is one. */
export function openEnvelope(args: Schema, sent: unknown): { readonly inside: unknown } | undefined {
  if (!enveloped.has(args) || !isObject(sent)) return undefined
  const keys = Object.keys(sent)
  return keys.length === 1 && keys[0] === key ? { inside: sent[key] } : undefined
}

/** The top is one level further down. */
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
