/**
 * Options as callers give them, and forms of which most values have few of many fields: options, definitions. An
 * unknown option is an error, never ignored: a caller who misspells one must hear of it. A form owns which of its
 * schemas are made: a process that makes all of them takes longer for that than for all of its checks.
 *
 * - FF1: a value fits a form if the schemas of the fields that it has, and of those that it must have, accept it. What
 *   does not fit is told by the whole form, so a mistake reads the same whichever schemas were made before.
 */
import { z } from 'zod'
import { SkeinError } from './failure.js'
import { isObject } from './json.js'
import { mistakesIn } from './mistakes/mistakes.js'

/** Throws BAD_OPTION for what does not fit; `what` says where it was given. */
export function checkOptions<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  return dataOf(schema, schema.safeParse(value), what)
}

/** The same for what a process is given once: zod would compile the schema first, which takes longer than the check. */
export function checkOnce<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  return dataOf(schema, schema.safeParse(value, { jitless: true }), what)
}

/** The same for options of a form; they stay as they are. */
export function checkFitting(form: FieldForm, value: unknown, what: string): void {
  if (!form.fits(value)) checkOnce(form.whole(), value, what)
}

function dataOf<Value>(schema: z.ZodType<Value>, checked: z.ZodSafeParseResult<Value>, what: string): Value {
  if (checked.success) return checked.data
  throw new SkeinError('BAD_OPTION', `${what}: ${mistakesIn(checked.error, schema)}`)
}

/** What makes the schema of each field, in the order in which mistakes are told. */
type FieldMakers = Readonly<Record<string, () => z.ZodType>>

interface FieldRules<Fields extends FieldMakers> {
  /** Fields whose schemas do not accept that they are missing. */
  readonly required: readonly (keyof Fields & string)[]
  /** Unknown fields are no mistake. */
  readonly isLoose?: boolean
}

export class FieldForm<Fields extends FieldMakers = FieldMakers> {
  readonly #fields: Fields
  readonly #required: ReadonlySet<string>
  readonly #isLoose: boolean
  readonly #made = new Map<string, z.ZodType>()
  #part: z.ZodObject | undefined

  constructor(fields: Fields, { required, isLoose = false }: FieldRules<Fields>) {
    this.#fields = fields
    this.#required = new Set(required)
    this.#isLoose = isLoose
  }

  get names(): readonly string[] {
    return Object.keys(this.#fields)
  }

  requires(name: string): boolean {
    return this.#required.has(name)
  }

  fits(value: unknown): boolean {
    // Checked a few times at most: a schema that is compiled first takes longer.
    return this.#partFor(value).safeParse(value, { jitless: true }).success
  }

  whole(): z.ZodObject {
    return this.#schemaOf(this.names)
  }

  #partFor(value: unknown): z.ZodObject {
    const wanted = this.names.filter((name) => this.requires(name) || (isObject(value) && name in value))
    const known = this.#part && wanted.every((name) => this.#made.has(name))
    if (known && this.#part) return this.#part
    for (const name of wanted) this.#make(name)
    this.#part = this.#schemaOf(this.names.filter((name) => this.#made.has(name)))
    return this.#part
  }

  #schemaOf(names: readonly string[]): z.ZodObject {
    const shape = Object.fromEntries(names.map((name) => [name, this.#make(name)]))
    return this.#isLoose ? z.looseObject(shape) : z.strictObject(shape)
  }

  #make(name: string): z.ZodType {
    const made = this.#made.get(name) ?? this.#fields[name]?.() ?? z.never()
    this.#made.set(name, made)
    return made
  }
}
