/**
 * Variables in a replay. Their values are not in a journal that left its store, and those of a host's options never
 * were: what depends on a value being there is decided as it was recorded, what depends on the value itself is not
 * compared.
 *
 * - A name has a value (its own name, in words) unless the journal says that it was missing. A flag that enables an
 *   agent is on, unless the journal shows a call of that agent that was refused as unknown.
 * - Values that the caller gives go before these.
 */
import type { App } from '../agent/app.js'
import { callablesOf } from '../agent/callable.js'
import type { GivenEnv } from '../core/env.js'
import type { SealedReplacement } from '../core/records/sealed.js'
import type { RecordedCall, ThreadRecord } from '../core/records/record.js'
import { keySource } from '../runtime/secrets/key-source.js'
import { Secrets } from '../runtime/secrets/secrets.js'
import type { Recording } from './source.js'

export interface ReplayedVariables {
  readonly secrets: Secrets
  /** Values for names that the thread itself has none for. */
  readonly instance: GivenEnv
  /** Sealed for this replay. */
  readonly sealed: SealedReplacement
}

/** Seals nothing that anybody wants to know. */
const key = '0'.repeat(64)

export async function replayedVariables(
  app: App,
  { records, thread }: Recording,
  given: GivenEnv,
): Promise<ReplayedVariables> {
  const secrets = new Secrets({ source: keySource({ key }) })
  const vault = await secrets.ready()
  const { wrapped } = vault.createDataKey()
  const [created] = records
  const root = (created?.type === 'thread.created' ? created.path[0] : undefined) ?? thread
  const flags = flagsOf(app, records)
  const valueOf = (name: string): string => given[name] ?? flags.get(name) ?? `value of ${name}`
  const missing = new Set(records.flatMap(missingIn))
  const names = [...declaredIn(app), ...flags.keys()].filter((name) => !missing.has(name))
  return {
    secrets,
    instance: { ...Object.fromEntries(names.map((name) => [name, valueOf(name)])), ...given },
    sealed: { keys: [wrapped], value: (name) => vault.seal(wrapped, valueOf(name), { root, name }) },
  }
}

function declaredIn({ tools, prompts, agents }: App): readonly string[] {
  return [...tools.values(), ...prompts.values(), ...agents.values()].flatMap(({ variables = [] }) =>
    variables.map(({ name }) => name),
  )
}

/** Each flag with its value. */
function flagsOf(app: App, records: readonly ThreadRecord[]): ReadonlyMap<string, string> {
  const refused = new Set(
    records
      .flatMap(callsIn)
      .filter((call) => call.refused?.code === 'UNKNOWN_TOOL')
      .map(({ tool }) => tool),
  )
  const relations = [...app.prompts.values()].flatMap((prompt) => callablesOf(app, prompt).subagents)
  return new Map(
    relations.flatMap(({ name, optional }): [string, string][] =>
      optional === undefined ? [] : [[optional, refused.has(name) ? 'false' : 'true']],
    ),
  )
}

export function callsIn(record: ThreadRecord): readonly RecordedCall[] {
  return record.type === 'model.replied' || record.type === 'calls.made' ? record.calls : []
}

function missingIn(record: ThreadRecord): readonly string[] {
  if (record.type === 'turn.held' || record.type === 'call.held') return record.missing ?? []
  return callsIn(record).flatMap(({ deferred }) => deferred?.missing ?? [])
}
