/**
 * The end of a tree whose root says that it is being removed: its blobs are listed for the sweep, then its mail, its
 * snapshots and its journals are purged. Owns no state; doing it twice does no harm.
 *
 * - The journals go last, in one purge that takes the root's mark with them: up to there readers see all of the tree,
 *   and whoever finds the mark finishes the removal (J9).
 */
import { nuid } from '@nats-io/transport-node'
import { blobsNamedIn } from '../../checks.js'
import { publish } from '../connection/publish.js'
import type { Scan, StreamMessage } from '../connection/read.js'
import type { NatsContext } from '../context.js'
import { idIn } from '../subjects.js'
import { blobHeader } from './commit-message.js'
import type { NatsMailbox } from './mailbox.js'

/** Gives the threads that are no more. */
export async function eraseTree(
  context: NatsContext,
  mailbox: NatsMailbox,
  root: string,
): Promise<ReadonlySet<string>> {
  const { connection, subjects } = context
  const { streams } = connection.jsm
  const threads = new Set<string>()
  const named = new Set<string>()
  await scanTexts(context, { stream: subjects.streams.log, filter: subjects.logOfTree(root) }, (message, text) => {
    threads.add(idIn(message.subject))
    for (const hash of blobsNamedBy(message, text)) named.add(hash)
  })
  if (named.size > 0) await listDoomed(context, named)
  await mailbox.discard(threads)
  await connection.persist('removing snapshots', () =>
    streams.purge(subjects.streams.snapshots, { filter: subjects.snapshotsOfTree(root) }),
  )
  await connection.persist('removing a tree', () =>
    streams.purge(subjects.streams.log, { filter: subjects.logOfTree(root) }),
  )
  return threads
}

async function listDoomed(context: NatsContext, hashes: Iterable<string>): Promise<void> {
  const { connection, reader, subjects, spill } = context
  const list = await spill(Buffer.from(JSON.stringify([...hashes])), 0)
  await publish(connection, reader, {
    stream: subjects.streams.meta,
    subject: subjects.doomed(nuid.next()),
    ...list,
  })
}

/** A scan that gives the text of each message. A text that was spilled into a blob comes last, in a second call. */
export async function scanTexts(
  { reader, payloadOf }: NatsContext,
  scan: Scan,
  each: (message: StreamMessage, text: string) => boolean | void,
): Promise<void> {
  const spilled: StreamMessage[] = []
  await reader.scan(scan, (message) => {
    if (!scan.headersOnly && message.headers.has(blobHeader)) spilled.push(message)
    return each(message, Buffer.from(message.data).toString())
  })
  for (const message of spilled) each(message, Buffer.from(await payloadOf(message)).toString())
}

/** The blobs in a text, and the one that holds the text itself. */
export function* blobsNamedBy({ headers }: StreamMessage, text: string): Generator<string> {
  const own = headers.get(blobHeader)
  if (own !== '') yield own
  yield* blobsNamedIn(text)
}
