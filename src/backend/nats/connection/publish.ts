/**
 * Writing one message to a stream, and knowing whether it was written. Owns nothing.
 *
 * - A write whose answer was lost is read back before it is judged: it counts once, and is never reported as
 *   refused when it was ours. (Servers answer a repeated compare-and-set with "wrong last sequence", even one that
 *   succeeded.)
 * - A write that expects a sequence changes nothing when the subject is elsewhere.
 * - What may not be written any more is not tried, nor tried again; what was written before that counts.
 */
import { headers, nuid } from '@nats-io/transport-node'
import type { MsgHdrs } from '@nats-io/transport-node'
import { PubHeaders } from '@nats-io/jetstream'
import { defined } from '../../../core/defined.js'
import { apiCode } from './connection.js'
import type { ServerConnection } from './connection.js'
import type { StreamReader } from './read.js'

export interface Publication {
  readonly stream: string
  readonly subject: string
  readonly payload: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
  /** Sequence of the last message of the subject; 0 for none. Absent: whatever it is, and twice does no harm. */
  readonly expected?: number
  /** Not later than this instant of the monotonic clock. */
  readonly until?: number
  /** Patience with one try. */
  readonly timeoutMs?: number
  /** Whether it may not be written any more: asked before every try. */
  readonly over?: () => boolean
}

const idHeader = 'Skein-Id'
const wrongLast: ReadonlySet<number> = new Set([10_071, 10_164])

/** The sequence it got; undefined when it was refused. */
export async function publish(
  link: ServerConnection,
  reads: StreamReader,
  publication: Publication,
): Promise<number | undefined> {
  const { subject, payload, expected, until, timeoutMs, over } = publication
  const id = nuid.next()
  const head = headersOf(id, publication)
  let tries = 0
  const attempt = async (): Promise<number | undefined> => {
    tries++
    const written = tries > 1 && expected !== undefined ? await ours(reads, publication, id) : undefined
    if (written !== undefined || over?.()) return written
    try {
      const { seq } = await link.request({ subject, payload, headers: head, ...defined({ timeoutMs }) })
      return seq
    } catch (thrown) {
      if (!wrongLast.has(apiCode(thrown) ?? 0)) throw thrown
      // Between our look and our second try the first one may have been written after all.
      return tries > 1 ? ours(reads, publication, id) : undefined
    }
  }
  return link.persist(`writing to ${subject}`, attempt, until)
}

function headersOf(id: string, { headers: more = {}, expected }: Publication): MsgHdrs {
  const made = headers()
  made.set(idHeader, id)
  if (expected !== undefined) made.set(PubHeaders.ExpectedLastSubjectSequenceHdr, String(expected))
  for (const [name, value] of Object.entries(more)) made.set(name, value)
  return made
}

async function ours(reads: StreamReader, { stream, subject }: Publication, id: string): Promise<number | undefined> {
  const last = await reads.last(stream, subject)
  return last?.headers.get(idHeader) === id ? last.seq : undefined
}
