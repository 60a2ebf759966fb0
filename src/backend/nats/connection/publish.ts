/**
 * Writing one message to a stream, and knowing whether it was written. Owns no state.
 *
 * - A write whose answer was lost is read back before it is repeated: it counts once, and is never reported as refused
 *   when it was ours. (Servers answer a repeated compare-and-set with "wrong last sequence", even if it succeeded.)
 * - A write that expects a sequence changes nothing when the subject has another one. It is refused only when the
 *   stream shows that: a leader says "wrong last sequence" also while the servers have not agreed on a message of the
 *   subject yet, which may be our own first attempt.
 * - Once `mayWrite` is false nothing is attempted any more; a message that was written before counts.
 */
import { errors, headers, nuid } from '@nats-io/transport-node'
import type { MsgHdrs } from '@nats-io/transport-node'
import { PubHeaders } from '@nats-io/jetstream'
import { defined } from '../../../core/defined.js'
import { apiCode, ConnectionCut } from './connection.js'
import type { ServerConnection } from './connection.js'
import type { StreamMessage, StreamReader } from './read.js'

export interface Publication {
  readonly stream: string
  readonly subject: string
  readonly payload: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
  /** Sequence of the last message of the subject; 0 for none. Absent: any, and writing twice does no harm. */
  readonly expected?: number
  /** Not later than this instant of the monotonic clock. */
  readonly until?: number
  /** For one attempt. */
  readonly timeoutMs?: number
  /** Whether it may still be written: asked before every attempt. */
  readonly mayWrite?: () => boolean
}

const idHeader = 'Skein-Id'
const wrongLast: ReadonlySet<number> = new Set([10_071, 10_164])

/** The sequence of the message; undefined when it was refused. */
export async function publish(
  connection: ServerConnection,
  reader: StreamReader,
  publication: Publication,
): Promise<number | undefined> {
  const { stream, subject, payload, expected, until, timeoutMs, mayWrite = () => true } = publication
  const id = nuid.next()
  const messageHeaders = headersOf(id, publication)
  /** Attempts whose message may have been written. */
  let doubtful = 0
  const attempt = async (): Promise<number | undefined> => {
    const found = doubtful > 0 && expected !== undefined ? await reader.last(stream, subject, until) : undefined
    const written = seqIfOurs(found, id)
    if (written !== undefined || !mayWrite()) return written
    doubtful++
    try {
      const { seq } = await connection.request({ subject, payload, headers: messageHeaders, ...defined({ timeoutMs }) })
      return seq
    } catch (thrown) {
      // Nobody has seen the message (the stream has no leader): it need not be read back.
      if (thrown instanceof errors.NoRespondersError) doubtful--
      if (!wrongLast.has(apiCode(thrown) ?? 0)) throw thrown
      // An attempt of ours may have been written after our look and before this one.
      const last = await reader.last(stream, subject, until)
      if (!contradicts(last, expected)) throw new ConnectionCut('another write to the subject is under way')
      return seqIfOurs(last, id)
    }
  }
  return connection.persist(`writing to ${subject}`, attempt, until)
}

function headersOf(id: string, { headers: more = {}, expected }: Publication): MsgHdrs {
  const made = headers()
  made.set(idHeader, id)
  if (expected !== undefined) made.set(PubHeaders.ExpectedLastSubjectSequenceHdr, String(expected))
  for (const [name, value] of Object.entries(more)) made.set(name, value)
  return made
}

/** Whether the last message of the subject, or that there is none any more, shows that another one was expected. */
function contradicts(last: StreamMessage | undefined, expected = 0): boolean {
  return last ? last.seq > expected : expected > 0
}

function seqIfOurs(message: StreamMessage | undefined, id: string): number | undefined {
  return message?.headers.get(idHeader) === id ? message.seq : undefined
}
