/**
 * Barriers: where streams have replicas, a scan reads from any of them, which may be some messages behind. A new holder
 * of a partition must not miss what its last holder wrote, so it first writes a message of its own, and reads until it
 * has seen that. Owns the subject of these messages; the stream of journals has the last one of each partition.
 *
 * - Whoever has seen a barrier has seen every commit of the partition that was acknowledged before it was written.
 * - Without replicas there are none: a scan sees all that was written.
 */
import type { NatsContext } from '../context.js'
import { publish } from '../connection/publish.js'
import type { Scan } from '../connection/read.js'

/** At a take-over, when nobody else writes to the partition any more. */
export async function raiseBarrier(
  { connection, reader, subjects }: NatsContext,
  partition: number,
): Promise<Pick<Scan, 'upTo'>> {
  if (!reader.replicated) return {}
  const stream = subjects.streams.log
  const subject = subjects.barrier(partition)
  const before = await reader.last(stream, subject)
  const seq = await publish(connection, reader, { stream, subject, payload: '' })
  // If that fails a few bytes stay behind.
  if (before) void connection.jsm.streams.deleteMessage(stream, before.seq, false).catch(() => undefined)
  return seq === undefined ? {} : { upTo: { filter: subject, seq } }
}

/** The one that was raised last. */
export async function lastBarrier({ reader, subjects }: NatsContext, partition: number): Promise<Pick<Scan, 'upTo'>> {
  const found = reader.replicated ? await reader.last(subjects.streams.log, subjects.barrier(partition)) : undefined
  return found ? { upTo: { filter: found.subject, seq: found.seq } } : {}
}
