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
import { errors, nuid } from '@nats-io/transport-node'
import { PubHeaders } from '@nats-io/jetstream'
import { apiCode, ConnectionCut } from './connection.js'
import type { ServerConnection } from './connection.js'
import { encodeHeaders, encodeText, headerLine } from './encoding.js'
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

/** A message as it is sent, in every attempt. */
interface Outgoing {
  /** Absent where nobody will have to tell whether it is ours. */
  readonly id: string | undefined
  readonly subject: string
  readonly payload: Uint8Array
  readonly headers: Uint8Array | undefined
  readonly timeoutMs: number | undefined
}

const idHeader = 'Skein-Id'
const wrongLast: ReadonlySet<number> = new Set([10_071, 10_164])

/** The sequence of the message; undefined when it was refused. */
export async function publish(
  connection: ServerConnection,
  reader: StreamReader,
  publication: Publication,
): Promise<number | undefined> {
  const { mayWrite, until = connection.patienceEnd() } = publication
  const outgoing = outgoingOf(publication)
  if (mayWrite && !mayWrite()) return undefined
  try {
    const { seq } = await connection.request(outgoing)
    return seq
  } catch (thrown) {
    return publishAgain({ connection, reader, publication, until }, outgoing, thrown)
  }
}

interface Repetition {
  readonly connection: ServerConnection
  readonly reader: StreamReader
  readonly publication: Publication
  readonly until: number
}

/** After a first attempt that failed. */
function publishAgain(
  { connection, reader, publication, until }: Repetition,
  outgoing: Outgoing,
  why: unknown,
): Promise<number | undefined> {
  const { stream, subject, expected, mayWrite = () => true } = publication
  const { id } = outgoing
  /** Attempts whose message may have been written. */
  let doubtful = 1
  const afterFailure = async (thrown: unknown): Promise<number | undefined> => {
    // Nobody has seen the message (the stream has no leader): it need not be read back.
    if (thrown instanceof errors.NoRespondersError) doubtful--
    if (!wrongLast.has(apiCode(thrown) ?? 0)) throw thrown
    // An attempt of ours may have been written after our look and before this one.
    const last = await reader.last(stream, subject, until)
    if (!contradicts(last, expected)) throw new ConnectionCut('another write to the subject is under way')
    return seqIfOurs(last, id)
  }
  const attempt = async (): Promise<number | undefined> => {
    const found = doubtful > 0 && expected !== undefined ? await reader.last(stream, subject, until) : undefined
    const written = seqIfOurs(found, id)
    if (written !== undefined || !mayWrite()) return written
    doubtful++
    try {
      const { seq } = await connection.request(outgoing)
      return seq
    } catch (thrown) {
      return afterFailure(thrown)
    }
  }
  const judgeFirst = (): Promise<number | undefined> => {
    next = attempt
    return afterFailure(why)
  }
  // A broken connection is waited for: what was cut off is made again as soon as that is back.
  let next = why instanceof ConnectionCut ? attempt : judgeFirst
  return connection.persist(`writing to ${subject}`, () => next(), until)
}

/** A message that may be written twice has no id, and so often no headers, which its reader would have to read. */
function outgoingOf({ subject, payload, headers, expected, timeoutMs }: Publication): Outgoing {
  const id = expected === undefined ? undefined : nuid.next()
  let lines = ''
  if (id !== undefined)
    lines = headerLine(idHeader, id) + headerLine(PubHeaders.ExpectedLastSubjectSequenceHdr, String(expected))
  if (headers) for (const name in headers) lines += headerLine(name, headers[name] ?? '')
  return {
    id,
    subject,
    payload: typeof payload === 'string' ? encodeText(payload) : payload,
    headers: lines === '' ? undefined : encodeHeaders(lines),
    timeoutMs,
  }
}

/** Whether the last message of the subject, or that there is none any more, shows that another one was expected. */
function contradicts(last: StreamMessage | undefined, expected = 0): boolean {
  return last ? last.seq > expected : expected > 0
}

function seqIfOurs(message: StreamMessage | undefined, id: string | undefined): number | undefined {
  return id !== undefined && message?.headers.get(idHeader) === id ? message.seq : undefined
}
