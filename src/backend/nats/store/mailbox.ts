/**
 * Mailboxes: a stream with a subject per thread. A host follows the mail of the partitions that it holds and has it in
 * memory; everyone else reads it from the stream. Owns what is known of mail here.
 *
 * - A letter stays in the stream until a commit that names it is durable (J4), and is then removed, tried again
 *   until it is.
 * - What one commit sends to one thread is one message: it arrives whole and in order.
 * - Mail of a partition is forgotten with its lease: the next holder reads it from the stream.
 * - What this process puts for a thread arrives in the order of the calls, whatever is tried again or is longer.
 *   (Mail of commits has the order of its sender's commits: NC2 in commits.ts.)
 */
import { z } from 'zod'
import type { Json } from '../../../core/json.js'
import { isSkeinError } from '../../../core/failure.js'
import type { Mail, Mailbox, Send, StoredMail } from '../../port.js'
import { tell } from '../../topics.js'
import { sleep } from '../connection/timers.js'
import { SerialQueues } from '../../../core/async/serial.js'
import { MailIndex, mailsPerMessage } from './mail-index.js'
import { idIn, partitionOf } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage } from '../connection/read.js'
import { blobHeader, sealCommit } from './commit-message.js'
import type { SealedCommit } from './commit-message.js'
import type { NatsContext } from '../context.js'
import { StreamTail } from '../connection/tail.js'

interface Held {
  readonly boxes: Map<string, MailIndex>
  tail?: StreamTail
  /** Mail whose text is a blob is on its way; what follows waits. */
  loading: number
  loaded: Promise<void>
}

const againMs = 200
const mailSchema = z.array(z.object({ id: z.string(), body: z.custom<Json>() }))

export class NatsMailbox implements Mailbox {
  readonly #ground: NatsContext
  readonly #held = new Map<number, Held>()
  /** Of partitions that are not held: as they were when they were last read. */
  readonly #looked = new Map<string, MailIndex>()
  readonly #watchers = new Set<(thread: string) => void>()
  readonly #removing = new Set<Promise<void>>()
  readonly #puts = new SerialQueues()

  constructor(ground: NatsContext) {
    this.#ground = ground
  }

  async put(send: Send): Promise<void> {
    this.#ground.live()
    const sealed = sealCommit(send)
    await this.#puts.run(send.to, () => this.post([sealed]))
  }

