/**
 * A host of this process, with definitions that the command names: forks run on them, whatever the source ran on.
 *
 * - It leaves the other threads of the store alone, and refuses a store that others serve: their definitions would run.
 */
import type { Skein } from '../../../index.js'
import { defined } from '../../../core/defined.js'
import type { CommandContext } from '../../run-command.js'
import { variablesOf } from '../../settings.js'
import { withClient } from '../../store.js'

export interface HereOptions {
  readonly app: string
  /** Values for variables that tools declare. */
  readonly env?: readonly string[]
  /** Threads that it goes on with. */
  readonly roots: readonly string[]
}

export async function openHere(
  { out, shell, store }: CommandContext,
  { app, env = [], roots }: HereOptions,
): Promise<Skein> {
  const { createSkein, SkeinError } = await import('../../../index.js')
  const why = `others serve ${store.name} with definitions of their own; ${app} would not run. Stop them first`
  const variables = await variablesOf(shell, env, '--env ')
  if (store.server === undefined && store.shared && (await withClient(store, (client) => client.hosted())))
    throw new SkeinError('BAD_OPTION', why)
  try {
    return await createSkein({
      app,
      backend: await store.source(),
      ...store.key,
      ...defined({ env: env.length > 0 ? variables : undefined }),
      resuming: [...roots],
      warn: (what, thrown) => out.note(`skein: ${thrown instanceof Error ? `${what}: ${thrown.message}` : what}`),
    })
  } catch (thrown) {
    if (SkeinError.is(thrown, 'STORE_IN_USE')) throw new SkeinError('BAD_OPTION', why, { cause: thrown })
    throw thrown
  }
}
