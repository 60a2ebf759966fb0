/**
 * Variables of a thread: how values are stored, which level a name is resolved from, and what a child inherits. Pure:
 * secrets stay sealed here; the runtime opens them (src/runtime/secrets).
 *
 * - Own values precede inherited ones, then come agent, prompt, tool default and instance. An empty value is a value.
 * EN2 A child inherits all values of its parent, own or inherited, except the names that its own agent graph scopes
 *     and their instances (EN4). Values that the parent was given for its own scoped names are inherited, too.
 * - Only own fields count: a name such as `constructor` resolves to nothing unless it was set.
 * EN4 `NAME` is instance 1, `NAME__2` instance 2. A name that is declared itself is no instance of another.
 * EN5 A later change is passed on by name: the child gets the new value of its parent, or loses it, unless it scopes
 *     the name.
 */
import { SkeinError } from './failure.js'

/** Encrypted values by name (src/runtime/secrets/vault.ts). Whether a value is masked depends on its declaration. */
export type SealedEnv = Readonly<Record<string, string>>

/** The stored variables of a thread. */
export interface Env {
  /** Wrapped data keys of its values: one, unless two threads of the tree got their first value at the same time. */
  readonly keys: readonly string[]
  /** Set on the thread itself. */
  readonly own: SealedEnv
  /** From its parent (`inheritedEnv`). */
  readonly inherited: SealedEnv
  /** Roots that values were sealed for. Absent: the root of its tree alone. */
  readonly roots?: readonly string[]
}

/** Null removes a value. */
export interface EnvChange {
  readonly level: 'own' | 'inherited'
  readonly keys: readonly string[]
  readonly set: Readonly<Record<string, string | null>>
}

export const noEnv: Env = { keys: [], own: {}, inherited: {} }

/** Values from definitions and options: they are not stored, so they are not sealed. */
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

/** Sealed if it comes from the thread itself (`own`, `inherited`). */
export interface ResolvedEnv {
  readonly from: EnvLevel
  readonly value: string
}

/** The value of the first level that has one; undefined if none has. */
export function resolveEnv(name: string, levels: EnvLevels): ResolvedEnv | undefined {
  for (const from of order) {
    const value = ownField(levels[from], name)
    if (value !== undefined) return { from, value }
  }
  return undefined
}

/** All values of a thread, own before inherited: what its children may inherit. */
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

/** EN2: what a child inherits. `parent` is the whole `threadEnv` of the parent. */
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

/** EN5: the change that is passed on to a child, when `after` is the env of the parent after its own change. */
export function flowingEnv(after: Env, names: Iterable<string>): Readonly<Record<string, string | null>> {
  const all = threadEnv(after)
  return Object.fromEntries(Array.from(names, (name) => [name, ownField(all, name) ?? null]))
}

interface Declared {
  readonly name: string
  /** Default true. */
  readonly required?: boolean | undefined
}

/** The required names without a value, each once, in the order of their declarations. */
export function missingVariables(declared: Iterable<Declared>, lookup: (name: string) => unknown): readonly string[] {
  const missing = new Set<string>()
  for (const { name, required = true } of declared) if (required && lookup(name) === undefined) missing.add(name)
  return [...missing]
}

const nameForm = /^[A-Z_][A-Z0-9_]*$/

export function isVariableName(name: string): boolean {
  return nameForm.test(name)
}

/** Returns the name. A `NAME=value` that was passed by mistake is not shown in the error: the value may be a secret. */
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
  /** The names that this instance has, each with the variable that holds it: `{ TOKEN: 'TOKEN__2' }`. */
  readonly variables: Readonly<Record<string, string>>
}

/** EN4: the instances of these names, by number; numbers may be missing. Reads only the keys of `env`. */
export function instancesOf(env: Readonly<Record<string, unknown>>, names: Iterable<string>): readonly EnvInstance[] {
  const bases = new Set(names)
  const found = new Map<number, [name: string, variable: string][]>()
  for (const variable of Object.keys(env)) {
    const instance = bases.has(variable) ? { base: variable, number: 1 } : numbered(variable)
    if (!instance || !bases.has(instance.base)) continue
    found.set(instance.number, [...(found.get(instance.number) ?? []), [instance.base, variable]])
  }
  return [...found]
    .sort(([a], [b]) => a - b)
    .map(([number, variables]) => ({ number, variables: Object.fromEntries(variables) }))
}

/** `__1`, `__02` and numbers that are too large are part of the name. */
function numbered(variable: string): { readonly base: string; readonly number: number } | undefined {
  const [, base, digits] = /^(.+)__([1-9]\d*)$/.exec(variable) ?? []
  const number = Number(digits)
  return base !== undefined && number >= 2 && Number.isSafeInteger(number) ? { base, number } : undefined
}

/** Whether the value of a flag variable means yes (S5). */
export function isEnabled(value: string | undefined): boolean {
  return value !== undefined && /^(?:true|1|yes)$/i.test(value.trim())
}

function ownField<Value>(fields: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return fields && Object.hasOwn(fields, name) ? fields[name] : undefined
}
