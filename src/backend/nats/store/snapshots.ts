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
import type { Commits } from './commits.js'

const bornHeader = 'Skein-Born'

export function createSnapshots(
  { connection, reader, subjects, role, assertOpen, spill, payloadOf }: NatsContext,
  commits: Pick<Commits, 'identify' | 'hasNoSnapshot' | 'snapshotTaken'>,
): Snapshots {
  const stream = subjects.streams.snapshots
  return {
    async get(thread) {
      assertOpen()
      if (await commits.hasNoSnapshot(thread)) return undefined
      const message = await reader.last(stream, subjects.snapshotOf(thread))
      if (!message) return undefined
      const born = String((await commits.identify(thread))?.born ?? 0)
      return message.headers.get(bornHeader) === born ? payloadOf(message) : undefined
    },
    async put(thread, snapshot) {
      assertOpen()
      if (role === 'client') throw clientMayNot('put a snapshot')
      const copy = Uint8Array.from(snapshot)
      const { born = 0, root = thread } = (await commits.identify(thread)) ?? {}
      const { payload, headers } = await spill(copy, 0)
      await publish(connection, reader, {
        stream,
        subject: subjects.snapshot(root, thread),
        payload,
        headers: { ...headers, [bornHeader]: String(born) },
      })
      commits.snapshotTaken(thread)
    },
  }
}
