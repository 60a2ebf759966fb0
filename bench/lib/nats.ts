/**
 * A NATS server of its own for a part of a run, on the disk of the project, as `nats.conf` has it or with the
 * server's own sync.
 */
import { z } from 'zod'
import { startNats } from '../../test/helpers/nats-server.js'
import { withFolder } from './child.js'

/** `synced`: acknowledged is on the disk, as in nats.conf. `relaxed`: what a server does by itself. */
export const syncs = ['synced', 'relaxed'] as const
export type Sync = (typeof syncs)[number]

const varz = z.object({ mem: z.number() })

/** Resident bytes of the server. */
async function memoryOf(monitor: string): Promise<number> {
  return varz.parse(await (await fetch(`${monitor}/varz`)).json()).mem
}

export function withNats<Result>(
  sync: Sync,
  use: (url: string, memory: () => Promise<number>) => Promise<Result>,
): Promise<Result> {
  return withFolder(async (folder) => {
    const server = await startNats({ under: folder, ...(sync === 'synced' && { sync: 'always' }) })
    try {
      return await use(server.url, () => memoryOf(server.monitor))
    } finally {
      await server.remove()
    }
  })
}
