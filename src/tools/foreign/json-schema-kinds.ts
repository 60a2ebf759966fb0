/** The keywords of JSON Schema for texts, numbers, lists and objects (json-schema.ts). */
import { isObject } from '../../core/json.js'
import type { Check, Issue, JsonSchema } from './json-schema.js'

type Counters = (check: Check, schema: JsonSchema, value: unknown) => readonly Issue[]

export function countersOf(value: unknown): Counters | undefined {
  if (typeof value === 'string') return ofText
  if (typeof value === 'number') return ofNumber
  if (Array.isArray(value)) return ofList
  return isObject(value) ? ofObject : undefined
}

function issue(message: string): Issue {
  return { path: [], message }
}

/** Too few or too many of something. */
function counted(
  count: number,
  { least, most }: { readonly least: unknown; readonly most: unknown },
  what: string,
): readonly Issue[] {
  if (typeof least === 'number' && count < least) return [issue(`Too small: expected at least ${least} ${what}`)]
  if (typeof most === 'number' && count > most) return [issue(`Too big: expected at most ${most} ${what}`)]
  return []
}

function ofText(check: Check, { minLength, maxLength, pattern }: JsonSchema, value: unknown): readonly Issue[] {
  const text = String(value)
  const found: Issue[] = []
  if (minLength !== undefined || maxLength !== undefined) {
    check.stepChars(text)
    found.push(...counted(charsOf(text), { least: minLength, most: maxLength }, 'characters'))
  }
  if (typeof pattern === 'string' && !check.matches(pattern, text))
    found.push(issue(`Invalid string: must match pattern ${pattern.slice(0, 200)}`))
  return found
}

/** Characters as JSON Schema counts them: a surrogate pair is one. */
function charsOf(text: string): number {
  let chars = text.length
  for (let at = 0; at < text.length - 1; at++) if ((text.codePointAt(at) ?? 0) > 0xffff) chars--
  return chars
}

function ofNumber(
  _check: Check,
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonSchema,
  value: unknown,
): readonly Issue[] {
  const number = Number(value)
  if (typeof minimum === 'number' && number < minimum) return [issue(`Too small: expected number to be >=${minimum}`)]
  if (typeof exclusiveMinimum === 'number' && number <= exclusiveMinimum)
    return [issue(`Too small: expected number to be >${exclusiveMinimum}`)]
  if (typeof maximum === 'number' && number > maximum) return [issue(`Too big: expected number to be <=${maximum}`)]
  if (typeof exclusiveMaximum === 'number' && number >= exclusiveMaximum)
    return [issue(`Too big: expected number to be <${exclusiveMaximum}`)]
  if (typeof multipleOf === 'number' && multipleOf > 0 && !isMultiple(number, multipleOf))
    return [issue(`Invalid number: must be a multiple of ${multipleOf}`)]
  return []
}

/** 0.3 is a multiple of 0.1. */
function isMultiple(number: number, of: number): boolean {
  const times = number / of
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}

function ofList(
  check: Check,
  { items, prefixItems, additionalItems, minItems, maxItems, uniqueItems }: JsonSchema,
  value: unknown,
): readonly Issue[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  const first: readonly unknown[] = [prefixItems, items].find((schemas) => Array.isArray(schemas)) ?? []
  const rest = Array.isArray(items) ? additionalItems : items
  const found = [...counted(list.length, { least: minItems, most: maxItems }, 'items')]
  const checked = rest === undefined ? Math.min(first.length, list.length) : list.length
  for (let index = 0; index < checked; index++)
    for (const each of check.inside(index < first.length ? first[index] : rest, list[index], index)) found.push(each)
  if (uniqueItems === true && hasTwice(check, list)) found.push(issue('Invalid input: an item is there twice'))
  return found
}

function hasTwice(check: Check, list: readonly unknown[]): boolean {
  check.step(list.length)
  return new Set(list.map((item) => check.keyOf(item))).size < list.length
}

function ofObject(check: Check, schema: JsonSchema, value: unknown): readonly Issue[] {
  const fields = isObject(value) ? value : {}
  const { properties, required, minProperties, maxProperties, propertyNames } = schema
  const known = isObject(properties) ? properties : {}
  const keys = Object.keys(fields).filter((key) => fields[key] !== undefined)
  check.step(keys.length)
  const found = [...counted(keys.length, { least: minProperties, most: maxProperties }, 'fields')]
  for (const key of Array.isArray(required) ? required : []) {
    check.step()
    if (typeof key !== 'string' || (Object.hasOwn(fields, key) && fields[key] !== undefined)) continue
    found.push(...missingIssues(key, Object.hasOwn(known, key) ? known[key] : undefined))
  }
  for (const key of keys) {
    for (const each of fieldIssues(check, schema, { key, known, value: fields[key] })) found.push(each)
    if (propertyNames !== undefined && !check.fits(propertyNames, key))
      found.push({ path: [key], message: 'Invalid key' })
  }
  return found
}

/** A field with a default may be missing. */
function missingIssues(key: string, schema: unknown): readonly Issue[] {
  if (isObject(schema) && 'default' in schema) return []
  const expected = isObject(schema) && typeof schema['type'] === 'string' ? schema['type'] : 'a value'
  return [{ path: [key], message: `Invalid input: expected ${expected}, received undefined` }]
}

interface Field {
  readonly key: string
  readonly known: JsonSchema
  readonly value: unknown
}

function fieldIssues(
  check: Check,
  { patternProperties, additionalProperties }: JsonSchema,
  { key, known, value }: Field,
): readonly Issue[] {
  const schemas: unknown[] = Object.hasOwn(known, key) ? [known[key]] : []
  if (isObject(patternProperties))
    for (const [pattern, schema] of Object.entries(patternProperties))
      if (check.matches(pattern, key)) schemas.push(schema)
  if (schemas.length > 0) return schemas.flatMap((schema) => check.inside(schema, value, key))
  if (additionalProperties === false) return [issue(`Unrecognized key: ${JSON.stringify(key.slice(0, 100))}`)]
  return additionalProperties === undefined ? [] : check.inside(additionalProperties, value, key)
}
