/**
 * The app of a namespace: named by the first host that has a name for it, and compared by all that come later. Owns
 * that entry.
 *
 * - A namespace serves one app: a host of another one is refused before it is seen by anyone. One whose app has no
 *   name is not asked.
 */
import { z } from 'zod'
import { SkeinError } from '../../../core/failure.js'
import type { HostProfile } from '../../host-info.js'
import type { ServerConnection } from '../connection/connection.js'
import type { Subjects } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamReader } from '../connection/read.js'

const appSchema = z.object({ name: z.string() })

export async function claimApp(
  {
    connection,
    reader,
    subjects,
  }: { readonly connection: ServerConnection; readonly reader: StreamReader; readonly subjects: Subjects },
  { app }: HostProfile,
): Promise<void> {
  if (app === undefined) return
  const named = async (): Promise<string | undefined> => {
    const entry = await reader.last(subjects.streams.meta, subjects.app)
    return entry && appSchema.parse(JSON.parse(Buffer.from(entry.data).toString())).name
  }
  let known = await named()
  if (known === undefined) {
    await publish(connection, reader, {
      stream: subjects.streams.meta,
      subject: subjects.app,
      payload: JSON.stringify({ name: app }),
      expected: 0,
    })
    known = await named()
  }
  if (known === undefined || known === app) return
  throw new SkeinError(
    'BAD_OPTION',
    `the namespace ${subjects.namespace} of NATS (${connection.address}) serves the app ${JSON.stringify(known)}, and this ` +
      `host has ${JSON.stringify(app)}. Give it a namespace of its own; or, if it is the same app under another ` +
      `name, the name that it had (createSkein({ name }), skein host --name).`,
    { data: { namespace: subjects.namespace, app: known } },
  )
}
