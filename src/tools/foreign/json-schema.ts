/**
 * Checks values against JSON Schemas of others, which may be malicious: a check must not block the event loop.
 *
 * JS1 A schema is bounded before it is used: the number of its values, their depth and the length of its texts.
 * JS2 A check is bounded: each part of the schema checks a value once, circular references end, patterns are of RE2
 *     (linear), and all work is counted: about 10 ms of it are allowed. A longer check is left to the tool.
 * - What is not supported (formats, remote references, patterns that RE2 lacks) is left to the tool as well.
 */
import type { RE2JS } from 're2js'
import { canonical, isObject, toJson } from '../../core/json.js'
import { countersOf } from './json-schema-kinds.js'
import { compilePattern, loadPatterns } from './linear-patterns.js'

export interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The type that was expected, where that is what is wrong. */
  readonly expected?: string
}

export type JsonSchema = { readonly [key: string]: unknown }

const mostSchemaValues = 20_000
const mostSchemaChars = 500_000
const deepestSchema = 100

/** JS1: which bound the schema exceeds, or undefined. */
export function excessOfSchema(schema: object): string | undefined {
  let level: readonly unknown[] = [schema]
  let values = 0
  let chars = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestSchema) return `its schema is nested deeper than ${deepestSchema} levels`
    const below: unknown[] = []
    for (const item of level) {
      if (typeof item === 'string') chars += item.length
      else if (Array.isArray(item)) for (const inner of item) below.push(inner)
      else if (isObject(item))
        for (const [key, inner] of Object.entries(item)) below.push(((chars += key.length), inner))
      values++
      if (values + below.length > mostSchemaValues) return `its schema has more than ${mostSchemaValues} values`
      if (chars > mostSchemaChars) return `its schema has more than ${mostSchemaChars} characters`
    }
    level = below
  }
  return undefined
}

/** JS2: what a check may cost. A step is one value that one part of the schema looks at, or as much work. */
const mostSteps = 20_000
const charsPerStep = 256
const patternStepsPerStep = 16
const deepest = 400
const mostIssues = 1_000

/** Thrown inside only: the check would take too long. */
const tooLong = Symbol('left to the tool')

export function createChecker(root: JsonSchema): (value: unknown) => readonly Issue[] {
  if (hasPattern(root)) void loadPatterns()
  const patterns = new Map<string, RE2JS | undefined>()
  const choices = new Map<unknown, ReadonlySet<unknown>>()
  const targets = new Map<string, unknown>()
  return (value) => {
    try {
      return new Check({ root, patterns, choices, targets }).look(root, value)
    } catch (thrown) {
      if (thrown === tooLong) return []
      throw thrown
    }
  }
}

/** Whether the engine of patterns is needed; callers that can wait load it first. */
export function hasPattern(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasPattern)
  return (
    isObject(schema) &&
    Object.entries(schema).some(
      ([key, value]) =>
        (key === 'pattern' && typeof value === 'string') || key === 'patternProperties' || hasPattern(value),
    )
  )
}

interface Known {
  readonly root: JsonSchema
  readonly patterns: Map<string, RE2JS | undefined>
  /** Of each `enum` and `const`. */
  readonly choices: Map<unknown, ReadonlySet<unknown>>
  /** What references point to. */
  readonly targets: Map<string, unknown>
}

const none: readonly Issue[] = []

/** One check of one value. */
export class Check {
  readonly #known: Known
  /** Issues that each part of the schema found in each list and object; none while it is being checked. */
  readonly #found = new Map<unknown, Map<unknown, readonly Issue[]>>()
  readonly #keys = new Map<object, string>()
  #steps = 0
  #depth = 0

  constructor(known: Known) {
    this.#known = known
  }

  look(schema: unknown, value: unknown): readonly Issue[] {
    this.step()
    if (schema === false) return [{ path: [], message: 'Invalid input: nothing is allowed here' }]
    if (!isObject(schema)) return none
    if (typeof value !== 'object' || value === null) return this.#checked(schema, value)
    const results = this.#found.get(schema) ?? new Map<unknown, readonly Issue[]>()
    this.#found.set(schema, results)
    const before = results.get(value)
    if (before) return before
    results.set(value, none)
    const issues = this.#checked(schema, value)
    results.set(value, issues)
    return issues
  }

  fits(schema: unknown, value: unknown): boolean {
    return this.look(schema, value).length === 0
  }

  /** Issues of an item or a field of a value. */
  inside(schema: unknown, value: unknown, key: PropertyKey): readonly Issue[] {
    const found = this.look(schema, value)
    if (found.length === 0) return none
    this.step(found.length)
    return found.slice(0, mostIssues).map((issue) => ({ ...issue, path: [key, ...issue.path] }))
  }

  step(count = 1): void {
    this.#steps += count
    if (this.#steps > mostSteps) throw tooLong
  }

  stepChars(text: string): void {
    this.step(text.length / charsPerStep)
  }

  /** Equal for equal values: the value itself, or the text of a list or object. */
  keyOf(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    const known = this.#keys.get(value)
    if (known !== undefined) return known
    this.#weigh(value)
    // No text of a value begins with NUL, so that a text and a list with that text differ.
    const key = `\0${canonical(toJson(value))}`
    this.#keys.set(value, key)
    return key
  }

  /** Counts what is in the value, before it is written out. */
  #weigh(value: object): void {
    const open: unknown[] = [value]
    while (open.length > 0) {
      const item = open.pop()
      this.step()
      if (typeof item === 'string') this.stepChars(item)
      else if (typeof item === 'object' && item !== null)
        for (const [key, inner] of Object.entries(item)) {
          this.stepChars(key)
          open.push(inner)
        }
    }
  }

