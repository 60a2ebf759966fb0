/**
 * Reading from streams: one message, or all that a filter finds, for one question where the server answers so
 * (direct.ts) and else by a consumer. Owns the consumer of a scan, which lives as long as the scan.
 *
 * - `get` and `last` read from the stream's leader: every acknowledged message is seen.
 * - A scan asks for no more messages than there are, in batches that fit into memory, and ends.
 * - A scan that is cut off resumes after the last message that it gave. In a scan of last messages (`last`), a subject
 *   that was written meanwhile is given again.
 * - The consumer of a scan may read from a replica that is behind: where it has not seen `upTo` the scan is repeated,
 *   and `rest` asks the leader for what a scan has not given.
 */
import { headers, nanos } from '@nats-io/transport-node'
import type { Msg } from '@nats-io/transport-node'
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream'
import type { ConsumerConfig } from '@nats-io/jetstream'
import { defined } from '../../../core/defined.js'
import { after, every } from './timers.js'
import { ConnectionCut } from './connection.js'
import type { ServerConnection } from './connection.js'
import { directBatch, directGet } from './direct.js'
import type { MessageQuery, StreamMessage } from './direct.js'

export type { StreamMessage } from './direct.js'

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
  /** About how many messages the caller needs. */
  readonly about?: number
}

type EachMessage = (message: StreamMessage) => boolean | void

/** How far a scan has come: its consumer, and the last batch that it gave. */
interface ScanProgress {
  readonly consumer: string
  /** Whether the consumer found anything; one that did not is removed by the server soon. */
  readonly used: boolean
  /** Messages after this batch. */
  readonly pending: number
  readonly batch: readonly StreamMessage[]
}

const noHeaders = headers()
const askAgainMs = 1_000
const batchSize = 500
/** So that long messages do not pile up in memory. */
const batchBytes = 16 * 1024 * 1024
const batchMs = 5_000
/** What one question may bring beside the headers that were asked for; a consumer leaves more than that out. */
const lastBytes = 256 * 1024
/** Ends a batch early: messages that are removed while they are asked for never come, and nothing else says so. */
const removedMs = 250
/** Statuses that say that there are no messages, or no more of them. */
const noMore: ReadonlySet<number> = new Set([404, 408])

export class StreamReader {
  /** Whether streams have replicas: then any of them would answer to a direct get. */
  readonly replicated: boolean
  readonly #connection: ServerConnection

  constructor(connection: ServerConnection, replicas: number) {
    this.#connection = connection
    this.replicated = replicas > 1
  }

