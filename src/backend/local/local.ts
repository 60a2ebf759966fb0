/**
 * The embedded store: one folder. `skein.db` (SQLite in WAL mode) has journal, heads, mail, snapshots and small blobs;
 * `blobs/` has the other blobs; `owner.db` is the lock of the one host; `skein.sock` connects other processes with that
 * host; `skein.key` is the default master key for secrets. This module checks the options; host.ts and client.ts are
 * loaded when the store is opened.
 */
import { statSync } from 'node:fs'
import { z } from 'zod'
import { SkeinError, isSkeinError, toFailure } from '../../core/failure.js'
import { checkOnce } from '../../core/options.js'
import { anonymousHost } from '../host-info.js'
import type { HostSelf } from '../host-info.js'
import type { Backend, Store, StoreRole } from '../port.js'
import type { Durability } from './database/schema.js'

export interface LocalOptions {
  /**
   * What an acknowledged commit survives: the death of the process (default) or a loss of power, at 5 times the cost.
   */
  readonly durability?: Durability
}

const argsSchema = z.object({
  dir: z
    .string()
    .min(1)
    .refine((dir) => !dir.includes('\0'), 'has a NUL character'),
  options: z.strictObject({ durability: z.enum(['process', 'power']).optional() }),
})

export function local(dir: string, options: LocalOptions = {}): Store {
  checkOnce(argsSchema, { dir, options }, 'local(dir, options)')
  const { durability = 'process' } = options
  const openRole = async (role: StoreRole, self: HostSelf): Promise<Backend> => {
    if (role === 'client') return (await import('./client.js')).openClient(dir, durability)
    return (await import('./host.js')).openHost(dir, durability, self)
  }
  return {
    open: (role, self = anonymousHost) => openFolder(dir, () => openRole(role, self)),
    examine: async () => ({ findings: await (await import('./examine.js')).examineFolder(dir), keepsKey: true }),
  }
}

/** Errors of the system name the folder. */
async function openFolder(dir: string, open: () => Promise<Backend>): Promise<Backend> {
  try {
    if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === false)
      throw new SkeinError('BAD_OPTION', `the store ${dir} is a file; give a folder`)
    return await open()
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    throw new SkeinError(
      'STORE_FAILED',
      `the store ${dir} cannot be opened: ${toFailure(thrown, 'STORE_FAILED').message}`,
      { cause: thrown },
    )
  }
}
