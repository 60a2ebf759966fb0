/**
 * The variables of threads on their host: which level a name gets its value from, what a body is given, and which
 * values are masked. Reads definitions, the thread's state and the vault; changes nothing.
 *
 * - Values are opened here and nowhere else, for the call that declares them and for the masks.
 * - Every secret that a thread can reach is masked: its own and inherited values, and those of its definitions and of
 *   the skein's options.
 */
import { envOfStep, unsetVariables } from '../../../actors/thread/variables.js'
import type { NeededVariables } from '../../../actors/thread/variables.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { App } from '../../agent/app.js'
import type { Variable } from '../../agent/define.js'
import { createDeclarations, textsOf } from '../../agent/variables.js'
import type { Declarations } from '../../agent/variables.js'
import { isEnabled, missingVariables, noEnv, resolveEnv, threadEnv } from '../../core/env.js'
import type { Env, EnvLevels, GivenEnv } from '../../core/env.js'
import { defined } from '../../core/defined.js'
import { SkeinError, isSkeinError } from '../../core/failure.js'
import type { Sealed } from '../../core/records/record.js'
import { createRedactor } from '../../core/redact/redact.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { Secrets } from './secrets.js'

/** The variables of one call. */
export interface CallEnv {
  readonly env: Readonly<Record<string, string>>
  /** The values that are masked in what its body gives. */
  readonly secrets: readonly string[]
}

/** The thread whose variables are meant. `caller`: the agent that called a prompt as a tool. */
type Owner = Pick<ThreadState, 'id' | 'path' | 'agent' | 'env'> & {
  readonly child?: { readonly caller?: string } | undefined
}

export interface EnvironmentServices {
  readonly app: App
  /** Values of the skein's options, for names that no thread, agent or prompt has. */
  readonly instance: GivenEnv
  readonly secrets: Secrets
  /** Secrets of definitions that this host has served before. */
  readonly earlierSecrets?: ReadonlySet<string>
}

const noVariables: CallEnv = { env: {}, secrets: [] }
const noNames: ReadonlySet<string> = new Set()

export class Environments {
  readonly declarations: Declarations
  readonly secrets: Secrets
  readonly #app: App
  readonly #instance: GivenEnv
  readonly #earlierSecrets: ReadonlySet<string>
  /** Whether any definition requires a value. */
  readonly #requiresValues: boolean
  readonly #required = new Map<string, readonly string[]>()
  readonly #definedSecrets = new Map<string, readonly string[]>()
  readonly #redactors = new WeakMap<Env, Map<string, Redactor | undefined>>()

