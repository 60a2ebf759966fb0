/**
 * Contexts (T9): values of the thread that a tool, or all tools of the thread, keep from call to call, typed by a
 * schema. Pure; bodies change them through workers/body/context.ts, callers when they create a thread or send to it.
 *
 * - A value that does not fit its schema is never written. One that was written under another schema is read as it
 *   is. Reading a required field that nobody has set throws instead of giving `undefined`.
 * - Merging keeps the fields that the schema does not know: tools may know the shared context in part.
 * - Tools of one app that know the same field of the shared context know it alike.
 */
import { z } from 'zod'
import type { ToolDefinition } from '../agent/define.js'
import { SkeinError } from '../core/failure.js'
import { canonical, isObject, toJson } from '../core/json.js'
import type { Json } from '../core/json.js'
import { sharedName } from '../core/records/change.js'
import type { Schema } from '../core/schema.js'
import { coreOf, parse } from '../core/schema.js'

/** A context of a tool: where its value is, and what it must be. */
export interface Context {
  readonly tool: string
  readonly key: string
  readonly field: 'contextSchema' | 'sharedSchema'
  readonly schema: Schema | undefined
}

/**
 * The context as `state.local` or `state.shared` shows it; if there is none, what the schema makes of an empty object.
 * `read` gives a copy of its value.
 */
export function contextView(context: Context, read: (key: string) => Json | undefined): unknown {
  const { schema } = context
  if (!schema) return undefined
  const value = read(context.key) ?? {}
  const { success, data, error } = parse(schema, value)
  if (success) return data
  for (const { path } of error.issues) throwWhenRead(value, path, context)
  return value
}

/** Only for missing fields: a wrong one was reported when it was written. */
function throwWhenRead(value: unknown, path: readonly PropertyKey[], { tool, field }: Context): void {
  const last = path.at(-1)
  let holder = value
  for (const key of path.slice(0, -1)) holder = isObject(holder) ? holder[String(key)] : undefined
  if (last === undefined || !isObject(holder) || Object.hasOwn(holder, last)) return
  const [member, name] = field === 'contextSchema' ? ['local', tool] : ['shared', sharedName]
  Object.defineProperty(holder, last, {
    configurable: true,
    get() {
      const needed = ['state', member, ...path].join('.')
      const what = `${tool} needs ${needed}, which its ${field} requires and nobody has set`
      const advice =
        `give it with threads.create({ context: { ${name}: { … } } }) or send(text, { context }), or ` +
        `give the field a default`
      throw new SkeinError('CONTEXT_MISSING', `${what}; ${advice}`, { data: { tool, field: path.join('.') } })
    },
  })
}

type Contexts = Pick<ToolDefinition, 'name' | 'contextSchema' | 'sharedSchema'>

/** The context of the tool alone. */
export const localContext = ({ name, contextSchema }: Contexts): Context => ({
  tool: name,
  field: 'contextSchema',
  key: `context/${name}`,
  schema: contextSchema,
})

/** The context of all tools of the thread, as this one knows it. */
export const sharedContext = ({ name, sharedSchema }: Contexts): Context => ({
  tool: name,
  field: 'sharedSchema',
  key: 'shared',
  schema: sharedSchema,
})

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
