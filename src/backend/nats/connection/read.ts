/**
 * Reading from streams: one message, or all that a filter finds. Owns the consumers of a scan, which live as long as
 * it.
 *
 * - What `get` and `last` read is what the stream's leader has: messages that were acknowledged are seen.
 * - A scan asks for no more than there is, in parts that fit into memory, and ends.
 * - A scan that is cut off goes on after the last message that it gave. Of a scan of last messages (`last`), a
 *   subject that was written meanwhile is given again.
 * - The consumer of a scan may read from a replica that is behind: one that has not seen `upTo` is asked again, and
 *   `rest` asks the leader for what a scan has not given.
 */
import { headers as noHeaders, nanos } from '@nats-io/transport-node'
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream'
import type { ConsumerConfig } from '@nats-io/jetstream'
import { after } from './timers.js'
import { ConnectionCut } from './connection.js'
import type { ServerConnection } from './connection.js'

export interface StreamMessage {
  readonly subject: string
  readonly seq: number
  readonly headers: MsgHdrs
  readonly data: Uint8Array
  /** When the server stored it. */
  readonly at: number
}

type Query =
  | { readonly last_by_subj: string }
  | { readonly seq: number; readonly next_by_subj: string }
  | { readonly seq: number }

export interface Scan {
  readonly stream: string
  readonly filter: string
  /** A message of this sequence, which another filter finds, must have been seen when it ends. */
  readonly upTo?: { readonly filter: string; readonly seq: number }
  /** From this sequence of the stream on; default: the first. */
  readonly from?: number
  /** Only the last message of each subject. */
  readonly last?: true
  /** Leave the payloads out. */
  readonly headersOnly?: true
  /** About as many are wanted. */
  readonly about?: number
}

/** Where a scan is: its consumer, and the last part that it gave. */
interface Place {
  readonly consumer: string
  /** It has given something: one that found nothing is gone soon. */
  readonly used: boolean
  readonly left: number
  readonly part: readonly StreamMessage[]
}

const atOnce = 500
/** A part of a scan ends here, so that long messages do not pile up. */
const bytesAtOnce = 16 * 1024 * 1024
const partMs = 5_000
/** Messages that are removed while they are asked for never come, and without this no word of that does. */
const removedMs = 250
/** There is nothing, or nothing more, now. */
const noMore: ReadonlySet<number> = new Set([404, 408])

export class StreamReader {
  /** Whether streams have replicas: then any of them would answer to a direct get. */
  readonly replicated: boolean
  readonly #connection: ServerConnection

  constructor(connection: ServerConnection, replicas: number) {
    this.#connection = connection
    this.replicated = replicas > 1
  }