  constructor({ app, instance, secrets, earlierSecrets = noNames }: EnvironmentServices) {
    this.declarations = createDeclarations(app)
    this.secrets = secrets
    this.#app = app
    this.#instance = instance
    this.#earlierSecrets = earlierSecrets
    this.#requiresValues = [...app.tools.values(), ...app.prompts.values(), ...app.agents.values()].some(
      ({ variables = [] }) => requiredOf(variables).length > 0,
    )
  }

  /** What a body sees: the variables that its tool declares, and those of the tools that it may invoke. */
  ofCall(state: ThreadState, tool: string): CallEnv {
    const declared = this.declarations.ofTool(tool)
    if (declared.length === 0) return noVariables
    const owner: Owner = {
      id: state.id,
      path: state.path,
      agent: state.agent,
      child: state.child,
      env: envOfStep(state),
    }
    const env: Record<string, string> = {}
    const secrets: string[] = []
    for (const { name, default: fallback } of declared) {
      const value = this.#valueOf(owner, name, fallback)
      if (value !== undefined) env[name] = value
      if (!this.declarations.isSecret(name)) continue
      // The default in the definition is as secret as the value that replaces it.
      for (const each of [value, fallback]) if (each !== undefined) secrets.push(each)
    }
    return { env, secrets }
  }

  /** The text of a variable in a prompt: empty for an optional one without a value. */
  promptText(state: ThreadState, { name, default: fallback, required = true }: Variable): string {
    const value = this.#valueOf(state, name, fallback)
    if (value === undefined && required)
      throw new SkeinError(
        'ENV_MISSING',
        `the prompt of ${state.agent} shows the variable ${name}, which has no value; set it for the thread, its ` +
          `agent, its prompt or the skein`,
      )
    return value ?? ''
  }

  /** S5: the agents that the thread's flags disable. */
  disabled(state: ThreadState): readonly string[] {
    return this.declarations
      .relations(state.agent)
      .flatMap(({ name, optional }) =>
        optional === undefined || isEnabled(this.#valueOf(state, optional)) ? [] : [name],
      )
  }

  /** The value of a variable for the thread itself, without the defaults of tools. */
  value(state: ThreadState, name: string): string | undefined {
    return this.#valueOf(state, name)
  }

  /** Every name that has a value on some level. */
  names(state: ThreadState): Readonly<Record<string, unknown>> {
    return Object.assign({}, ...Object.values(this.#levels(state)))
  }

  /** S4: values for one child, sealed. Not pure: nonces, and a first data key, are random bytes. */
  seal(state: ThreadState, values: Readonly<Record<string, string>>): Sealed {
    const { vault } = this.secrets
    const key = state.env.keys[0] ?? vault.createDataKey().wrapped
    const root = state.path[0] ?? state.id
    return {
      keys: [key],
      set: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, vault.seal(key, value, { root, name })]),
      ),
    }
  }

  /** Names that a child of this agent requires; `missing`: those without a value in its definitions and the options. */
  childRequirements(agent: string): { readonly required: readonly string[]; readonly missing: readonly string[] } {
    const required = remembered(this.#required, `child/${agent}`, () => requiredOf(this.declarations.givenTo(agent)))
    const given = this.#given({ agent }, required)
    return { required, missing: required.filter((name) => !given.has(name)) }
  }

  /** The names that a child of this agent does not inherit from the thread, because they are scoped to it. */
  withheld({ agent, env }: Pick<ThreadState, 'agent' | 'env'>, child: string): readonly string[] {
    const scoped = this.declarations.scopedBy(child)
    if (scoped.length === 0) return scoped
    const here = new Set(this.declarations.givenTo(agent).map(({ name }) => name))
    const above = this.declarations.scopedBy(agent)
    return scoped.filter((name) => !here.has(name) && !(Object.hasOwn(env.inherited, name) && above.includes(name)))
  }

  /** The names that must have a value before the tool's body runs. */
  needsOfTool(name: string): readonly string[] {
    return remembered(this.#required, `tool/${name}`, () => requiredOf(this.declarations.ofTool(name)))
  }

  /**
   * What must have a value before the thread's model is asked or a call of its step begins, and what of that
   * definitions give; undefined where the app needs nothing.
   */
  needs(state: ThreadState): NeededVariables | undefined {
    if (!this.#requiresValues) return undefined
    const { agent } = state
    const ofTurn = remembered(this.#required, `agent/${agent}`, () => requiredOf(this.declarations.ofAgent(agent)))
    return { ofTurn, given: this.#given(state, unsetVariables(state, ofTurn)) }
  }

  /** Of these names, those that definitions or the skein's options give a value. */
  #given({ agent, child }: Pick<Owner, 'agent' | 'child'>, names: readonly string[]): ReadonlySet<string> {
    if (names.length === 0) return noNames
    const levels = this.#levels({ id: '', path: [], agent, child, env: noEnv })
    return new Set(names.filter((name) => resolveEnv(name, levels) !== undefined))
  }

  #levels({ env, agent: name, child }: Owner, fallback?: GivenEnv): EnvLevels {
    const agent = this.#app.agents.get(name)
    const caller = child?.caller === undefined ? undefined : this.#app.agents.get(child.caller)
    const prompt =
      agent &&
      Object.assign(
        {},
        ...textsOf(this.#app, agent)
          .map((text) => text.env)
          .reverse(),
      )
    return {
      own: env.own,
      inherited: env.inherited,
      agent: agent?.env ?? caller?.env,
      prompt,
      tool: fallback,
      instance: this.#instance,
    }
  }

  #valueOf(owner: Owner, name: string, fallback?: string): string | undefined {
    const found = resolveEnv(name, this.#levels(owner, fallback === undefined ? undefined : { [name]: fallback }))
    if (!found) return undefined
    return found.from === 'own' || found.from === 'inherited' ? this.open(owner, name, found.value) : found.value
  }

  open({ path, id, env }: Owner, name: string, sealed: string): string {
    return this.secrets.vault.open(env.keys, sealed, { root: path[0] ?? id, name, ...defined({ roots: env.roots }) })
  }

  /** Masks every secret that the thread can reach; undefined where it can reach none. Made once per set of values. */
  redactor(owner: Owner): Redactor | undefined {
    const known = this.#redactors.get(owner.env) ?? new Map<string, Redactor | undefined>()
    this.#redactors.set(owner.env, known)
    const caller = owner.child?.caller
    // Values are sealed for one tree. Threads that have none share `noEnv`, which is kept as long as the host.
    const root = isEmpty(owner.env.own) && isEmpty(owner.env.inherited) ? '' : (owner.path[0] ?? owner.id)
    const key = `${root}/${owner.agent}/${caller ?? ''}`
    if (!known.has(key))
      known.set(
        key,
        createRedactor([
          ...this.#sealedSecrets(owner),
          ...this.#secretsOfAgent(owner.agent),
          ...(caller === undefined ? [] : this.#secretsOfAgent(caller)),
          ...this.#earlierSecrets,
        ]),
      )
    return known.get(key)
  }

  #sealedSecrets(owner: Owner): readonly string[] {
    return Object.entries(threadEnv(owner.env)).flatMap(([name, sealed]) => {
      if (!this.declarations.isSecret(name)) return []
      try {
        return [this.open(owner, name, sealed)]
      } catch (thrown) {
        // A value that cannot be opened cannot leak; a call that needs it fails by itself.
        if (isSkeinError(thrown)) return []
        throw thrown
      }
    })
  }

  /** Every secret that stands in the definitions of this version and of those before it. */
  definedSecrets(): ReadonlySet<string> {
    const ofAgents = [...this.#app.agents.keys()].flatMap((name) => this.#secretsOfAgent(name))
    return new Set([...this.#earlierSecrets, ...ofAgents])
  }

  /** The secrets that stand in definitions and options. */
  #secretsOfAgent(name: string): readonly string[] {
    const known = this.#definedSecrets.get(name)
    if (known) return known
    const { agents, prompts, tools } = this.#app
    const agent = agents.get(name)
    const declared = [...tools.values(), ...prompts.values(), ...agents.values()]
      .flatMap(({ variables = [] }) => variables)
      .filter((variable) => this.declarations.isSecret(variable.name))
    const envs = [agent?.env, ...(agent ? textsOf(this.#app, agent).map(({ env }) => env) : []), this.#instance]
    const values = envs.flatMap((env) =>
      Object.entries(env ?? {}).flatMap(([variable, value]) =>
        this.declarations.isDeclaredSecret(variable) ? [value] : [],
      ),
    )
    const all = [...values, ...declared.flatMap(({ default: value }) => (value === undefined ? [] : [value]))]
    this.#definedSecrets.set(name, all)
    return all
  }
}

function isEmpty(values: Readonly<Record<string, unknown>>): boolean {
  for (const name in values) if (Object.hasOwn(values, name)) return false
  return true
}

/** Names that are required and have no default. */
function requiredOf(variables: readonly Variable[]): readonly string[] {
  const defaults = new Set(variables.flatMap(({ name, default: value }) => (value === undefined ? [] : [name])))
  return missingVariables(variables, (name) => (defaults.has(name) ? name : undefined))
}

function remembered<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = known.get(key) ?? make()
  known.set(key, value)
  return value
}
