/**
 * Values checked by JSON Schema that someone else wrote, maybe to harm: a schema may take no more of the main loop
 * than its args.
 *
 * JS1 A schema is bounded before it is used: how many values it has, how deep they are, how long its texts are.
 * JS2 A check is bounded: a value is looked at once by each part of the schema, references that go in circles end,
 *     and patterns are of RE2 (linear). What would take more steps than that is left to the tool.
 * - What is not known here (formats, remote references, patterns that RE2 has not) is left to the tool as well.
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

/** JS1; what is wrong with it, or undefined. */
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

/** JS2: of looks at a value, and of what patterns do, in characters and steps for each. */
const mostSteps = 50_000
const mostPatternSteps = 5_000_000
const deepest = 400
const mostIssues = 1_000

/** Thrown inside only: it would take too long. */
const tooMuch = Symbol('left to the tool')

export function createChecker(root: JsonSchema): (value: unknown) => readonly Issue[] {
  if (hasPattern(root)) void loadPatterns()
  const patterns = new Map<string, RE2JS | undefined>()
  const choices = new Map<unknown, ReadonlySet<string>>()
  return (value) => {
    try {
      return new Check({ root, patterns, choices }).look(root, value)
    } catch (thrown) {
      if (thrown === tooMuch) return []
      throw thrown
    }
  }
}

/** Whoever can wait for the engine of patterns does so. */
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
  readonly choices: Map<unknown, ReadonlySet<string>>
}

const none: readonly Issue[] = []

/** One check of one value. */
export class Check {
  readonly #known: Known
  /** What each part of the schema said of each list and object; nothing yet while it is looked at. */
  readonly #said = new Map<unknown, Map<unknown, readonly Issue[]>>()
  #steps = 0
  #patternSteps = 0
  #depth = 0

  constructor(known: Known) {
    this.#known = known
  }

  look(schema: unknown, value: unknown): readonly Issue[] {
    if (schema === false) return [{ path: [], message: 'Invalid input: nothing is allowed here' }]
    if (!isObject(schema)) return none
    if (typeof value !== 'object' || value === null) return this.#through(schema, value)
    const said = this.#said.get(schema) ?? new Map<unknown, readonly Issue[]>()
    this.#said.set(schema, said)
    const before = said.get(value)
    if (before) return before
    said.set(value, none)
    const issues = this.#through(schema, value)
    said.set(value, issues)
    return issues
  }

  fits(schema: unknown, value: unknown): boolean {
    return this.look(schema, value).length === 0
  }

  /** Of one thing inside a value. */
  inside(schema: unknown, value: unknown, key: PropertyKey): readonly Issue[] {
    const found = this.look(schema, value)
    return found.length === 0
      ? none
      : found.slice(0, mostIssues).map((issue) => ({ ...issue, path: [key, ...issue.path] }))
  }

  step(): void {
    if (++this.#steps > mostSteps) throw tooMuch
  }

  #through(schema: JsonSchema, value: unknown): readonly Issue[] {
    this.step()
    if (this.#depth >= deepest) throw tooMuch
    this.#depth++
    try {
      return this.#all(schema, value)
    } finally {
      this.#depth--
    }
  }

  #all(schema: JsonSchema, value: unknown): readonly Issue[] {
    const { $ref } = schema
    const meant = typeof $ref === 'string' ? this.look(at(this.#known.root, $ref), value) : none
    // In old drafts nothing beside a reference counts.
    if (meant.length > 0 || (typeof $ref === 'string' && 'definitions' in this.#known.root)) return meant
    const wrongType = typeIssue(schema['type'], value)
    if (wrongType) return [wrongType]
    const issues: Issue[] = []
    const add = (found: readonly Issue[]): void => {
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
    const known = this.#known.choices.get(key) ?? new Set(list.map((item) => canonical(toJson(item))))
    this.#known.choices.set(key, known)
    if (known.has(canonical(toJson(value)))) return none
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

  /** Where all but one alternative is null, what is wrong with that one says more. */
  #oneOf(list: readonly unknown[], value: unknown): readonly Issue[] {
    if (list.some((part) => this.fits(part, value))) return none
    const [meant, other] = list.filter((part) => !(isObject(part) && part['type'] === 'null'))
    return meant !== undefined && other === undefined
      ? this.look(meant, value)
      : [{ path: [], message: 'Invalid input: no alternative fits' }]
  }

  /** True where that is not known. */
  matches(pattern: string, text: string): boolean {
    const expression = this.#known.patterns.has(pattern) ? this.#known.patterns.get(pattern) : compilePattern(pattern)
    if (expression !== null) this.#known.patterns.set(pattern, expression)
    if (!expression) return true
    this.#patternSteps += (text.length + 1) * expression.programSize()
    if (this.#patternSteps > mostPatternSteps) throw tooMuch
    return expression.test(text)
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
