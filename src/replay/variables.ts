/**
 * Variables in a replay. Their values are not in a journal that left its store, and those of a host's options never
 * were: what depends on a value being there is decided as it was recorded, what depends on the value itself is not
 * compared.
 *
 * - A name has a value (its own name, in words) unless the journal says that it was missing.
 * - A flag that enables an agent may have been on or off: a step is the same if it is for either.
 * - Values that the caller gives go before these.
 */
import { randomBytes } from 'node:crypto'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import { isEnabled } from '../core/env.js'
import type { GivenEnv } from '../core/env.js'
import type { SealedReplacement } from '../core/records/sealed.js'
import type { ThreadRecord } from '../core/records/record.js'
import { Environments } from '../runtime/secrets/environment.js'
import type { EnvironmentServices } from '../runtime/secrets/environment.js'
import { keySource } from '../runtime/secrets/key-source.js'
import { Secrets } from '../runtime/secrets/secrets.js'
import type { Recording } from './source.js'

export interface ReplayedVariables {
  readonly envs: ReplayedEnvironments
  /** Sealed for this replay. */
  readonly sealed: SealedReplacement
}

export async function replayedVariables(
  app: App,
  { records, thread }: Recording,
  given: GivenEnv,
): Promise<ReplayedVariables> {
  // For this replay alone: it seals nothing that anybody wants to know.
  const secrets = new Secrets({ source: keySource({ key: randomBytes(32).toString('hex') }) })
  const vault = await secrets.ready()
  const { wrapped } = vault.createDataKey()
  const [created] = records
  const root = (created?.type === 'thread.created' ? created.path[0] : undefined) ?? thread
  const valueOf = (name: string): string => given[name] ?? `value of ${name}`
  const missing = new Set(records.flatMap(missingIn))
  const names = declaredIn(app).filter((name) => !missing.has(name))
  const instance = { ...Object.fromEntries(names.map((name) => [name, valueOf(name)])), ...given }
  return {
    envs: new ReplayedEnvironments({ app, instance, secrets }, given),
    sealed: { keys: [wrapped], value: (name) => vault.seal(wrapped, valueOf(name), { root, name }) },
  }
}

/** Flags that are tried in every combination; of more, all or none. */
const mostFlags = 4

export class ReplayedEnvironments extends Environments {
  readonly #given: GivenEnv
  #off: readonly string[] = []

  constructor(services: EnvironmentServices, given: GivenEnv) {
    super(services)
    this.#given = given
  }

  override disabled({ agent }: Pick<ThreadState, 'agent'>): readonly string[] {
    return this.declarations
      .relations(agent)
      .flatMap(({ name, optional }) => (optional === undefined || this.#isOn(optional) ? [] : [name]))
  }

  #isOn(flag: string): boolean {
    return Object.hasOwn(this.#given, flag) ? isEnabled(this.#given[flag]) : !this.#off.includes(flag)
  }

  /** Assumes one after the other: flags that may have been off. They stay as they were when the reader stops. */
  *flagSettings({ agent }: Pick<ThreadState, 'agent'>): Generator<void> {
    const flags = this.declarations
      .relations(agent)
      .flatMap(({ optional }) => (optional === undefined || Object.hasOwn(this.#given, optional) ? [] : [optional]))
    const unknown = [...new Set(flags)]
    for (const off of unknown.length > mostFlags ? [[], unknown] : subsetsOf(unknown)) {
      this.#off = off
      yield
    }
  }
}

function subsetsOf(names: readonly string[]): readonly (readonly string[])[] {
  return names.reduce<readonly (readonly string[])[]>(
    (subsets, name) => [...subsets, ...subsets.map((subset) => [...subset, name])],
    [[]],
  )
}

function declaredIn({ tools, prompts, agents }: App): readonly string[] {
  return [...tools.values(), ...prompts.values(), ...agents.values()].flatMap(({ variables = [] }) =>
    variables.map(({ name }) => name),
  )
}

function missingIn(record: ThreadRecord): readonly string[] {
  if (record.type === 'turn.held' || record.type === 'call.held') return record.missing ?? []
  const calls = record.type === 'model.replied' || record.type === 'calls.made' ? record.calls : []
  return calls.flatMap(({ deferred }) => deferred?.missing ?? [])
}
