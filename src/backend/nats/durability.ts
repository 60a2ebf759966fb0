/**
 * Whether the server writes to the disk before it acknowledges. It says so only on its monitoring port, so that is
 * asked, and what cannot be known is told to the operator. Owns nothing.
 */
import { z } from 'zod'
import type { ServerConnection } from './connection/connection.js'

const varzSchema = z.object({
  server_id: z.string(),
  now: z.iso.datetime({ offset: true }).optional(),
  jetstream: z.object({ config: z.object({ sync_always: z.boolean().optional() }).optional() }).optional(),
})
const withinMs = 1_000

function monitorOf({ nc }: ServerConnection): string {
  return `http://${(nc.getServer().split(':')[0] ?? '') || '127.0.0.1'}:8222`
}

async function varz(base: string): Promise<z.infer<typeof varzSchema>> {
  const answer = await fetch(new URL('/varz', base), { signal: AbortSignal.timeout(withinMs) })
  return varzSchema.parse(await answer.json())
}

/** Undefined where it cannot be asked. */
export async function serverTime(link: ServerConnection, monitor = monitorOf(link)): Promise<string | undefined> {
  const { server_id, now } = await varz(monitor).catch(() => ({ server_id: undefined, now: undefined }))
  return server_id === link.nc.info?.server_id ? now : undefined
}

/** Undefined: all is well. */
export async function durabilityDoubt(
  link: ServerConnection,
  monitor: string | undefined,
): Promise<string | undefined> {
  const { nc, place } = link
  const connected = nc.info?.server_id
  const base = monitor ?? monitorOf(link)
  const hint =
    "Set `sync_interval: always` in its `jetstream` block (see nats.conf), or give nats({ sync: 'relaxed' }) " +
    'where replicas in separate places make up for it.'
  try {
    const { server_id, jetstream } = await varz(base)
    if (server_id !== connected)
      return (
        `the monitoring port ${base} is that of another server than ${place}, so whether that one writes to ` +
        `the disk before it acknowledges is not known. ${hint}`
      )
    return jetstream?.config?.sync_always
      ? undefined
      : `the NATS server at ${place} acknowledges records before they are on the disk: a loss of power can lose ` +
          `the last minutes. ${hint}`
  } catch {
    return (
      `whether the NATS server at ${place} writes to the disk before it acknowledges could not be read from ` +
      `${base}; name its monitoring port with nats({ monitor }). ${hint}`
    )
  }
}
