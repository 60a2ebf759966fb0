/**
 * Variables of a thread from outside. Values are sealed here, before they go into the mailbox, and are never read
 * back.
 *
 * - A set of values is accepted or refused as a whole.
 */
import { z } from 'zod'
import { checkVariableName } from '../../core/env.js'
import type { Env } from '../../core/env.js'
import { SkeinError } from '../../core/failure.js'
import { sendCommand } from './send-command.js'
import type { Secrets } from '../secrets/secrets.js'
import type { ThreadServices } from './services.js'
import { wake } from '../journal/wake.js'
import { lazy } from '../../core/schema.js'

/** A name that a thread has a value for. */
export interface EnvName {
  readonly name: string
  /** `inherited`: from its parent. What is set here goes before that. */
  readonly from: 'own' | 'inherited'
}

export interface ThreadEnv {
  /**
   * Sets values, or takes them away with null. Calls see them from the next step on; children inherit them, unless
   * they scope the name.
   */
  set(values: Readonly<Record<string, string | null>>): Promise<void>
  /** Never the values. */
  names(): Promise<readonly EnvName[]>
}

const longestValue = 32_768

const valuesSchema = lazy(() =>
  z.record(z.string(), z.string().max(longestValue, `a value has at most ${longestValue} characters`)),
)

interface TreeKeys {
  readonly root: string
  readonly keys: readonly string[]
}

/** Seals values for a tree, with the first of its keys or, where it has none, a new one. */
export async function sealValues(
  secrets: Secrets,
  values: Readonly<Record<string, string>>,
  { root, keys: [known] }: TreeKeys,
): Promise<{ keys: string[]; set: Record<string, string> }> {
  const checked = valuesSchema().safeParse(values)
  // Not z.prettifyError: what is wrong may be a secret.
  if (!checked.success)
    throw new SkeinError(
      'BAD_OPTION',
      `these are no values for variables: ` +
        `${checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    )
  for (const name of Object.keys(values)) checkVariableName(name)
  const vault = await secrets.ready()
  const key = known ?? vault.createDataKey().wrapped
  return {
    keys: [key],
    set: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, vault.seal(key, value, { root, name })]),
    ),
  }
}

/** The variables that a new thread begins with; undefined where there are none. */
export async function firstEnv(
  secrets: Secrets,
  root: string,
  values: Readonly<Record<string, string>>,
): Promise<{ keys: string[]; own: Record<string, string>; inherited: Record<string, string> } | undefined> {
  if (Object.keys(values).length === 0) return undefined
  const { keys, set } = await sealValues(secrets, values, { root, keys: [] })
  return { keys, own: set, inherited: {} }
}

export function createThreadEnv(
  services: ThreadServices,
  { id, root }: { readonly id: string; readonly root: string },
): ThreadEnv {
  const { backend, clock, random, secrets } = services
  const envOf = async (thread: string): Promise<Env> => (await wake(backend, thread)).state.env
  return {
    async set(values) {
      const own = (await envOf(id)).keys
      const keys = own.length > 0 || id === root ? own : (await envOf(root)).keys
      const removed: Record<string, null> = {}
      const added: Record<string, string> = {}
      for (const [name, value] of Object.entries(values)) {
        if (value === null) removed[checkVariableName(name)] = null
        else added[name] = value
      }
      const sealedValues =
        Object.keys(added).length > 0 ? await sealValues(secrets, added, { root, keys }) : { keys: [], set: {} }
      await sendCommand(backend, clock, {
        thread: id,
        id: random.id(),
        command: { kind: 'env', level: 'own', keys: sealedValues.keys, set: { ...sealedValues.set, ...removed } },
      })
    },
    async names() {
      const { own, inherited } = await envOf(id)
      const from = (name: string): EnvName => ({ name, from: Object.hasOwn(own, name) ? 'own' : 'inherited' })
      return [...new Set([...Object.keys(own), ...Object.keys(inherited)])].toSorted().map(from)
    },
  }
}