  /** In order, all of them durable when it resolves. */
  async post(sends: readonly SealedCommit[]): Promise<void> {
    const receivers = new Map<string, string[]>()
    for (const { to, mail } of sends) {
      const mails = receivers.get(to) ?? []
      receivers.set(to, mails)
      mails.push(mail)
    }
    await Promise.all([...receivers].map(([to, mails]) => this.#postTo(to, mails)))
  }

  async #postTo(to: string, mails: readonly string[]): Promise<void> {
    const { link, reads, names, partitions, spill } = this.#ground
    for (let at = 0; at < mails.length; at += mailsPerMessage) {
      const text = Buffer.from(`[${mails.slice(at, at + mailsPerMessage).join(',')}]`)
      const spilt = await spill(text, 0)
      await publish(link, reads, {
        stream: names.streams.mail,
        subject: names.mail(partitionOf(to, partitions), to),
        ...spilt,
      })
    }
  }

  async read(thread: string, after: number): Promise<readonly StoredMail[]> {
    this.#ground.live()
    const held = this.#held.get(partitionOf(thread, this.#ground.partitions))
    return (held ? held.boxes.get(thread) : await this.#look(thread))?.after(after) ?? []
  }

  async #look(thread: string): Promise<MailIndex> {
    const { reads, names, partitions, payloadOf } = this.#ground
    const subject = names.mail(partitionOf(thread, partitions), thread)
    const letters = new MailIndex()
    for (let from = 1; ;) {
      const message = await reads.get(names.streams.mail, { seq: from, next_by_subj: subject })
      if (!message) break
      letters.add(message.seq, mailsIn(message, await payloadOf(message)))
      from = message.seq + 1
    }
    if (this.#ground.role === 'host') this.#looked.set(thread, letters)
    return letters
  }

  async waiting(partition?: number): Promise<readonly string[]> {
    const { link, names, live } = this.#ground
    live()
    const held = partition === undefined ? undefined : this.#held.get(partition)
    if (held) return [...held.boxes].flatMap(([thread, letters]) => (letters.empty ? [] : [thread]))
    const filter = partition === undefined ? names.mails : names.mailOfPartition(partition)
    const { state } = await link.persist('listing mail', () =>
      link.jsm.streams.info(names.streams.mail, { subjects_filter: filter }),
    )
    return Object.keys(state.subjects ?? {}).map(idIn)
  }

  watch(arrived: (thread: string) => void): () => void {
    this.#ground.live()
    const watcher = (thread: string): void => arrived(thread)
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /**
   * Begins to follow a partition, unless its lease was lost meanwhile; resolves when what is there has been read.
   */
  async hold(partition: number, lost: AbortSignal): Promise<void> {
    const { link, names } = this.#ground
    if (lost.aborted) return
    const held: Held = { boxes: new Map(), loading: 0, loaded: Promise.resolve() }
    this.#held.set(partition, held)
    const tail = await StreamTail.open(link, {
      stream: names.streams.mail,
      filter: names.mailOfPartition(partition),
      each: (message) => this.#arrived(held, message),
    })
    if (lost.aborted) return tail.stop() // `drop` came before there was anything to stop
    held.tail = tail
    await held.loaded
  }

  drop(partition: number): void {
    this.#held.get(partition)?.tail?.stop()
    this.#held.delete(partition)
  }

  #arrived(held: Held, message: StreamMessage): void {
    if (held.loading === 0 && !message.headers.has(blobHeader)) return this.#take(held, message, message.data)
    held.loading++
    held.loaded = held.loaded
      .then(() => this.#load(held, message))
      .then((payload) => payload && this.#take(held, message, payload))
      .finally(() => held.loading--)
  }

  /** Tried again until it is there; undefined when nobody here wants it any more. */
  async #load(held: Held, message: StreamMessage): Promise<Uint8Array | undefined> {
    while ([...this.#held.values()].includes(held)) {
      try {
        return await this.#ground.payloadOf(message)
      } catch (thrown) {
        // Without its text nobody can tell what it asks for: whoever opens it refuses it, and its sender hears of that.
        if (isSkeinError(thrown) && thrown.code === 'BLOB_MISSING') return new Uint8Array()
        await sleep(againMs)
      }
    }
    return undefined
  }

  #take({ boxes }: Held, message: StreamMessage, payload: Uint8Array): void {
    const thread = idIn(message.subject)
    const letters = boxes.get(thread) ?? new MailIndex()
    boxes.set(thread, letters)
    if (letters.add(message.seq, mailsIn(message, payload)))
      for (const watcher of [...this.#watchers]) tell(() => watcher(thread))
  }

  /** Mail of threads that are removed. */
  async discard(threads: ReadonlySet<string>): Promise<void> {
    const { link, names, partitions } = this.#ground
    for (const { boxes } of this.#held.values()) for (const thread of threads) boxes.delete(thread)
    for (const thread of await this.waiting()) {
      if (!threads.has(thread)) continue
      await link.persist('removing mail', () =>
        link.jsm.streams.purge(names.streams.mail, { filter: names.mail(partitionOf(thread, partitions), thread) }),
      )
    }
  }

  /** After the commit that names them. Where the mail is followed, nobody need wait for the removal, `finished`. */
  async finish(thread: string, numbers: readonly number[]): Promise<{ readonly finished?: Promise<void> }> {
    if (numbers.length === 0) return {}
    const boxes = this.#held.get(partitionOf(thread, this.#ground.partitions))?.boxes ?? this.#looked
    const letters = boxes.get(thread)
    const { seqs, all } = letters?.done(numbers) ?? { seqs: [], all: false }
    if (letters?.empty) boxes.delete(thread)
    if (seqs.length === 0) return {}
    const finished = this.#remove(thread, seqs, all)
    if (boxes === this.#looked) return (await finished, {})
    this.#removing.add(finished)
    void finished.catch(() => undefined).finally(() => this.#removing.delete(finished))
    return { finished }
  }

  async #remove(thread: string, seqs: readonly number[], all: boolean): Promise<void> {
    const { link, names, partitions, live } = this.#ground
    const stream = names.streams.mail
    const gone = (thrown: unknown): boolean => {
      if (!isNotFound(thrown)) throw thrown
      return true
    }
    const remove: () => Promise<unknown> = all
      ? () =>
          link.jsm.streams.purge(stream, {
            filter: names.mail(partitionOf(thread, partitions), thread),
            seq: Math.max(...seqs) + 1,
          })
      : () =>
          Promise.all(
            seqs.map((seq) =>
              link
                .request({
                  subject: `$JS.API.STREAM.MSG.DELETE.${stream}`,
                  payload: JSON.stringify({ seq, no_erase: true }),
                })
                .catch(gone),
            ),
          )
    for (;;) {
      try {
        await link.persist('removing mail', remove)
        return
      } catch (thrown) {
        live() // closed: the next holder finds the mail and its thread knows it
        if (!isSkeinError(thrown) || !thrown.retry) throw thrown
      }
    }
  }

  /** Everything that is done is removed. */
  async settled(): Promise<void> {
    await this.#puts.settled()
    await Promise.allSettled(this.#removing)
  }
}

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof Error && /no message found|message not found/.test(thrown.message)
}

/**
 * What is no mail, or lost its text, is one that nobody understands: whoever opens it refuses it, and goes on with
 * the next.
 */
function mailsIn({ seq }: StreamMessage, payload: Uint8Array): Mail[] {
  try {
    return mailSchema.parse(JSON.parse(Buffer.from(payload).toString()))
  } catch {
    return [{ id: `lost-${seq}`, body: null }]
  }
}
