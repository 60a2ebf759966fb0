/**
 * Contexts (T9): values of the thread that a tool, or all tools of the thread, keep from call to call, typed by a
 * schema. Pure; bodies change them through workers/body/context.ts, callers when they create a thread or send to it.
 *
 * - A value that does not fit its schema is never written.
 * - Merging keeps the fields that the schema does not know: tools may know the shared context in part.
 * - Tools of one app that know the same field of the shared context know it alike.
 */
import { z } from 'zod'
import type { ToolDefinition } from '../agent/define.js'
import { canonical, isObject, toJson } from '../core/json.js'
import type { Json } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import { coreOf, parse } from '../core/schema.js'

export type Merged = { readonly value: Json } | { readonly wrong: string }

export interface Merge {
  readonly before: Json | undefined
  readonly part: object
  /** Required fields may be missing: others may set them later, and reading them is an error until then. */
  readonly incomplete?: boolean
}

/** The value before with these fields changed; a field that is undefined is removed. */
export function mergeContext(schema: Schema, { before, part, incomplete = false }: Merge): Merged {
  const whole = { ...(isObject(before) ? before : {}), ...fieldsOf(part) }
  const { success, data, error } = parse(schema, whole)
  if (success) return { value: isObject(data) ? toJson({ ...whole, ...data }) : toJson(data) }
  const issues = error.issues.filter(
    ({ path: [field] }) => !incomplete || (field !== undefined && Object.hasOwn(whole, field)),
  )
  if (issues.length === 0) return { value: toJson(whole) }
  return { wrong: issues.map(({ path, message }) => `${path.join('.') || '(context)'}: ${message}`).join('; ') }
}

function fieldsOf(part: object): { readonly [key: string]: Json | undefined } {
  return Object.fromEntries(
    Object.entries(part).map(([key, value]: [string, unknown]) => [
      key,
      value === undefined ? undefined : toJson(value),
    ]),
  )
}

type Shared = Pick<ToolDefinition, 'name' | 'sharedSchema'>

/** Fields that two tools describe differently, each difference once. */
export function sharedConflicts(tools: Iterable<Shared>): readonly string[] {
  const known = new Map<string, { readonly tool: string; readonly form: string }>()
  const conflicts: string[] = []
  for (const { name, sharedSchema } of tools) {
    for (const [field, form] of sharedSchema ? fieldsOfSchema(sharedSchema) : []) {
      const first = known.get(field)
      if (!first) known.set(field, { tool: name, form })
      else if (first.form !== form) conflicts.push(`the tools ${first.tool} and ${name} ${disagree(field)}`)
    }
  }
  return conflicts
}

function disagree(field: string): string {
  return `share the field ${JSON.stringify(field)} and say differently what it is; give both the same sharedSchema`
}

/** Each field with the form of its values as canonical JSON Schema; none if JSON Schema cannot express it. */
function fieldsOfSchema(schema: Schema): readonly (readonly [string, string])[] {
  const jsonSchema: unknown = z.toJSONSchema(coreOf(schema), { io: 'output', unrepresentable: 'any' })
  const properties = isObject(jsonSchema) && isObject(jsonSchema['properties']) ? jsonSchema['properties'] : {}
  return Object.entries(properties).map(([field, schemaOfField]) => {
    const { description: _, default: __, title: ___, ...form } = isObject(schemaOfField) ? schemaOfField : {}
    return [field, canonical(toJson(form))] as const
  })
}
