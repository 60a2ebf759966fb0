/**
 * The words of env: values as a thread stores them, where a name finds its value, and what a child gets of its
 * parent. Pure: secrets stay sealed here, opening them is the runtime's.
 *
 * EN1 Own beats inherited, and both beat agent, prompt, tool default and instance, in this order. A value that is
 *     empty is a value.
 * EN2 A child gets all that its parent has, own or inherited, except the names that the child's agent graph scopes.
 * EN3 Only own fields count: a name such as `constructor` finds nothing that was not set.
 * EN4 `NAME` is instance 1, `NAME__2` instance 2. A name that is itself asked for is nobody's second instance.
 */
import { SkeinError } from './failure.js'

/** How a value is stored. Whether it is masked is for its declaration to say: a default in an app is stored by nobody. */
export type EnvValue = { readonly type: 'text'; readonly value: string } | { readonly type: 'secret'; readonly sealed: string }

export type Env = Readonly<Record<string, EnvValue>>

/** Values that definitions and options give: not stored, so not sealed. */
type GivenEnv = Readonly<Record<string, string>>

export interface EnvLevels {
  /** What was set on the thread itself. */
  readonly thread?: Env | undefined
  /** What came from its parent (`inheritedEnv`). */
  readonly inherited?: Env | undefined
  readonly agent?: GivenEnv | undefined
  readonly prompt?: GivenEnv | undefined
  /** Defaults of the tool's declared variables. */
  readonly tool?: GivenEnv | undefined
  readonly instance?: GivenEnv | undefined
}

export type EnvLevel = keyof EnvLevels

const order: readonly EnvLevel[] = ['thread', 'inherited', 'agent', 'prompt', 'tool', 'instance']

export interface ResolvedEnv {
  readonly from: EnvLevel
  readonly value: EnvValue
}

/** EN1. Undefined: no level has it. */
export function resolveEnv(name: string, levels: EnvLevels): ResolvedEnv | undefined {
  for (const from of order) {
    const value = ownField<EnvValue | string>(levels[from], name)
    if (value !== undefined) return { from, value: typeof value === 'string' ? { type: 'text', value } : value }
  }
  return undefined
}

/** All that a thread has: what its children may inherit. */
export function threadEnv({ thread = {}, inherited = {} }: Pick<EnvLevels, 'thread' | 'inherited'>): Env {
  return Object.fromEntries([...Object.entries(inherited), ...Object.entries(thread)])
}

/** EN2. `parent` is the parent's whole `threadEnv`; a later change of it flows on by computing this again. */
export function inheritedEnv(parent: Env, scopedNames: Iterable<string>): Env {
  const scoped = new Set(scopedNames)
  return Object.fromEntries(Object.entries(parent).filter(([name]) => !scoped.has(name)))
}

interface Declared {
  readonly name: string
  /** Default true. */
  readonly required?: boolean | undefined
}

/** Each required name that `lookup` has nothing for, once, as declared. */
export function missingVariables(declared: Iterable<Declared>, lookup: (name: string) => unknown): readonly string[] {
  const missing = new Set<string>()
  for (const { name, required = true } of declared) if (required && lookup(name) === undefined) missing.add(name)
  return [...missing]
}

const nameForm = /^[A-Z_][A-Z0-9_]*$/

export function isVariableName(name: string): boolean {
  return nameForm.test(name)
}

/** Gives the name back. A whole `NAME=value` given by mistake is not repeated: the value may be a secret. */
export function checkVariableName(name: string): string {
  if (isVariableName(name)) return name
  const [start = '', ...value] = name.split('=')
  const shown = JSON.stringify(start.slice(0, 100) + (value.length > 0 ? '=…' : ''))
  throw new SkeinError('BAD_OPTION', `${shown} is no name of a variable; use capital letters, digits and _, and no digit first, such as API_KEY`)
}

export interface EnvInstance {
  /** 1 for the names without a number. */
  readonly number: number
  /** Of the names asked for, those that this instance has, each with the variable that holds it: `{ TOKEN: 'TOKEN__2' }`. */
  readonly variables: Readonly<Record<string, string>>
}

/** EN4. By number; a number may be missing. Looks at the names in `env` only, so any record will do. */
export function instancesOf(env: Readonly<Record<string, unknown>>, names: Iterable<string>): readonly EnvInstance[] {
  const bases = new Set(names)
  const found = new Map<number, [name: string, variable: string][]>()
  for (const variable of Object.keys(env)) {
    const place = bases.has(variable) ? { base: variable, number: 1 } : numbered(variable)
    if (!place || !bases.has(place.base)) continue
    found.set(place.number, [...(found.get(place.number) ?? []), [place.base, variable]])
  }
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([number, variables]) => ({ number, variables: Object.fromEntries(variables) }))
}

/** `__1`, `__02` and what no number can hold are part of a name. */
function numbered(variable: string): { readonly base: string; readonly number: number } | undefined {
  const [, base, digits] = /^(.+)__([1-9]\d*)$/.exec(variable) ?? []
  const number = Number(digits)
  return base !== undefined && number >= 2 && Number.isSafeInteger(number) ? { base, number } : undefined
}

/** What a flag says (S5). */
export function isEnabled(value: string | undefined): boolean {
  return value !== undefined && /^(?:true|1|yes)$/i.test(value.trim())
}

/** EN3 */
function ownField<Value>(fields: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return fields && Object.hasOwn(fields, name) ? fields[name] : undefined
}