  get(stream: string, query: Query): Promise<StreamMessage | undefined> {
    const { jsm } = this.#connection
    return this.#connection.persist('reading', async () => {
      const found = await (this.replicated
        ? jsm.streams.getMessage(stream, query)
        : jsm.direct.getMessage(stream, query))
      return found
        ? { subject: found.subject, seq: found.seq, headers: found.header, data: found.data, at: found.time.getTime() }
        : undefined
    })
  }

  last(stream: string, subject: string): Promise<StreamMessage | undefined> {
    return this.get(stream, { last_by_subj: subject })
  }

  /** Gives the messages in order until there are no more or `each` returns false. */
  async scan(scan: Scan, each: (message: StreamMessage) => boolean | void): Promise<void> {
    const { upTo } = scan
    let given = 0
    let place: Place | undefined
    try {
      do {
        const before = place
        place = undefined // until it is sure again: of a part that is cut off nobody knows how much was delivered
        let tries = 0
        place = await this.#connection.persist('reading', () =>
          this.#next(scan, tries++ === 0 ? before : undefined, given),
        )
        for (const message of place.part) {
          if (message.seq <= given) continue
          given = message.seq
          if (message.subject !== upTo?.filter && each(message) === false) return
        }
      } while (place.left > 0)
    } finally {
      // It would go by itself a little later.
      if (place?.used) void this.#connection.jsm.consumers.delete(scan.stream, place.consumer).catch(() => undefined)
    }
  }

  /** What comes after a message that a scan gave last; nothing where there are no replicas. */
  async rest(
    { stream, filter }: Pick<Scan, 'stream' | 'filter'>,
    given: number,
    each: (message: StreamMessage) => boolean | void,
  ): Promise<void> {
    for (let seq = given + 1; this.replicated;) {
      const message = await this.get(stream, { seq, next_by_subj: filter })
      if (!message || each(message) === false) return
      seq = message.seq + 1
    }
  }

  async #next(scan: Scan, before: Place | undefined, given: number): Promise<Place> {
    const { stream, upTo, about = atOnce } = scan
    let { consumer = '', left = 0, used = false } = before ?? {}
    if (!before) {
      const made = await this.#connection.jsm.consumers.add(stream, configOf(scan, given))
      consumer = made.name
      left = made.num_pending
      used = left > 0
    }
    const part = left > 0 ? await this.#part(stream, consumer, Math.min(left, about, atOnce)) : []
    // Messages may be removed while they are counted: then there are no more, though some were promised.
    left = part.length === 0 ? 0 : left - part.length
    if (left === 0 && upTo && Math.max(given, part.at(-1)?.seq ?? 0) < upTo.seq)
      throw new ConnectionCut('the replica that answers is behind')
    return { consumer, used, left, part }
  }

  #part(stream: string, consumer: string, batch: number): Promise<StreamMessage[]> {
    const { nc } = this.#connection
    return new Promise((resolve, reject) => {
      const found: StreamMessage[] = []
      const inbox = this.#connection.inbox()
      const cancelLate = after(2 * partMs, () => end(new ConnectionCut('a part of the answer did not come in time')))
      const end = (failed?: Error): void => {
        cancelLate()
        subscription.unsubscribe()
        if (failed) reject(failed)
        else resolve(found)
      }
      const subscription = this.#connection.subscribe(inbox, (message) => {
        const stored = toMessage(message)
        if (stored) found.push(stored)
        const code = message.headers?.code ?? 0
        // A part that ends early brings its status; what is left comes with the next one.
        if (!stored && found.length === 0 && !noMore.has(code))
          end(new ConnectionCut(`the server answered ${code} ${message.headers?.description ?? ''}`))
        else if (!stored || found.length === batch) end()
      })
      nc.publish(
        `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
        JSON.stringify({ batch, max_bytes: bytesAtOnce, no_wait: true, expires: nanos(removedMs) }),
        { reply: inbox },
      )
    })
  }
}

/** For what comes after a message that was given, as far as the server can tell. */
function configOf({ filter, upTo, from = 1, last, headersOnly }: Scan, given: number): Partial<ConsumerConfig> {
  return {
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(2 * partMs),
    ...(upTo ? { filter_subjects: [filter, upTo.filter] } : { filter_subject: filter }),
    ...(last
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(from, given + 1) }),
    ...(headersOnly && { headers_only: true }),
  }
}

/** A message that a consumer delivered; undefined for a status. */
export function toMessage(
  message: Msg,
): (StreamMessage & { readonly delivered: number; readonly pending: number }) | undefined {
  // $JS.ACK.[domain.account.]stream.consumer.deliveries.streamSeq.consumerSeq.time.pending[.token]
  const tokens = message.reply?.split('.') ?? []
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined
  const at = tokens.length > 9 ? 4 : 2
  return {
    subject: message.subject,
    seq: Number(tokens[at + 3]),
    delivered: Number(tokens[at + 4]),
    pending: Number(tokens[at + 6]),
    at: Number(tokens[at + 5]) / 1e6,
    headers: message.headers ?? noHeaders(),
    data: message.data,
  }
}
