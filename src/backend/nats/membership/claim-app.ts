/**
 * The app of a namespace: its name is written by the first host that has one, and compared by all later ones. Owns that
 * entry.
 *
 * - A namespace serves one app: a host of another app is refused before anyone sees it. A host whose app has no name
 *   is not checked.
 */
import { z } from 'zod'
import { SkeinError } from '../../../core/failure.js'
import type { HostProfile } from '../../host-info.js'
import { publish } from '../connection/publish.js'
import type { NatsContext } from '../context.js'

const appSchema = z.object({ name: z.string() })

export async function claimApp(
  { connection, reader, subjects }: Pick<NatsContext, 'connection' | 'reader' | 'subjects'>,
  { app }: HostProfile,
): Promise<void> {
  if (app === undefined) return
  const { namespace } = subjects
  const read = async (): Promise<string | undefined> => {
    const entry = await reader.last(subjects.streams.meta, subjects.app)
    return entry && appSchema.parse(JSON.parse(Buffer.from(entry.data).toString())).name
  }
  let known = await read()
  if (known === undefined) {
    await publish(connection, reader, {
      stream: subjects.streams.meta,
      subject: subjects.app,
      payload: JSON.stringify({ name: app }),
      expected: 0,
    })
    known = await read()
  }
  if (known === undefined || known === app) return
  throw new SkeinError(
    'BAD_OPTION',
    `the namespace ${namespace} of NATS (${connection.address}) serves the app ${JSON.stringify(known)}, and this ` +
      `host has ${JSON.stringify(app)}. Give it a namespace of its own; or, if it is the same app under another ` +
      `name, the name that it had (createSkein({ name }), skein host --name).`,
    { data: { namespace: namespace, app: known } },
  )
}
