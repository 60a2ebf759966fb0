/**
 * The words of env: values as a thread stores them, where a name finds its value, and what a child gets of its
 * parent. Pure: secrets stay sealed here, opening them is the runtime's.
 *
 * - Own beats inherited, and both beat agent, prompt, tool default and instance, in this order. A value that is
 *   empty is a value.
 * EN2 A child gets all that its parent has, own or inherited, except the names that the child's agent graph scopes, and
 *     their instances (EN4). A name that the parent's own definitions scope, or that came to it so, is no exception:
 *     what is scoped flows on to descendants, and a value of their own goes before it.
 * - Only own fields count: a name such as `constructor` finds nothing that was not set.
 * EN4 `NAME` is instance 1, `NAME__2` instance 2. A name that is itself asked for is nobody's second instance.
 * EN5 A later change flows on by name: the child gets the value that its parent has then, or loses it, where it does
 *     not scope the name.
 */
import { SkeinError } from './failure.js'

/**
 * Sealed values by name (src/runtime/vault.ts): all that is stored of a value. Whether it is masked is for its
 * declaration to say.
 */
export type SealedEnv = Readonly<Record<string, string>>

/** What a thread has. */
export interface Env {
  /**
   * Wrapped data keys that its values were sealed with; one, unless two of the tree were given their first value at
   * once.
   */
  readonly keys: readonly string[]
  /** Set on the thread itself. */
  readonly own: SealedEnv
  /** From its parent (`inheritedEnv`). */
  readonly inherited: SealedEnv
}

/** Null takes a value away. */
export interface EnvChange {
  readonly level: 'own' | 'inherited'
  readonly keys: readonly string[]
  readonly set: Readonly<Record<string, string | null>>
}

export const noEnv: Env = { keys: [], own: {}, inherited: {} }

/** Values that definitions and options give: not stored, so not sealed. */
export type GivenEnv = Readonly<Record<string, string>>

export interface EnvLevels {
  readonly own?: SealedEnv | undefined
  readonly inherited?: SealedEnv | undefined
  readonly agent?: GivenEnv | undefined
  readonly prompt?: GivenEnv | undefined
  /** Defaults of the tool's declared variables. */
  readonly tool?: GivenEnv | undefined
  readonly instance?: GivenEnv | undefined
}

export type EnvLevel = keyof EnvLevels

const order: readonly EnvLevel[] = ['own', 'inherited', 'agent', 'prompt', 'tool', 'instance']

/** Sealed where it comes from the thread. */
export interface ResolvedEnv {
  readonly from: EnvLevel
  readonly value: string
}

/** EN1. Undefined: no level has it. */
export function resolveEnv(name: string, levels: EnvLevels): ResolvedEnv | undefined {
  for (const from of order) {
    const value = ownField(levels[from], name)
    if (value !== undefined) return { from, value }
  }
  return undefined
}

/** All that a thread has: what its children may inherit. */
export function threadEnv({ own, inherited }: Pick<Env, 'own' | 'inherited'>): SealedEnv {
  return Object.fromEntries([...Object.entries(inherited), ...Object.entries(own)])
}

export function hasValue({ own, inherited }: Pick<Env, 'own' | 'inherited'>, name: string): boolean {
  return Object.hasOwn(own, name) || Object.hasOwn(inherited, name)
}

/** A copy with the change. */
export function changedEnv(env: Env, { level, keys, set }: EnvChange): Env {
  const values = Object.fromEntries(
    Object.entries({ ...env[level], ...set }).flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, value]],
    ),
  )
  return { ...env, keys: [...new Set([...env.keys, ...keys])], [level]: values }
}

/** EN2. `parent` is the parent's whole `threadEnv`. */
export function inheritedEnv<Value>(
  parent: Readonly<Record<string, Value>>,
  scopedNames: Iterable<string>,
): Readonly<Record<string, Value>> {
  const scoped = new Set(scopedNames)
  if (scoped.size === 0) return parent
  return Object.fromEntries(
    Object.entries(parent).filter(([name]) => !scoped.has(name) && !scoped.has(numbered(name)?.base ?? name)),
  )
}

/** EN5: what a child is told of a change of its parent, whose env is `after` now. */
export function flowingEnv(after: Env, names: Iterable<string>): Readonly<Record<string, string | null>> {
  const all = threadEnv(after)
  return Object.fromEntries(Array.from(names, (name) => [name, ownField(all, name) ?? null]))
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
  throw new SkeinError(
    'BAD_OPTION',
    `${shown} is no name of a variable; use capital letters, digits and _, and no digit first, such as API_KEY`,
  )
}

export interface EnvInstance {
  /** 1 for the names without a number. */
  readonly number: number
  /**
   * Of the names asked for, those that this instance has, each with the variable that holds it: `{ TOKEN: 'TOKEN__2'
   * }`.
   */
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

function ownField<Value>(fields: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return fields && Object.hasOwn(fields, name) ? fields[name] : undefined
}