  /** `until`: how long it is retried, where that is not the patience of the connection. */
  get(stream: string, query: MessageQuery, until?: number): Promise<StreamMessage | undefined> {
    const { jsm } = this.#connection
    const attempt = async (): Promise<StreamMessage | undefined> => {
      if (!this.replicated) return directGet(this.#connection, stream, query)
      const found = await firstAnswer(() => jsm.streams.getMessage(stream, query))
      return found
        ? { subject: found.subject, seq: found.seq, headers: found.header, data: found.data, at: found.time.getTime() }
        : undefined
    }
    return this.#connection.persist('reading', attempt, until)
  }

  last(stream: string, subject: string, until?: number): Promise<StreamMessage | undefined> {
    return this.get(stream, { last_by_subj: subject }, until)
  }

  /** Gives the messages in order until there are no more or `each` returns false. */
  async scan(scan: Scan, each: EachMessage): Promise<void> {
    const isDirect = !this.replicated && this.#connection.hasBatches
    if (!isDirect) return this.#scanByConsumer(scan, each)
    return scan.last ? this.#scanLast(scan, each) : this.#scanRange(scan, each)
  }

  async #scanLast(scan: Scan, each: EachMessage): Promise<void> {
    const { stream, filter, headersOnly } = scan
    const found = await this.#connection.persist('reading', () =>
      directBatch(this.#connection, stream, {
        multi_last: [filter],
        max_bytes: headersOnly ? lastBytes : batchBytes,
      }),
    )
    // There are too many, or the stream is on an older server than the one that answers.
    if (!found || found.pending > 0) return this.#scanByConsumer(scan, each)
    for (const message of found.messages) if (each(message) === false) return
  }

  async #scanRange(scan: Scan, each: EachMessage): Promise<void> {
    const { stream, filter, headersOnly, about = batchSize } = scan
    let from = scan.from ?? 1
    let pending = Infinity
    while (pending > 0) {
      const batch = Math.min(pending, about, batchSize)
      const found = headersOnly
        ? undefined
        : await this.#connection.persist('reading', () =>
            directBatch(this.#connection, stream, {
              seq: from,
              next_by_subj: filter,
              batch,
              max_bytes: batchBytes,
            }),
          )
      if (!found) return this.#scanByConsumer({ ...scan, from }, each)
      for (const message of found.messages) {
        from = message.seq + 1
        if (each(message) === false) return
      }
      // Of those that were there when it began: others may come as fast as they are read.
      pending = found.messages.length === 0 ? 0 : Math.min(found.pending, pending - found.messages.length)
    }
  }

  async #scanByConsumer(scan: Scan, each: EachMessage): Promise<void> {
    const { upTo } = scan
    let last = 0
    let progress: ScanProgress | undefined
    try {
      do {
        const before = progress
        progress = undefined // of a batch that is cut off nobody knows how much was delivered
        let attempts = 0
        progress = await this.#connection.persist('reading', () =>
          this.#next(scan, attempts++ === 0 ? before : undefined, last),
        )
        for (const message of progress.batch) {
          if (message.seq <= last) continue
          last = message.seq
          if (message.subject !== upTo?.filter && each(message) === false) return
        }
      } while (progress.pending > 0)
    } finally {
      // The server would remove it a little later.
      if (progress?.used)
        void this.#connection.jsm.consumers.delete(scan.stream, progress.consumer).catch(() => undefined)
    }
  }

  /** The messages after the last one that a scan gave, from the leader; nothing where there are no replicas. */
  async rest({ stream, filter }: Pick<Scan, 'stream' | 'filter'>, last: number, each: EachMessage): Promise<void> {
    for (let seq = last + 1; this.replicated;) {
      const message = await this.get(stream, { seq, next_by_subj: filter })
      if (!message || each(message) === false) return
      seq = message.seq + 1
    }
  }

  /** The next batch after message `last`, from the same consumer or, without one, from a new one. */
  async #next(scan: Scan, before: ScanProgress | undefined, last: number): Promise<ScanProgress> {
    const { stream, upTo, about = batchSize } = scan
    const { consumer, pending, used } = before ?? (await this.#addConsumer(scan, last))
    const batch = pending > 0 ? await this.#batch(stream, consumer, Math.min(pending, about, batchSize)) : []
    // They were removed while they were counted, or a busy server took too long: a new consumer knows which.
    if (pending > 0 && batch.length === 0) throw new ConnectionCut('messages that were promised did not come')
    const left = pending - batch.length
    if (left === 0 && upTo && Math.max(last, batch.at(-1)?.seq ?? 0) < upTo.seq)
      throw new ConnectionCut('the replica that answers is behind')
    return { consumer, used, pending: left, batch }
  }

  async #addConsumer(scan: Scan, last: number): Promise<Omit<ScanProgress, 'batch'>> {
    const { name, num_pending: pending } = await this.#connection.jsm.consumers.add(scan.stream, configOf(scan, last))
    return { consumer: name, pending, used: pending > 0 }
  }

  #batch(stream: string, consumer: string, batch: number): Promise<StreamMessage[]> {
    const { nc } = this.#connection
    return new Promise((resolve, reject) => {
      const found: StreamMessage[] = []
      const inbox = this.#connection.inbox()
      const cancelLate = after(2 * batchMs, () => end(new ConnectionCut('a part of the answer did not come in time')))
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
        // A batch that ends early ends with a status; the rest comes with the next one.
        if (!stored && found.length === 0 && !noMore.has(code))
          end(new ConnectionCut(`the server answered ${code} ${message.headers?.description ?? ''}`))
        else if (!stored || found.length === batch) end()
      })
      nc.publish(
        `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
        JSON.stringify({ batch, max_bytes: batchBytes, no_wait: true, expires: nanos(removedMs) }),
        { reply: inbox },
      )
    })
  }
}

/**
 * Asks again every second, and takes the first answer. While the servers do not know yet that the leader of a stream is
 * dead, none of them answers, and a request of that time stays without an answer when there is a new leader.
 */
async function firstAnswer<T>(ask: () => Promise<T>): Promise<T> {
  let stop = (): void => undefined
  const answer = new Promise<T>((resolve, reject) => {
    const askNow = (): void => void ask().then(resolve, reject)
    stop = every(askAgainMs, askNow)
    askNow()
  })
  return answer.finally(() => stop())
}

/** A consumer for the messages after `last`; of last messages per subject it gives all again. */
function configOf(
  { filter, upTo, from = 1, last: lastOnly, headersOnly }: Scan,
  last: number,
): Partial<ConsumerConfig> {
  return {
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(2 * batchMs),
    ...(upTo ? { filter_subjects: [filter, upTo.filter] } : { filter_subject: filter }),
    ...(lastOnly
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(from, last + 1) }),
    ...defined({ headers_only: headersOnly }),
  }
}

/** A message that a consumer delivered; undefined for a status. */
export function toMessage(
  message: Msg,
): (StreamMessage & { readonly delivered: number; readonly pending: number }) | undefined {
  // $JS.ACK.[domain.account.]stream.consumer.deliveries.streamSeq.consumerSeq.time.pending[.token]
  const tokens = message.reply?.split('.') ?? []
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined
  const first = tokens.length > 9 ? 4 : 2
  return {
    subject: message.subject,
    seq: Number(tokens[first + 3]),
    delivered: Number(tokens[first + 4]),
    pending: Number(tokens[first + 6]),
    at: Number(tokens[first + 5]) / 1e6,
    headers: message.headers ?? noHeaders,
    data: message.data,
  }
}
