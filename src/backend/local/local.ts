/**
 * The embedded backend: one durable store in a folder. `skein.db` (SQLite in WAL) holds journal, heads, mail
 * and snapshots; `blobs/` the blobs; `owner.db` the lock of the one host; `skein.sock` is how other processes
 * speak to that host. This file is the door; host.ts and client.ts are the two sides of it.
 */
import { z } from 'zod'
import { SkeinError } from '../../core/failure.js'
import type { BackendSource } from '../port.js'
import { openClient } from './client.js'
import { openHost } from './host.js'
import type { Durability } from './schema.js'

export interface LocalOptions {
  /** What an acknowledged commit survives: the death of the process (default) or a loss of power, at 5 times the cost. */
  readonly durability?: Durability
}

const given = z.object({
  dir: z.string().min(1).refine((dir) => !dir.includes('\0'), 'has a NUL character'),
  options: z.strictObject({ durability: z.enum(['process', 'power']).optional() }),
})

export function local(dir: string, options: LocalOptions = {}): BackendSource {
  const checked = given.safeParse({ dir, options })
  if (!checked.success) {
    const what = z.prettifyError(checked.error)
    throw new SkeinError('BAD_OPTION', `local(dir, options): ${what}. Give a folder and, if any, durability: 'process' or 'power'.`)
  }
  const { durability = 'process' } = options
  return { open: (role) => (role === 'host' ? openHost(dir, durability) : openClient(dir, durability)) }
}
