/**
 * Variables of a thread from outside. Values are sealed here, before they go into the mailbox, and are never given
 * back.
 *
 * - What is refused is refused whole: no value of the set is kept.
 */
import { z } from 'zod'
import { checkVariableName } from '../../core/env.js'
import type { Env } from '../../core/env.js'
import { SkeinError } from '../../core/failure.js'
import { sendCommand } from './send-command.js'
import type { Secrets } from '../secrets/secrets.js'
import type { ThreadServices } from './thread.js'
import { wake } from '../journal/wake.js'

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

const valuesSchema = z.record(
  z.string(),
  z.string().max(longestValue, `a value has at most ${longestValue} characters`),
)

interface Tree {
  readonly root: string
  readonly keys: readonly string[]
}

/** Sealed for a tree, with the first of the keys or one of its own. */
export async function sealed(
  secrets: Secrets,
  values: Readonly<Record<string, string>>,
  { root, keys: [known] }: Tree,
): Promise<{ keys: string[]; set: Record<string, string> }> {
  const checked = valuesSchema.safeParse(values)
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

/** What a new thread begins with; none where nothing is given. */
export async function firstEnv(
  secrets: Secrets,
  root: string,
  values: Readonly<Record<string, string>>,
): Promise<{ keys: string[]; own: Record<string, string>; inherited: Record<string, string> } | undefined> {
  if (Object.keys(values).length === 0) return undefined
  const { keys, set } = await sealed(secrets, values, { root, keys: [] })
  return { keys, own: set, inherited: {} }
}

export function createThreadEnv(
  means: ThreadServices,
  { id, root }: { readonly id: string; readonly root: string },
): ThreadEnv {
  const { backend, clock, random, secrets } = means
  const envOf = async (thread: string): Promise<Env> => (await wake(backend, thread)).state.env
  return {
    async set(values) {
      const own = (await envOf(id)).keys
      const keys = own.length > 0 || id === root ? own : (await envOf(root)).keys
      const gone = Object.entries(values).flatMap(([name, value]): [string, null][] =>
        value === null ? [[checkVariableName(name), null]] : [],
      )
      const given = Object.fromEntries(
        Object.entries(values).flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
      )
      const { keys: used, set } =
        Object.keys(given).length > 0 ? await sealed(secrets, given, { root, keys }) : { keys: [], set: {} }
      await sendCommand(backend, clock, {
        thread: id,
        id: random.id(),
        command: { kind: 'env', level: 'own', keys: used, set: { ...set, ...Object.fromEntries(gone) } },
      })
    },
    async names() {
      const { own, inherited } = await envOf(id)
      const from = (name: string): EnvName => ({ name, from: Object.hasOwn(own, name) ? 'own' : 'inherited' })
      return [...new Set([...Object.keys(own), ...Object.keys(inherited)])].toSorted().map(from)
    },
  }
}
