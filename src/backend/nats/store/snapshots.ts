/**
 * Snapshots: the last message of a subject per thread. They are a cache (J6), so a write compares nothing. Owns no
 * state.
 *
 * - A snapshot is given only for the thread that it was made of, not for a later one with the same id.
 */
import { clientMayNot } from '../../checks.js'
import type { Snapshots } from '../../port.js'
import type { NatsContext } from '../context.js'
import { publish } from '../connection/publish.js'

type Identify = (thread: string) => Promise<{ readonly born: number; readonly root: string } | undefined>

const bornHeader = 'Skein-Born'

export function createSnapshots(
  { connection, reader, subjects, role, assertOpen, spill, payloadOf }: NatsContext,
  identify: Identify,
): Snapshots {
  const stream = subjects.streams.snapshots
  return {
    async get(thread) {
      assertOpen()
      const message = await reader.last(stream, subjects.snapshotOf(thread))
      if (!message) return undefined
      const born = String((await identify(thread))?.born ?? 0)
      return message.headers.get(bornHeader) === born ? payloadOf(message) : undefined
    },
    async put(thread, snapshot) {
      assertOpen()
      if (role === 'client') throw clientMayNot('put a snapshot')
      const copy = Uint8Array.from(snapshot)
      const { born = 0, root = thread } = (await identify(thread)) ?? {}
      const { payload, headers } = await spill(copy, 0)
      await publish(connection, reader, {
        stream,
        subject: subjects.snapshot(root, thread),
        payload,
        headers: { ...headers, [bornHeader]: String(born) },
      })
    },
  }
}
