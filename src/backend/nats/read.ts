/**
 * Reading from streams: one message, or all that a filter finds. Owns the consumers of a scan, which live as long as it.
 *
 * NR1 What is read is what the stream's leader has: messages that were acknowledged are seen.
 * NR2 A scan asks for no more than there is, in parts that fit into memory, and ends.
 */
import { createInbox, nanos } from '@nats-io/transport-node'
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream'
import type { ConsumerConfig } from '@nats-io/jetstream'
import { after } from './beat.js'
import type { Link } from './link.js'

export interface Message {
  readonly subject: string
  readonly seq: number
  readonly headers: MsgHdrs
  readonly data: Uint8Array
  /** When the server stored it. */
  readonly at: number
}

type Query = { readonly last_by_subj: string } | { readonly seq: number; readonly next_by_subj: string } | { readonly seq: number }

export interface Scan {
  readonly stream: string
  readonly filter: string
  /** From this sequence of the stream on; default: the first. */
  readonly from?: number
  /** Only the last message of each subject. */
  readonly last?: true
  /** Leave the payloads out. */
  readonly headersOnly?: true
  /** About as many are wanted. */
  readonly about?: number
}

const atOnce = 500
/** A part of a scan ends here, so that long messages do not pile up. */
const bytesAtOnce = 16 * 1024 * 1024
const partMs = 5_000
/** There is nothing, or nothing more, now. */
const noMore: ReadonlySet<number> = new Set([404, 408])

export class Reads {
  readonly #link: Link
  readonly #direct: boolean

  constructor(link: Link, replicas: number) {
    this.#link = link
    this.#direct = replicas === 1 // NR1: with replicas any of them would answer
  }

  get(stream: string, query: Query): Promise<Message | undefined> {
    const { jsm } = this.#link
    return this.#link.persist('reading', async () => {
      const found = await (this.#direct ? jsm.direct.getMessage(stream, query) : jsm.streams.getMessage(stream, query))
      return found ? { subject: found.subject, seq: found.seq, headers: found.header, data: found.data, at: found.time.getTime() } : undefined
    })
  }

  last(stream: string, subject: string): Promise<Message | undefined> {
    return this.get(stream, { last_by_subj: subject })
  }

  /** Gives the messages in order until there are no more or `each` returns false. */
  async scan(scan: Scan, each: (message: Message) => boolean | void): Promise<void> {
    const { jsm } = this.#link
    const { stream } = scan
    const consumer = await this.#link.persist('reading', () => jsm.consumers.add(stream, configOf(scan)))
    try {
      for (let left = consumer.num_pending; left > 0; ) {
        const part = await this.#link.ask(() => this.#part(stream, consumer.name, Math.min(left, scan.about ?? atOnce, atOnce)))
        for (const message of part) if (each(message) === false) return
        // Messages may be removed while they are counted: then there are no more, though some were promised.
        left = part.length === 0 ? 0 : left - part.length
      }
    } catch (thrown) {
      throw this.#link.failed('reading', thrown)
    } finally {
      // It would go by itself a little later.
      if (consumer.num_pending > 0) void jsm.consumers.delete(stream, consumer.name).catch(() => undefined)
    }
  }

  #part(stream: string, consumer: string, batch: number): Promise<Message[]> {
    const { nc } = this.#link
    return new Promise((resolve, reject) => {
      const found: Message[] = []
      const inbox = createInbox()
      const cancelLate = after(2 * partMs, () => end(new Error('a part of the answer did not come in time')))
      const end = (failed?: Error): void => {
        cancelLate()
        subscription.unsubscribe()
        if (failed) reject(failed)
        else resolve(found)
      }
      const subscription = this.#link.subscribe(inbox, (message) => {
        const stored = toMessage(message)
        if (stored) found.push(stored)
        const code = message.headers?.code ?? 0
        // A part that ends early brings its status; what is left comes with the next one.
        if (!stored && found.length === 0 && !noMore.has(code)) end(new Error(`the server answered ${code} ${message.headers?.description ?? ''}`))
        else if (!stored || found.length === batch) end()
      })
      nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify({ batch, max_bytes: bytesAtOnce, no_wait: true }), { reply: inbox })
    })
  }
}

function configOf({ filter, from, last, headersOnly }: Scan): Partial<ConsumerConfig> {
  return {
    ack_policy: AckPolicy.None,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(2 * partMs),
    filter_subject: filter,
    deliver_policy: last ? DeliverPolicy.LastPerSubject : from !== undefined ? DeliverPolicy.StartSequence : DeliverPolicy.All,
    ...(from !== undefined && { opt_start_seq: from }),
    ...(headersOnly && { headers_only: true }),
  }
}

/** A message that a consumer delivered; undefined for a status. */
export function toMessage(message: Msg): (Message & { readonly delivered: number; readonly pending: number }) | undefined {
  // $JS.ACK.[domain.account.]stream.consumer.deliveries.streamSeq.consumerSeq.time.pending[.token]
  const tokens = message.reply?.split('.') ?? []
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || !message.headers) return undefined
  const at = tokens.length > 9 ? 4 : 2
  return { subject: message.subject, seq: Number(tokens[at + 3]), delivered: Number(tokens[at + 4]), pending: Number(tokens[at + 6]), at: Number(tokens[at + 5]) / 1e6, headers: message.headers, data: message.data }
}