  #checked(schema: JsonSchema, value: unknown): readonly Issue[] {
    if (this.#depth >= deepest) throw tooLong
    this.#depth++
    try {
      return this.#all(schema, value)
    } finally {
      this.#depth--
    }
  }

  #all(schema: JsonSchema, value: unknown): readonly Issue[] {
    const { $ref } = schema
    const referred = typeof $ref === 'string' ? this.look(this.#target($ref), value) : none
    // In old drafts nothing beside a reference counts.
    if (referred.length > 0 || (typeof $ref === 'string' && 'definitions' in this.#known.root)) return referred
    if (Array.isArray(schema['type'])) this.step(schema['type'].length)
    const wrongType = typeIssue(schema['type'], value)
    if (wrongType) return [wrongType]
    const issues: Issue[] = []
    const add = (found: readonly Issue[]): void => {
      this.step(found.length)
      for (const issue of found) if (issues.length < mostIssues) issues.push(issue)
    }
    add(this.#chosen(schema, value))
    const counters = countersOf(value)
    if (counters) add(counters(this, schema, value))
    add(this.#combined(schema, value))
    return issues
  }

  /** `enum` and `const`. */
  #chosen(schema: JsonSchema, value: unknown): readonly Issue[] {
    const list = choicesIn(schema)
    if (!list) return none
    const key = schema['enum'] ?? schema
    const known = this.#known.choices.get(key) ?? new Set(list.map((item) => this.keyOf(item)))
    this.#known.choices.set(key, known)
    if (known.has(this.keyOf(value))) return none
    const some = list.slice(0, 20).map((item) => JSON.stringify(toJson(item)).slice(0, 100))
    return [
      {
        path: [],
        message:
          `Invalid option: expected ` +
          `${some.length === 1 ? '' : 'one of '}${some.join('|')}${list.length > 20 ? '|…' : ''}`,
      },
    ]
  }

  #combined(schema: JsonSchema, value: unknown): readonly Issue[] {
    const { allOf, anyOf, oneOf, not, if: condition } = schema
    const found = Array.isArray(allOf) ? allOf.flatMap((part: unknown) => this.look(part, value)) : []
    for (const list of [anyOf, oneOf]) if (Array.isArray(list)) found.push(...this.#oneOf(list, value))
    if (Array.isArray(oneOf) && found.length === 0 && oneOf.filter((part) => this.fits(part, value)).length > 1)
      found.push({ path: [], message: 'Invalid input: more than one alternative fits, and exactly one may' })
    if (not !== undefined && this.fits(not, value))
      found.push({ path: [], message: 'Invalid input: this is what it must not be' })
    if (condition === undefined) return found
    const then = this.fits(condition, value) ? schema['then'] : schema['else']
    return then === undefined ? found : [...found, ...this.look(then, value)]
  }

  /** If all alternatives but one are null, the issues of that one say more. */
  #oneOf(list: readonly unknown[], value: unknown): readonly Issue[] {
    if (list.some((part) => this.fits(part, value))) return none
    const [meant, other] = list.filter((part) => !(isObject(part) && part['type'] === 'null'))
    return meant !== undefined && other === undefined
      ? this.look(meant, value)
      : [{ path: [], message: 'Invalid input: no alternative fits' }]
  }

  /** True if the pattern cannot be used. */
  matches(pattern: string, text: string): boolean {
    const expression = this.#known.patterns.has(pattern) ? this.#known.patterns.get(pattern) : compilePattern(pattern)
    if (expression !== null) this.#known.patterns.set(pattern, expression)
    if (!expression) return true
    this.step(((text.length + 1) * expression.programSize()) / patternStepsPerStep)
    return expression.test(text)
  }

  #target(reference: string): unknown {
    const { targets, root } = this.#known
    if (!targets.has(reference)) targets.set(reference, at(root, reference))
    return targets.get(reference)
  }
}

function choicesIn(schema: JsonSchema): readonly unknown[] | undefined {
  if (Array.isArray(schema['enum'])) return schema['enum']
  return 'const' in schema ? [schema['const']] : undefined
}

/** What a reference inside the schema points to; `true`, which fits anything, if it points outside. */
function at(root: JsonSchema, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return true
  let found: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(found)) found = found[Number(key)]
    else found = isObject(found) && Object.hasOwn(found, key) ? found[key] : true
  }
  return found ?? true
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function typeIssue(type: unknown, value: unknown): Issue | undefined {
  const types = [type].flat().filter((each) => typeof each === 'string')
  if (types.length === 0 || types.some((each) => isOf(each, value))) return undefined
  const [only] = types.filter((each) => each !== 'null')
  const expected = only === 'integer' ? 'int' : only
  const received = typeName(value)
  return {
    path: [],
    message: `Invalid input: expected ${types.join(' or ').slice(0, 100)}, received ${received}`,
    ...(types.length <= 2 && expected !== undefined && { expected }),
  }
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
    default:
      return true
  }
}
